//! Runs the proxy, from the configuration to the last session: prepare, bind, start, report readiness, wait,
//! drain, report the end.

use std::cell::RefCell;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use admin::{AdminPort, AdminSources, Editor, Events, StateFolder, Wish, keep_history};
use config::{Config, Draft, Fault, Serves, SessionMode};
use control::Control;
use net::watch;
use net::worker::WorkerEnd;
use replication::{LoggedStatement, Origins, Replication};
use route::Topology;
use sd_notify::{NotifyState, notify};
use system::{Clock, System};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, oneshot};
use tokio::time::{MissedTickBehavior, interval};
use worker::{AllScripts, ChangeOrigins, DataPlane, DataPlaneContext, LoggedChange, Settings};

use crate::arguments::ServeArguments;
use crate::digests::Notes;
use crate::editing::Editing;
use crate::listening::{self, Bound, Listening};
use crate::logging::Log;
use crate::machine;
use crate::outlets::Outlets;
use crate::process::{PidFile, become_user, raise_open_files};
use crate::reloading::Reloading;
use crate::replica_port::ReplicaPort;
use crate::snapshot::{reload_certificates, snapshot};
use crate::telemetry::{MetricsExporter, Sights};

/// Time between two checks of the certificate files.
const CERTIFICATES_INTERVAL: Duration = Duration::from_secs(5);

/// The command without a name: runs the proxy with the settings of the arguments.
pub fn serve(arguments: &ServeArguments) -> ExitCode {
    match arguments.read() {
        Ok((loaded, draft)) => {
            for warning in &loaded.warnings {
                eprintln!("pilotfish: warning: {warning}");
            }
            let written = (draft, loaded.warnings);
            run(loaded.config, Serving::reloading(arguments, written))
        }
        Err(faults) => {
            for fault in &faults {
                eprintln!("pilotfish: {fault}");
            }
            ExitCode::FAILURE
        }
    }
}

/// How long to serve, and what a SIGHUP reads again.
pub struct Serving<'a> {
    arguments: Option<&'a ServeArguments>,
    /// The text of the configuration and its warnings, if the configuration comes from arguments.
    written: Option<(Draft, Vec<Fault>)>,
    ready: Option<Box<dyn FnOnce() + Send>>,
    stop: Option<oneshot::Receiver<()>>,
}

impl<'a> Serving<'a> {
    /// Serves until a signal; a reload reads the sources in `arguments`.
    fn reloading(arguments: &'a ServeArguments, written: (Draft, Vec<Fault>)) -> Self {
        Self {
            arguments: Some(arguments),
            written: Some(written),
            ready: None,
            stop: None,
        }
    }

    /// Serves until `stop` resolves, or until a signal; `ready` is called when clients can connect.
    pub fn until(ready: Box<dyn FnOnce() + Send>, stop: oneshot::Receiver<()>) -> Self {
        Self {
            arguments: None,
            written: None,
            ready: Some(ready),
            stop: Some(stop),
        }
    }
}

