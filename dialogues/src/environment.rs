//! The environment that a worker gives to its logins and to its pool.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use auth::{
    Account, Accounts, Dialect, Directory, HostPattern, Learned, Names, Password, Rules, Verifier,
};
use backend::greeting::OwnGreeting;
use backend::pool_env::{PoolEnv, SharedPools};
use backend::settings::Settings;
use backend::shared_store::Store;
use config::Config;
use link::packets::PacketStream;
use link::transport::Transport;
use login::known_host_names::HostNames;
use login::login_env::{LoginEnv, SharedLogins};
use net::memory::NetworkInUse;
use net::{Endpoint, Socket, watch};
use registry::session_registry::SessionRegistry;
use route::{Backend, Dice, Moment, Report, Topology};
use system::{Clock, Entropy, System, Threads};
use tokio::sync::mpsc;

use crate::backends::{address, backend, topology};
use crate::memory_network::{End, MemoryNetwork, ROOM, in_use};
use crate::peer::Peer;

/// Bytes that one read takes at most.
const SCRATCH_BYTES: usize = 16 << 10;

/// The address of the scripted client.
pub const CLIENT: ([u8; 4], u16) = ([10, 0, 9, 9], 50_000);

/// The address at which the proxy listens.
const PROXY: ([u8; 4], u16) = ([10, 0, 0, 100], 3306);

/// A worker's environment, and the handles by which a test changes it.
pub struct Environment {
    /// The network that connections to backends use.
    pub network: Rc<MemoryNetwork>,
    /// Publishes other settings.
    pub settings: watch::Sender<Arc<Settings>>,
    /// Publishes other backends.
    pub topologies: watch::Sender<Arc<Topology>>,
    /// Publishes other accounts.
    pub accounts: watch::Sender<Arc<Accounts>>,
    /// The context of pools.
    pub pool: Rc<PoolEnv>,
    /// The context of logins.
    pub login: Rc<LoginEnv>,
    reports: RefCell<mpsc::UnboundedReceiver<Report>>,
    _in_use: NetworkInUse,
}

impl Environment {
    /// Returns an environment with one backend, `db1`. Only the backend knows the accounts.
    pub fn plain() -> Self {
        Self::new(Config::default(), vec![backend(1)], Accounts::default())
    }

    /// Returns an environment with these settings, backends and accounts.
    pub fn new(config: Config, backends: Vec<Backend>, accounts: Accounts) -> Self {
        let (network, in_use) = in_use();
        let (settings, current_settings) = watch::channel(settings(config));
        let (topologies, current_topology) = watch::channel(Arc::new(topology(backends)));
        let (accounts, current_accounts) = watch::channel(Arc::new(accounts));
        let (to, reports) = mpsc::unbounded_channel();
        let (system, started) = (system(), net::clock::now());
        let known = Arc::clone(&current_topology.borrow());
        let pool = Rc::new(PoolEnv {
            workers: 1,
            clock: Box::new(move || Moment(net::clock::now() - started)),
            system: system.clone(),
            settings: current_settings,
            topologies: current_topology,
            topology: RefCell::new(known),
            reports: to,
            shared: Arc::new(SharedPools::default()),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            greeting: OwnGreeting::default(),
            store: Store::new(system.entropy.hash_keys().unwrap()),
        });
        let login = Rc::new(LoginEnv {
            worker: 0,
            pool: Rc::clone(&pool),
            accounts: current_accounts,
            dice: Rc::new(RefCell::new(Dice::new(7))),
            host_names: HostNames::default(),
            session_registry: Arc::new(SessionRegistry::default()),
            shared: Arc::new(SharedLogins::default()),
        });
        Self {
            network,
            settings,
            topologies,
            accounts,
            pool,
            login,
            reports: RefCell::new(reports),
            _in_use: in_use,
        }
    }

    /// Returns the current settings.
    pub fn current(&self) -> Arc<Settings> {
        Arc::clone(&self.pool.settings.borrow())
    }

    /// Has a backend listen, and returns the server that takes its connections.
    pub fn serve(&self, id: u32) -> Server {
        Server {
            connections: self.network.listen(address(id).into()),
        }
    }

    /// Returns the proxy's end of a client's connection, and the scripted client.
    pub fn client(&self) -> (PacketStream, Peer) {
        let (near, far) = self.client_ends(ROOM);
        (
            PacketStream::new(Transport::from(Socket::from(near)), 0),
            Peer::new(far),
        )
    }

    /// Returns both ends of a client's connection, the proxy's first. `room` bytes may be in transit at most.
    pub fn client_ends(&self, room: usize) -> (End, End) {
        End::pair(SocketAddr::from(PROXY).into(), client_address(), room)
    }

    /// Returns the messages that the control plane has received since the last call.
    pub fn reports(&self) -> Vec<Report> {
        let mut told = Vec::new();
        while let Ok(report) = self.reports.borrow_mut().try_recv() {
            told.push(report);
        }
        told
    }

    /// Publishes other backends to the environment.
    pub fn publish(&self, backends: Vec<Backend>) {
        let topology = Arc::new(topology(backends));
        *self.pool.topology.borrow_mut() = Arc::clone(&topology);
        self.topologies.send_replace(topology);
    }
}

/// The address of the scripted client.
pub fn client_address() -> Endpoint {
    SocketAddr::from(CLIENT).into()
}

/// A scripted server that takes connections.
pub struct Server {
    connections: mpsc::UnboundedReceiver<End>,
}

impl Server {
    /// Waits for the next connection to this server.
    pub async fn accept(&mut self) -> Peer {
        Peer::new(self.connections.recv().await.unwrap())
    }

    /// Whether a connection waits to be accepted.
    pub fn has_connection(&self) -> bool {
        !self.connections.is_empty()
    }
}

/// Settings without TLS.
pub fn settings(config: Config) -> Arc<Settings> {
    Arc::new(Settings {
        config: Arc::new(config),
        rules: Arc::default(),
        client_tls: None,
        backend_tls: None,
        password_tls: None,
        backend_key: None,
    })
}

/// Returns a directory of configured accounts from any host. Each password is the account's name.
pub fn accounts(users: &[&str]) -> Accounts {
    let accounts = users.iter().map(|user| account(user));
    Accounts::new(directory(accounts), Learned::Off)
}

/// Returns an account from any host whose password is the name of its user.
pub fn account(user: &str) -> Account {
    let verifier = Verifier::Password(Password::new(user));
    Account::new(user, HostPattern::any(Dialect::MariaDb), vec![verifier])
}

/// Returns a directory that refuses users that it does not know.
pub fn directory(accounts: impl IntoIterator<Item = Account>) -> Directory {
    let rules = Rules {
        dialect: Dialect::MariaDb,
        names: Names::Skipped,
    };
    Directory::new(rules, accounts, [7; 32]).refusing_unknown_users(true)
}

/// Returns a system with the dialogue's clock, random bytes that follow from a seed, and no threads.
fn system() -> System {
    let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    System {
        clock: Clock::set_to(begin, || net::clock::now().into_std()),
        entropy: Entropy::seeded(7),
        threads: Threads::new(|_, _| Err(io::ErrorKind::Unsupported.into())),
    }
}
