//! `pilotfish sandbox`: a private primary with replicas and the proxy in front of them, for
//! experiments. Ctrl-C removes everything.
//!
//! ```text
//! run ──► find or install a server program        server.rs, install.rs
//!     ──► make a folder and its cleaner            folder.rs, cleaner.sh
//!     ──► start the servers, make them replicate  replication.rs, server.rs
//!     ──► serve: the proxy, as the plain command runs it; print the guide     guide.rs
//!         meanwhile: revive servers that were killed, pass on Ctrl-C          watch.rs
//!         if asked to: clients that use what there is                         load.rs
//!         if asked to: the history of the schemas                             history.rs
//!     ──► the cleaner ends the servers and removes the folder
//! ```

mod arguments;
mod fault;
mod folder;
mod guide;
mod history;
mod install;
mod load;
mod messages;
mod replication;
mod server;
mod watch;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use config::{
    AccountConfig, AdminConfig, BackendAddress, BackendConfig, Config, HealthConfig, HttpConfig,
    LimitsConfig, ListenAddress, ListenerConfig, Role, RoutingOverride, Secret, SessionMode,
    StatementStatsConfig,
};
use system::Entropy;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

pub use arguments::SandboxArguments;
use fault::{During, Fault};
use folder::Folder;
use guide::{Doors, GuideOptions, guide};
use load::Load;
use messages::{print, print_error, show};
use replication::{Cluster, MONITOR_PASSWORD};
use server::{Program, Server, ServerRole};
use watch::{Interrupts, ThreadChannels};

/// The sandbox's orders for the proxy.
pub struct Assignment {
    /// The configuration to run with.
    pub config: Config,
    /// The proxy calls it once, when clients can connect.
    pub ready: Box<dyn FnOnce() + Send>,
    /// Resolves when the sandbox must end: then the proxy drains and returns. After the proxy is ready, it handles
    /// SIGINT and SIGTERM itself. SIGHUP, and signals before that, end it through this channel.
    pub stop: oneshot::Receiver<()>,
}

/// Runs the sandbox until Ctrl-C. `serve` runs the proxy on this thread and returns when the proxy has
/// ended. Its exit code is the sandbox's exit code.
pub fn run(
    arguments: &SandboxArguments,
    entropy: Entropy,
    serve: impl FnOnce(Assignment) -> ExitCode,
) -> ExitCode {
    match play(arguments, entropy, serve) {
        Ok(code) => code,
        Err(fault) => {
            print_error(fault);
            ExitCode::FAILURE
        }
    }
}

fn play(
    arguments: &SandboxArguments,
    entropy: Entropy,
    serve: impl FnOnce(Assignment) -> ExitCode,
) -> Result<ExitCode, Fault> {
    let program = find_or_install(arguments.server.as_deref(), &entropy)?;
    let held = [
        hold(arguments.listen, config::LISTEN_PORT)?,
        hold(None, config::ADMIN_PORT)?,
        hold(None, config::HTTP_PORT)?,
        hold_free()?,
    ];
    let [pooled, admin, http, transparent] = held
        .each_ref()
        .map(|it| it.local_addr().during("read a socket's address"));
    let doors = Doors {
        pooled: pooled?,
        admin: admin?,
        http: http?,
        transparent: transparent?,
    };
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .during("start a runtime")?;
    let interrupts = runtime
        .block_on(async { Interrupts::listen() })
        .during("listen for signals")?;
    let folder = Folder::create(arguments.folder.as_deref())?;
    print(format_args!(
        "starting {} servers ({program}) in {}",
        arguments.replicas + 1,
        folder.path().display()
    ));
    let set_up = set_up(&runtime, interrupts, program, &folder, arguments.replicas);
    let played = set_up.map(|set_up| match set_up {
        Some((cluster, interrupts)) => {
            let shown = GuideOptions {
                load: arguments.load,
                history: arguments.schema_history,
            };
            let page = guide(&cluster, doors, folder.path(), shown);
            let load = arguments.load.then(|| Load {
                address: doors.pooled,
                entropy,
            });
            let scene = Scene {
                cluster,
                interrupts,
                doors,
                held: held.into(),
                load,
                history: arguments.schema_history.then(|| folder.path().to_owned()),
            };
            serve_before(runtime, scene, page, serve)
        }
        None => ExitCode::from(INTERRUPTED),
    });
    let removed = folder.remove();
    let code = played?;
    removed?;
    print("everything is removed");
    Ok(code)
}

/// The exit code that shells use for a program that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

/// The named program, or else the program on this machine, or else a newly installed one from packages.
fn find_or_install(named: Option<&Path>, entropy: &Entropy) -> Result<Program, Fault> {
    if let Some(path) = named {
        return Program::at(path, entropy);
    }
    if let Some(program) = Program::find(entropy) {
        return Ok(program);
    }
    install::install()?;
    Program::find(entropy).ok_or_else(|| Fault::new("a server was installed, yet none is found"))
}

/// Takes the address on which the proxy will listen: the named address, or else the usual port, or else a free port if
/// the usual one is taken. It holds the address while the servers start, so that another sandbox chooses another one.
fn hold(named: Option<SocketAddr>, usual: u16) -> Result<TcpListener, Fault> {
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, usual));
    let wanted = named.unwrap_or(usual);
    match (TcpListener::bind(wanted), named) {
        (Ok(listener), _) => Ok(listener),
        (Err(error), Some(_)) => Err(error).during(format!("listen on {wanted}")),
        (Err(error), None) => {
            let free = hold_free()?;
            let port = free.local_addr().during("read a socket's address")?.port();
            print(format_args!(
                "{usual} cannot be had ({error}); taking port {port} instead"
            ));
            Ok(free)
        }
    }
}