/// Serves `config`; returns when the proxy has ended.
pub fn run(config: Config, serving: Serving<'_>) -> ExitCode {
    let log = match Log::start(&config.log) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("pilotfish: the log cannot be opened: {error}");
            return ExitCode::FAILURE;
        }
    };
    // The user who starts the program looks at standard error, not at the log file.
    let has_file = config.log.file.is_some();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(play(config, serving, &log)),
        Err(error) => Err(format!("no runtime can be started: {error}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            tracing::error!(cause, "pilotfish stops because of an error");
            if has_file {
                eprintln!("pilotfish: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

/// The proxy's whole life, in order.
async fn play(config: Config, mut serving: Serving<'_>, log: &Log) -> Result<(), String> {
    let (started, system) = (Instant::now(), machine::system());
    let mut signals = Signals::listen().map_err(|error| format!("signals: {error}"))?;
    raise_open_files(&config);
    let listeners = listening::bind(&config)?;
    let mut admin = AdminPort::bind(&config, http::open, &system.threads)?;
    let _pid_file = write_pid_and_change_user(&config)?;
    let config = Arc::new(config);
    let settings = snapshot(Arc::clone(&config), None)?;
    let (publish, settings) = watch::channel(Arc::new(settings));
    let control = start_control(&config, started, &system)?;
    let end = Arc::new(Notify::new());
    let scripts = scripts(&config, &system.clock, &end)?;
    let events = Arc::new(Events::new(system.clock.clone()));
    let outlets = start_outlets(&settings, &control, &events, started)?;
    let plane_context = plane_context(&control, &outlets, settings, scripts, started, system);
    let mut plane = DataPlane::start(config.workers, &plane_context)
        .map_err(|error| format!("no worker can be started: {error}"))?;
    log_ready(&config, &listeners);
    tokio::spawn(follow_backends(control.topology(), Arc::clone(&events)));
    let (editor, mut wishes) = Editor::channel(Arc::clone(&events));
    let mut history = keep_history(plane.handle(), &events, StateFolder::of_environment())
        .map_err(|error| format!("the history cannot be kept: {error}"))?;
    let streams = follow_clusters(&config, &control, &outlets.origins, &plane_context)?;
    let views = Arc::clone(streams.borrow().streams());
    let admin_sources = AdminSources::new(plane.handle(), &editor, &history, &views);
    admin.open(&admin_sources);
    let metrics = MetricsExporter::start(publish.subscribe(), &admin_sources, started)?;
    announce_ready(&mut serving);

    let replicas = ReplicaPort::start(&listeners, plane.handle(), &views)?;
    let mut listening = Listening::start(listeners);
    let mut notes = Notes::new();
    let mut editing = begin_editing(&mut serving, config, &events);
    let reloading = Reloading {
        publish: &publish,
        control: &control,
        log,
        outlets: &outlets,
        streams: &streams,
    };
    let running = RunningProxy {
        listening: &mut listening,
        replicas: &replicas,
        plane: &mut plane,
        reloading: &reloading,
        notes: &mut notes,
        editing: &mut editing,
        admin: &mut admin,
        admin_sources: &admin_sources,
        signals: &mut signals,
        edits: &mut wishes,
        stop: &mut serving.stop,
        end_by_script: &end,
    };
    let outcome = wait(running).await;

    let last = Arc::clone(&publish.borrow().config);
    stop_accepting(listening, &plane, (&mut notes, &metrics), &last).await;
    history.end();
    replicas.stop();
    let cut = plane.drain(last.timeout_drain, signals.stop()).await;
    streams.into_inner().stop();
    control.stop();
    admin.close();
    outlets.end();
    tracing::info!(cut, "pilotfish has ended");
    outcome
}

/// Starts the outlets for logs, traces and events.
fn start_outlets(
    settings: &watch::Receiver<Arc<Settings>>,
    control: &Control,
    events: &Arc<Events>,
    started: Instant,
) -> Result<Outlets, String> {
    Outlets::start(Sights {
        settings: settings.clone(),
        topology: control.topology(),
        events: Arc::clone(events),
        started,
    })
}

/// Starts the editing of the configuration: of the file, or without a file of the settings given at the start.
fn begin_editing<'a>(
    serving: &mut Serving<'a>,
    config: Arc<Config>,
    events: &Arc<Events>,
) -> Editing<'a> {
    let written = serving.written.take();
    let (draft, told) = written.unwrap_or_else(|| (Draft::of_config(&config), Vec::new()));
    Editing::new(serving.arguments, (draft, &told), config, events)
}

/// Starts the control plane, which has resolved the backends' names once.
fn start_control(config: &Config, started: Instant, system: &System) -> Result<Control, String> {
    let control = Control::start(config, started, system);
    control.map_err(|error| format!("control: {error}"))
}

/// Writes the pid file, which is removed when the result is dropped, and becomes the configured user.
fn write_pid_and_change_user(config: &Config) -> Result<Option<PidFile>, String> {
    let pid_file = config.pid_file.as_deref().map(PidFile::write).transpose();
    let pid_file = pid_file.map_err(|error| format!("the pid file cannot be written: {error}"))?;
    if let Some(user) = &config.user {
        become_user(user).map_err(|error| format!("cannot become user {user}: {error}"))?;
    }
    Ok(pid_file)
}

/// The context of the workers.
fn plane_context(
    control: &Control,
    outlets: &Outlets,
    settings: watch::Receiver<Arc<Settings>>,
    scripts: AllScripts,
    started: Instant,
    system: System,
) -> DataPlaneContext {
    DataPlaneContext {
        origins: Arc::clone(&outlets.origins),
        journal: Arc::clone(&outlets.journal),
        traces: Arc::clone(&outlets.traces),
        scripts: Arc::new(scripts),
        settings,
        topology: control.topology(),
        accounts: control.accounts(),
        definitions: control.definitions(),
        reports: control.reports(),
        system,
        started,
    }
}

/// Stops accepting clients, writes the file of seen digests, and sends metrics for the last time.
async fn stop_accepting(
    listening: Listening,
    plane: &DataPlane,
    (notes, metrics): (&mut Notes, &MetricsExporter),
    last: &Config,
) {
    plane.handle().stops();
    notify_manager(&[NotifyState::Stopping, NotifyState::Status("draining")]);
    listening.stop().await;
    notes.write(&last.statement_stats, plane).await;
    // Must be before the workers end, because workers that have ended have no figures.
    metrics.end();
    tracing::info!(
        kind = "stopping",
        sessions = plane.sessions(),
        limit = ?last.timeout_drain,
        "stopped accepting; sessions are coming to rest"
    );
}

/// Reports that clients can connect.
fn announce_ready(serving: &mut Serving<'_>) {
    notify_manager(&[NotifyState::Ready, NotifyState::Status("serving")]);
    if let Some(ready) = serving.ready.take() {
        ready();
    }
}

/// The parts of a proxy that accepts clients.
struct RunningProxy<'a, 'e> {
    listening: &'a mut Listening,
    replicas: &'a ReplicaPort,
    plane: &'a mut DataPlane,
    reloading: &'a Reloading<'a>,
    notes: &'a mut Notes,
    editing: &'a mut Editing<'e>,
    admin: &'a mut AdminPort,
    admin_sources: &'a AdminSources,
    /// From here on: the sources of requests.
    signals: &'a mut Signals,
    edits: &'a mut UnboundedReceiver<Wish>,
    stop: &'a mut Option<oneshot::Receiver<()>>,
    end_by_script: &'a Notify,
}

/// Hands clients to workers until the proxy is to end.
async fn wait(proxy: RunningProxy<'_, '_>) -> Result<(), String> {
    let mut look = interval(CERTIFICATES_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            client = proxy.listening.next() => match client.listener.serves {
                Serves::Sessions => proxy.plane.take(client.accepted, client.listener),
                Serves::Replication => proxy.replicas.take(client),
            },
            wish = proxy.signals.next() => match wish {
                SignalRequest::Stop => return Ok(()),
                SignalRequest::Reload => {
                    announce_reload();
                    proxy.editing.reload(proxy.reloading);
                    notify_manager(&[NotifyState::Ready]);
                    proxy.admin.follow(proxy.admin_sources);
                }
                SignalRequest::Logs => match proxy.reloading.reopen_logs() {
                    Ok(()) => tracing::info!("SIGUSR1: log files are opened again"),
                    Err(error) => tracing::error!(error, "SIGUSR1: the proxy cannot open the log again and writes to the old file"),
                },
            },
            Some(wish) = proxy.edits.recv() => proxy.editing.answer(wish, proxy.reloading),
            () = stopped(proxy.stop) => return Ok(()),
            () = proxy.end_by_script.notified() => {
                tracing::info!(kind = "script_stop", "a script wants the proxy to end");
                return Ok(());
            }
            _ = look.tick() => {
                let settings = Arc::clone(&proxy.reloading.publish.borrow());
                reload_certificates(&settings);
                proxy.notes.keep(&settings.config.statement_stats, proxy.plane).await;
            }
            Some((worker, end)) = proxy.plane.next_end() => return Err(match end {
                WorkerEnd::Panicked(text) => format!("worker {worker} panicked: {text}"),
                WorkerEnd::Finished => format!("worker {worker} ended"),
            }),
        }
    }
}

/// Logs that clients can connect, and the addresses.
fn log_ready(config: &Config, listeners: &[Bound]) {
    for bound in listeners {
        let mode = bound.config.routing.session.map(SessionMode::name);
        tracing::info!(address = %bound.listener.endpoint(), mode, "listening");
    }
    tracing::info!(
        kind = "ready",
        version = env!("CARGO_PKG_VERSION"),
        workers = config.workers,
        backends = config.backends.len(),
        "pilotfish is ready"
    );
}

/// Records changes of backends as events.
async fn follow_backends(mut topology: watch::Receiver<Arc<Topology>>, events: Arc<Events>) {
    let mut before = Arc::clone(&topology.borrow_and_update());
    events.begin(&before);
    while topology.changed().await.is_ok() {
        let after = Arc::clone(&topology.borrow_and_update());
        events.compare(&before, &after);
        before = after;
    }
}

/// The times of statements and the servers' clocks are known in whole seconds, rounded down.
const CLOCK_ROUNDING: Duration = Duration::from_secs(2);

/// Finds the sender of a logged statement, if the statement passed through this process, which began at `started`.
fn origins_of(origins: &Arc<ChangeOrigins>, started: Instant, clock: &Clock) -> Origins {
    let (origins, clock) = (Arc::clone(origins), clock.clone());
    Arc::new(move |statement: LoggedStatement<'_>| {
        let age = Duration::from_micros(
            clock
                .unix_micros()
                .saturating_sub(statement.time)
                .try_into()
                .unwrap_or(0),
        );
        let sender = origins.sender_of(LoggedChange {
            backends: statement.backends,
            thread_id: statement.thread_id,
            time: (started.elapsed() + CLOCK_ROUNDING).checked_sub(age)?,
            text: statement.text,
        })?;
        Some((sender.user, sender.host))
    })
}

