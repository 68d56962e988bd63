//! A worker's pool before a server that answers by script, both in this process and over a Unix socket.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use auth::{Account, Credential, Dialect, Directory, HostPattern, Names, Password, Rules};
use config::Config;
use link::packets::PacketStream;
use net::watch;
use pilotfish_backend::connection::BackendConn;
use pilotfish_backend::greeting::OwnGreeting;
use pilotfish_backend::pool_env::{PoolEnv, SharedPools};
use pilotfish_backend::settings::Settings;
use pilotfish_backend::shared_store::Store;
use pilotfish_backend::sub_pool::{BackendLogin, PoolKey, SubPool};
use pilotfish_backend::worker_pool::{CheckoutStep, HeldConnection, WorkerPool};
use route::{
    Backend, BackendId, BackendLocation, Cluster, ClusterId, Duty, Endpoint, Health, LagLimit,
    Load, Moment, Monitored, Policy, ReadPolicy, Report, Role, Roles, Standing, Topology,
    UnknownLag, Vicinity, Writes,
};
use system::{Clock, Entropy, System, Threads};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, mpsc};
use wire::column::{ColumnDefinition, ColumnType};
use wire::result::put_text_result;
use wire::{Capabilities, Command, ErrPacket, Greeting, HEADER_BYTES, StatusFlags};

/// What clients and backends agree on here.
pub const CAPABILITIES: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SESSION_TRACK.0,
);

/// How long a session waits for a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that takes every login and says OK to nearly everything.
pub struct ScriptedServer {
    folder: TempDir,
    /// What it was told: the text of each query, the name of each other command, by connection.
    heard: RefCell<Vec<(u32, String)>>,
    news: Notify,
    logins: Cell<u32>,
    /// It greets with error 1040.
    pub is_full: Cell<bool>,
    /// It answers queries with error 1053.
    pub shuts_down: Cell<bool>,
}

impl ScriptedServer {
    pub fn start() -> Rc<Self> {
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let server = Rc::new(Self {
            folder,
            heard: RefCell::default(),
            news: Notify::new(),
            logins: Cell::new(0),
            is_full: Cell::new(false),
            shuts_down: Cell::new(false),
        });
        let own = Rc::clone(&server);
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(Rc::clone(&own).serve(stream));
            }
        });
        server
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// How many connections have logged in.
    pub fn logins(&self) -> u32 {
        self.logins.get()
    }

    /// Waits until a connection has said this.
    pub async fn hears(&self, text: &str) -> u32 {
        let heard = async {
            loop {
                let news = self.news.notified();
                let found = self
                    .heard
                    .borrow()
                    .iter()
                    .find(|it| it.1 == text)
                    .map(|it| it.0);
                match found {
                    Some(connection) => return connection,
                    None => news.await,
                }
            }
        };
        let heard = tokio::time::timeout(Duration::from_secs(30), heard).await;
        heard.unwrap_or_else(|_| panic!("{text}: not heard, but {:?}", self.heard.borrow()))
    }

    async fn serve(self: Rc<Self>, stream: UnixStream) {
        let mut stream = PacketStream::new(stream, 0);
        if self.is_full.get() {
            let mut full = Vec::new();
            let (number, text) = (1040, &b"Too many connections"[..]);
            ErrPacket {
                number,
                sqlstate: None,
                text,
            }
            .encode(&mut full);
            let _ = stream.write(&full).await;
            return;
        }
        let id = self.logins.get() + 1;
        self.logins.set(id);
        let mut greeting = Vec::new();
        greeting_of(id).encode(&mut greeting);
        let _ = stream.write(&greeting).await;
        // The handshake response.
        if stream.read().await.is_err() || stream.write(OK).await.is_err() {
            return;
        }
        loop {
            stream.begin_at(0);
            let Ok(payload) = stream.read().await else {
                return;
            };
            let text = match payload.split_first() {
                Some((&byte, text)) if Command(byte) == Command::QUERY => {
                    String::from_utf8_lossy(text).into_owned()
                }
                Some((&byte, _)) => Command(byte).to_string(),
                None => return,
            };
            self.heard.borrow_mut().push((id, text.clone()));
            self.news.notify_waiters();
            let packets = match self.shuts_down.get() {
                true => error(1053, b"Server shutdown in progress"),
                false => answer(&text),
            };
            if stream.write_packets(&packets).await.is_err() {
                return;
            }
        }
    }
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