fn hold_free() -> Result<TcpListener, Fault> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).during("find a free port")
}

/// Starts the servers; `None` if a signal came first.
fn set_up(
    runtime: &Runtime,
    mut interrupts: Interrupts,
    program: Program,
    folder: &Folder,
    replicas: usize,
) -> Result<Option<(Cluster, Interrupts)>, Fault> {
    let cluster = runtime.block_on(async {
        tokio::select! {
            cluster = Cluster::start(program, folder.path(), replicas) => cluster.map(Some),
            () = interrupts.next() => Ok(None),
        }
    })?;
    Ok(cluster.map(|cluster| (cluster, interrupts)))
}

/// Everything that is set up before the proxy runs.
struct Scene {
    cluster: Cluster,
    interrupts: Interrupts,
    doors: Doors,
    /// The proxy's addresses, held until the proxy listens there itself.
    held: Vec<TcpListener>,
    /// The sandbox's own clients, if they are wanted.
    load: Option<Load>,
    /// The folder of the schemas' history, if it is kept.
    history: Option<PathBuf>,
}

/// Runs the proxy in front of the servers on this thread, and watches the servers on another thread.
fn serve_before(
    runtime: Runtime,
    scene: Scene,
    page: String,
    serve: impl FnOnce(Assignment) -> ExitCode,
) -> ExitCode {
    let (is_ready, ready) = oneshot::channel();
    let (stop, stopped) = oneshot::channel();
    let (proxy_runs, over) = oneshot::channel::<()>();
    let mut config = proxy_config(&scene.cluster, scene.doors, scene.load.is_some());
    if let Some(folder) = &scene.history {
        history::keep(&mut config, folder);
    }
    let assignment = Assignment {
        config,
        ready: Box::new(move || {
            show(&page);
            let _ = is_ready.send(());
        }),
        stop: stopped,
    };
    let line = ThreadChannels { ready, stop, over };
    let Scene {
        cluster,
        interrupts,
        held,
        load,
        ..
    } = scene;
    std::thread::scope(|threads| {
        threads.spawn(move || runtime.block_on(watch::watch(cluster, interrupts, line, load)));
        drop(held);
        let code = serve(assignment);
        drop(proxy_runs);
        code
    })
}

/// The proxy's configuration: the defaults of the plain command, with these backends. The account `app` lets
/// sessions be pooled; a second listener has sessions that are not pooled. The admin port shows values, because
/// the data is not private. The end is quick. Sessions stay below a laptop's limit of open files, so that there is
/// no warning. Probes soon notice a server that is back.
fn proxy_config(cluster: &Cluster, doors: Doors, load: bool) -> Config {
    let mut accounts = vec![account("app")];
    if load {
        accounts.push(account(load::USER));
    }
    Config {
        listen: vec![ListenAddress::Tcp(doors.pooled)],
        listeners: vec![ListenerConfig {
            address: ListenAddress::Tcp(doors.transparent),
            routing: RoutingOverride {
                session: Some(SessionMode::Transparent),
                ..RoutingOverride::default()
            },
            ..ListenerConfig::default()
        }],
        configured_accounts: accounts,
        admin: AdminConfig {
            address: vec![ListenAddress::Tcp(doors.admin)],
            username: Some("admin".to_owned()),
            password: Some(Secret::new("admin")),
            ..AdminConfig::default()
        },
        http: HttpConfig {
            address: vec![ListenAddress::Tcp(doors.http)],
            ..HttpConfig::default()
        },
        backends: cluster.servers.iter().map(backend).collect(),
        timeout_drain: TIMEOUT_DRAIN,
        statement_stats: StatementStatsConfig {
            include_values: true,
            index_usage: true,
            ..StatementStatsConfig::default()
        },
        limits: LimitsConfig {
            sessions_max: SESSIONS_MAX,
            ..LimitsConfig::default()
        },
        health: HealthConfig {
            probe_interval_max: PROBE_INTERVAL_MAX,
            monitor_user: Some("monitor".to_owned()),
            monitor_password: Some(Secret::new(MONITOR_PASSWORD)),
            ..HealthConfig::default()
        },
        ..Config::default()
    }
}

/// An account whose password is its name.
fn account(user: &str) -> AccountConfig {
    AccountConfig {
        user: user.to_owned(),
        password: Some(Secret::new(user)),
        explain: Some(true),
        ..AccountConfig::default()
    }
}

/// How long running statements may take after Ctrl-C: users at a terminal do not wait longer.
const TIMEOUT_DRAIN: Duration = Duration::from_secs(2);
/// Twice as many sessions as each server of the sandbox accepts.
const SESSIONS_MAX: usize = 1_000;
/// Short, because a user watches how servers come back.
const PROBE_INTERVAL_MAX: Duration = Duration::from_secs(1);

fn backend(server: &Server) -> BackendConfig {
    let address = BackendAddress::Tcp {
        host: server.address().ip().to_string(),
        port: server.port,
    };
    let role = match server.role() {
        ServerRole::Primary => Role::Primary,
        ServerRole::Replica => Role::Replica,
    };
    BackendConfig {
        name: server.name.clone(),
        ..BackendConfig::new(address, role)
    }
}