/// The clusters whose changes are followed.
fn follow_clusters(
    config: &Arc<Config>,
    control: &Control,
    origins: &Arc<ChangeOrigins>,
    plane_context: &DataPlaneContext,
) -> Result<RefCell<Replication>, String> {
    let (started, system) = (plane_context.started, &plane_context.system);
    origins.want(!config.replications.is_empty());
    let origins = origins_of(origins, started, &system.clock);
    let streams = Replication::start(config, control.topology(), system, origins);
    let streams = streams.map_err(|error| format!("the schema history cannot be kept: {error}"))?;
    Ok(RefCell::new(streams))
}

/// Creates the runtime for sessions' scripts; a script can end the proxy.
fn scripts(config: &Config, clock: &Clock, end: &Arc<Notify>) -> Result<AllScripts, String> {
    let end = Arc::clone(end);
    let shutdown: Arc<dyn Fn() + Send + Sync> = Arc::new(move || end.notify_one());
    let scripts = AllScripts::new(config, clock, &shutdown);
    scripts.map_err(|error| format!("scripts cannot be run: {error}"))
}

async fn stopped(stop: &mut Option<oneshot::Receiver<()>>) {
    match stop {
        // If the sender is dropped, the proxy ends as well.
        Some(stop) => drop(stop.await),
        None => std::future::pending().await,
    }
}