fn greeting_of(thread_id: u32) -> Greeting {
    Greeting {
        version: b"5.5.5-10.11.14-MariaDB".to_vec(),
        thread_id,
        scramble: b"abcdefghijklmnopqrst".to_vec(),
        capabilities: CAPABILITIES,
        collation: 45,
        status: StatusFlags::AUTOCOMMIT,
        plugin: b"mysql_native_password".to_vec(),
    }
}

fn error(number: u16, text: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    let error = ErrPacket {
        number,
        sqlstate: Some(*b"08S01"),
        text,
    };
    error.encode(&mut payload);
    let mut packets = Vec::new();
    wire::write::put_packets(&mut packets, 1, &payload);
    packets
}

/// A row of ones for what asks for variables, an empty list of warnings, OK for the rest.
fn answer(text: &str) -> Vec<u8> {
    let mut packets = Vec::new();
    let (width, rows) = match text {
        "SHOW WARNINGS" => (3, 0),
        _ if text.starts_with("SELECT ") => (text.split(',').count(), 1),
        _ => {
            wire::write::put_packets(&mut packets, 1, OK);
            return packets;
        }
    };
    let column = ColumnDefinition::new(b"it", ColumnType::VAR_STRING, 45, 64);
    let columns = vec![column; width];
    let rows = (0..rows).map(|_| vec![Some(&b"1"[..]); width]);
    put_text_result(
        &mut packets,
        1,
        CAPABILITIES,
        &columns,
        rows,
        StatusFlags::AUTOCOMMIT,
        0,
    );
    packets
}

/// A worker's pool, and what it leads to.
pub struct World {
    pub server: Rc<ScriptedServer>,
    pub pool: Rc<WorkerPool>,
    pub sub_pool: Rc<SubPool>,
    reports: RefCell<mpsc::UnboundedReceiver<Report>>,
    _topologies: watch::Sender<Arc<Topology>>,
    _settings: watch::Sender<Arc<Settings>>,
}

/// The machine's time; nothing here starts a thread.
fn system() -> System {
    System {
        clock: Clock::new(Instant::now, SystemTime::now),
        entropy: Entropy::seeded(7),
        threads: Threads::new(|_, _| Err(io::ErrorKind::Unsupported.into())),
    }
}

impl World {
    /// One whose pool may have so many connections.
    pub fn new(connections_max: u32) -> Self {
        let server = ScriptedServer::start();
        let mut config = Config::default();
        config.pool.backend_connections_max = connections_max;
        let backend = Arc::new(backend(server.path()));
        let (topologies, topology) = watch::channel(Arc::new(topology(&backend)));
        let settings = Settings {
            config: Arc::new(config),
            rules: Arc::default(),
            client_tls: None,
            backend_tls: None,
            password_tls: None,
            backend_key: None,
        };
        let (settings, current) = watch::channel(Arc::new(settings));
        let (reports, heard) = mpsc::unbounded_channel();
        let started = Instant::now();
        let env = Rc::new(PoolEnv {
            workers: 1,
            clock: Box::new(move || Moment(started.elapsed())),
            system: system(),
            settings: current,
            topologies: topology.clone(),
            topology: RefCell::new(Arc::clone(&topology.borrow())),
            reports,
            shared: Arc::new(SharedPools::default()),
            scratch: RefCell::new(vec![0; 16 << 10].into_boxed_slice()),
            greeting: OwnGreeting::default(),
            store: Store::new(system().entropy.hash_keys().unwrap()),
        });
        let pool = Rc::new(WorkerPool::new(env, 7));
        tokio::task::spawn_local(WorkerPool::keep(Rc::clone(&pool), || ()));
        let (key, login) = identity();
        let sub_pool = pool.sub_pool(&backend, &key, &login);
        Self {
            server,
            pool,
            sub_pool,
            reports: RefCell::new(heard),
            _topologies: topologies,
            _settings: settings,
        }
    }

