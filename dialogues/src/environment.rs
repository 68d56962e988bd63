//! What a worker gives to its logins and to its pool.

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

/// Bytes that are read at once.
const SCRATCH_BYTES: usize = 16 << 10;

/// The address of the scripted client.
pub const CLIENT: ([u8; 4], u16) = ([10, 0, 9, 9], 50_000);

/// The address at which the proxy listens.
const PROXY: ([u8; 4], u16) = ([10, 0, 0, 100], 3306);

/// A worker's environment, and the other sides of it.
pub struct Environment {
    /// Where connections to backends lead.
    pub network: Rc<MemoryNetwork>,
    /// Publishes other settings.
    pub settings: watch::Sender<Arc<Settings>>,
    /// Publishes other backends.
    pub topologies: watch::Sender<Arc<Topology>>,
    /// Publishes other accounts.
    pub accounts: watch::Sender<Arc<Accounts>>,
    /// What pools need.
    pub pool: Rc<PoolEnv>,
    /// What logins need.
    pub login: Rc<LoginEnv>,
    reports: RefCell<mpsc::UnboundedReceiver<Report>>,
    _in_use: NetworkInUse,
}

impl Environment {
    /// With one backend, `db1`, and accounts that only that knows.
    pub fn plain() -> Self {
        Self::new(Config::default(), vec![backend(1)], Accounts::default())
    }

    /// With these settings, backends and accounts.
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

    /// The current settings.
    pub fn current(&self) -> Arc<Settings> {
        Arc::clone(&self.pool.settings.borrow())
    }

    /// Has a backend listen; its connections come out of what is returned.
    pub fn serve(&self, id: u32) -> Server {
        Server {
            connections: self.network.listen(address(id).into()),
        }
    }

    /// A client's connection as the proxy has it, and the scripted client.
    pub fn client(&self) -> (PacketStream, Peer) {
        let (near, far) = self.client_ends(ROOM);
        (
            PacketStream::new(Transport::from(Socket::from(near)), 0),
            Peer::new(far),
        )
    }

    /// Both ends of a client's connection, with so many bytes under way at most: the proxy's first.
    pub fn client_ends(&self, room: usize) -> (End, End) {
        End::pair(SocketAddr::from(PROXY).into(), client_address(), room)
    }

    /// What the control plane was told since the last call.
    pub fn reports(&self) -> Vec<Report> {
        let mut told = Vec::new();
        while let Ok(report) = self.reports.borrow_mut().try_recv() {
            told.push(report);
        }
        told
    }

    /// Other backends are known from now on.
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
    /// The next connection to it.
    pub async fn accept(&mut self) -> Peer {
        Peer::new(self.connections.recv().await.unwrap())
    }

    /// Whether a connection has come that was not accepted yet.
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

/// Configured accounts from everywhere, each with the password of its own name, and no others.
pub fn accounts(users: &[&str]) -> Accounts {
    let accounts = users.iter().map(|user| account(user));
    Accounts::new(directory(accounts), Learned::Off)
}

/// An account from everywhere whose password is the name of its user.
pub fn account(user: &str) -> Account {
    let verifier = Verifier::Password(Password::new(user));
    Account::new(user, HostPattern::any(Dialect::MariaDb), vec![verifier])
}

/// A directory that refuses users whom it does not know.
pub fn directory(accounts: impl IntoIterator<Item = Account>) -> Directory {
    let rules = Rules {
        dialect: Dialect::MariaDb,
        names: Names::Skipped,
    };
    Directory::new(rules, accounts, [7; 32]).refusing_unknown_users(true)
}

/// The dialogue's time, random bytes that follow from a seed, and no threads.
fn system() -> System {
    let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    System {
        clock: Clock::set_to(begin, || net::clock::now().into_std()),
        entropy: Entropy::seeded(7),
        threads: Threads::new(|_, _| Err(io::ErrorKind::Unsupported.into())),
    }
}