fn notify_manager(states: &[NotifyState<'_>]) {
    if let Err(error) = notify(states) {
        tracing::warn!(%error, "the proxy cannot send its state to the service manager (systemd), which may take it for not ready");
    }
}

/// A service manager orders the messages of a reload by the monotonic clock.
fn announce_reload() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify_manager(&[NotifyState::Reloading, now]),
        Err(error) => {
            tracing::warn!(%error, "the proxy cannot read the monotonic clock and does not tell the service manager that it reloads")
        }
    }
}

/// The signals that the proxy handles.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    user1: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            user1: signal(SignalKind::user_defined1())?,
        })
    }

    /// The next signal.
    async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::Stop,
            _ = self.interrupt.recv() => SignalRequest::Stop,
            _ = self.hang_up.recv() => SignalRequest::Reload,
            _ = self.user1.recv() => SignalRequest::Logs,
        }
    }

    /// Waits for the next signal to stop: while draining, it means a quick stop.
    async fn stop(&mut self) {
        while self.next().await != SignalRequest::Stop {}
    }
}

/// The request that a signal means.
#[derive(PartialEq, Eq)]
enum SignalRequest {
    /// SIGTERM, SIGINT.
    Stop,
    /// SIGHUP.
    Reload,
    /// SIGUSR1: log files have been moved.
    Logs,
}