    /// What a session does for a connection: the one that is nearest, a new one, or a place in the queue.
    pub fn begin(&self) -> CheckoutStep {
        let patience = Duration::from_secs(30);
        self.pool.begin(
            self.sub_pool.id,
            patience,
            &mut None,
            BackendConn::answers_owed,
        )
    }

    /// A connection: one that lies idle, or a new one as soon as the pool lets it be opened.
    pub async fn take(&self) -> HeldConnection {
        let mut step = self.begin();
        loop {
            match step {
                CheckoutStep::HeldConnection(held) => return held,
                CheckoutStep::Permit(id, permit) => {
                    return self.pool.open(id, permit).await.unwrap();
                }
                CheckoutStep::Waits(wait) => {
                    let granted = wait.granting.await;
                    wait.ticket.spend();
                    let next = self.pool.granted(wait.sub_pool, granted, PATIENCE);
                    step = next.unwrap_or_else(|| self.begin());
                }
                CheckoutStep::Refused(failure) => panic!("{}", failure.cause),
            }
        }
    }

    /// What the control plane was told last.
    pub fn last_report(&self) -> Option<Report> {
        let mut last = None;
        while let Ok(report) = self.reports.borrow_mut().try_recv() {
            last = Some(report);
        }
        last
    }
}

/// The statement's text behind the command's byte, as a connection of these capabilities sends it.
pub fn packets_of(text: &str) -> Vec<u8> {
    let mut payload = vec![Command::QUERY.0];
    payload.extend_from_slice(text.as_bytes());
    let mut packets = Vec::with_capacity(HEADER_BYTES + payload.len());
    wire::write::put_packets(&mut packets, 0, &payload);
    packets
}

fn identity() -> (Rc<PoolKey>, Rc<BackendLogin>) {
    let rules = Rules {
        dialect: Dialect::MariaDb,
        names: Names::Resolved,
    };
    let account = Account::new("app", HostPattern::any(Dialect::MariaDb), Vec::new());
    let directory = Directory::new(rules, [account], [7; 32]);
    let known = directory.accounts().next().unwrap();
    let key = PoolKey {
        account: known.id().clone(),
        user: b"app".as_slice().into(),
        capabilities: CAPABILITIES,
        collation: 45,
    };
    let credential = Credential::Password(Password::new("secret"));
    let login = BackendLogin {
        user: b"app".to_vec(),
        credential,
    };
    (Rc::new(key), Rc::new(login))
}

fn topology(backend: &Arc<Backend>) -> Topology {
    Topology {
        generation: 1,
        default_cluster: None,
        backends: vec![Arc::clone(backend)],
        clusters: vec![Cluster {
            id: ClusterId(0),
            name: "main".to_owned(),
            written: Arc::default(),
        }],
        policy: Policy::default(),
        reads: ReadPolicy::default(),
        roles: Roles::Any,
        slow_start: Duration::ZERO,
    }
}

fn backend(socket: PathBuf) -> Backend {
    Backend {
        id: BackendId(0),
        name: "primary".to_owned(),
        location: BackendLocation {
            host: None,
            endpoints: vec![Endpoint::Unix(socket)],
            zone: None,
            vicinity: Vicinity::Far,
        },
        cluster: ClusterId(0),
        role: Some(Role::Primary),
        tags: Vec::new(),
        weight: 1,
        sessions_max: None,
        duty: Duty::Serving,
        lag_limit: LagLimit {
            max: None,
            unknown: UnknownLag::Use,
        },
        health: Health::Up {
            since: Moment::START,
        },
        returned: None,
        monitored: Monitored {
            server: None,
            writes: Writes::Unknown,
            has_answered: false,
            complaint: None,
        },
        standing: Arc::new(Standing::default()),
        load: Arc::new(Load::default()),
    }
}
