//! Accounts learned from real servers. The account that a snapshot finds equals CURRENT_USER() at the
//! server, and the snapshots follow changes of the accounts.

use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use auth::{AccountId, Accounts, Found, Origin, PassThrough, Treatment};
use config::{BackendAddress, BackendConfig, Config, Role, Secret};
use e2e::raw::{Address, Login, RawConn};
use e2e::{Product, Server};
use pilotfish_control::Control;
use route::Report;
use system::{Clock, Entropy, System, Threads};

/// A system with the machine's clock and threads, and with random bytes from a seed.
fn system() -> System {
    System {
        clock: Clock::new(Instant::now, SystemTime::now),
        entropy: Entropy::seeded(7),
        threads: Threads::new(|name, work| thread::Builder::new().name(name).spawn(work)),
    }
}

/// The longest time that a test waits, so that a failing test ends.
const PATIENCE: Duration = Duration::from_secs(60);

const PRODUCTS: [Product; 3] = [Product::MySql, Product::MariaDb, Product::MariaDbNext];

/// A server, and a control plane that learns accounts from it.
struct School {
    server: Server,
    root: RawConn,
    control: Control,
}

impl School {
    /// Starts a server on which `monitor` may connect and has no other privilege.
    fn open(product: Product, options: &[&str]) -> Self {
        let server = Server::start(product, options);
        let mut root = server.root();
        root.run("CREATE USER monitor@'%' IDENTIFIED BY 'secret'");
        let address = BackendAddress::Tcp {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: server.port(),
        };
        let mut config = Config {
            backends: vec![BackendConfig::new(address, Role::Primary)],
            ..Config::default()
        };
        config.health.timeout_connect = PATIENCE;
        config.health.monitor_user = Some("monitor".to_owned());
        config.health.monitor_password = Some(Secret::new("secret"));
        config.accounts.learn = true;
        config.accounts.learn_interval = Duration::from_secs(3600);
        Self {
            control: Control::start(&config, Instant::now(), &system()).unwrap(),
            server,
            root,
        }
    }

    /// Grants the privilege to `monitor`. After that, accounts are learned only on request.
    async fn grant(&mut self) -> Arc<Accounts> {
        let table = match self.server.product {
            Product::MySql => "mysql.user",
            Product::MariaDb | Product::MariaDbNext => "mysql.global_priv",
        };
        self.root
            .run(&format!("GRANT SELECT ON {table} TO monitor@'%'"));
        self.first(|accounts| accounts.learned().is_some()).await
    }

    /// Waits for the first snapshot that is as `wanted`.
    async fn first(&self, wanted: impl Fn(&Accounts) -> bool) -> Arc<Accounts> {
        let mut accounts = self.control.accounts();
        let waiting = accounts.wait_for(|accounts| wanted(accounts));
        let found = tokio::time::timeout(PATIENCE, waiting).await;
        Arc::clone(&found.expect("it never came to that").unwrap())
    }

    /// The accounts after the server has executed these statements.
    async fn after(&mut self, statements: &[&str]) -> Arc<Accounts> {
        for statement in statements {
            self.root.run(statement);
        }
        let before = self.control.accounts().borrow().asked_at();
        let user = "somebody".to_owned();
        self.control
            .reports()
            .send(Report::UnknownAccount { user })
            .unwrap();
        self.first(|accounts| accounts.asked_at() > before).await
    }
}

fn id(accounts: &Accounts, user: &str) -> Option<AccountId> {
    match accounts.find(user.as_bytes(), &Origin::unix()) {
        Found::Account(account) => Some(account.id().clone()),
        Found::Nobody | Found::PassThrough => None,
    }
}

#[tokio::test]
async fn accounts_are_learned_as_soon_as_the_monitor_account_may_read_them() {
    for product in PRODUCTS {
        let mut school = School::open(product, &[]);
        let before = school.first(|accounts| accounts.asked_at().is_some()).await;
        assert!(before.learned().is_none());
        let origin = Origin::unix();
        assert_eq!(before.find(b"app", &origin), Found::PassThrough);
        let after = school.grant().await;
        assert!(id(&after, "app").is_some());
        assert_eq!(after.find(b"nobody", &origin), Found::Nobody);
    }
}

#[tokio::test]
async fn created_changed_and_dropped_users_are_learned() {
    for product in PRODUCTS {
        let mut school = School::open(product, &[]);
        school.grant().await;
        let created = school
            .after(&["CREATE USER new@'%' IDENTIFIED BY 'one'"])
            .await;
        let first = id(&created, "new").unwrap();
        let same = school.after(&["GRANT SELECT ON mysql.* TO new@'%'"]).await;
        assert_eq!(id(&same, "new").as_ref(), Some(&first));
        let changed = school
            .after(&["ALTER USER new@'%' IDENTIFIED BY 'two'"])
            .await;
        assert_ne!(id(&changed, "new").unwrap(), first);
        assert!(!changed.has(&first));
        let dropped = school.after(&["DROP USER new@'%'"]).await;
        assert_eq!(dropped.find(b"new", &Origin::unix()), Found::Nobody);
    }
}

/// The proxy does not examine these plugins, or the server has other conditions for these accounts.
#[tokio::test]
async fn accounts_that_only_the_server_can_verify_pass_through() {
    for product in PRODUCTS {
        let mut school = School::open(product, &[]);
        school.grant().await;
        let expire = "CREATE USER expired@'%' IDENTIFIED BY 'x' PASSWORD EXPIRE";
        let accounts = school.after(&[expire]).await;
        let reason = |user: &str| match accounts.find(user.as_bytes(), &Origin::unix()) {
            Found::Account(account) => match account.treatment(Duration::ZERO) {
                Treatment::PassThrough(reason) => Some(reason),
                Treatment::Examine(_) => None,
            },
            Found::Nobody | Found::PassThrough => panic!("{user} is there"),
        };
        let plugin = |name: &str| Some(PassThrough::Plugin(name.to_owned()));
        assert_eq!(reason("expired"), Some(PassThrough::Expired));
        assert_eq!(reason("app"), None);
        match product {
            Product::MySql => {
                assert_eq!(reason("sha256"), plugin("sha256_password"));
                assert_eq!(reason("two_factors"), Some(PassThrough::Factors));
            }
            Product::MariaDb => assert_eq!(reason("ed25519"), plugin("ed25519")),
            Product::MariaDbNext => {
                assert_eq!(reason("parsec"), plugin("parsec"));
                assert_eq!(reason("sha2"), None);
            }
        }
    }
}

/// Hosts of one user. Each account has its own password, so a login shows which account the server chose.
const HOSTS: [&str; 9] = [
    "%",
    "127.0.0.2",
    "127.0.0.%",
    "127.0.0._",
    "127.%",
    "%.0.0.3",
    "127.0.0.0/255.255.255.0",
    "127.0.0.0/255.0.0.0",
    "localhost",
];

#[tokio::test]
async fn the_account_found_is_the_one_the_server_finds() {
    for product in PRODUCTS {
        let mut school = School::open(product, &[]);
        school.grant().await;
        let mut statements: Vec<String> =
            vec!["CREATE USER ''@'127.0.0.4' IDENTIFIED BY '9'".into()];
        for (number, host) in HOSTS.iter().enumerate() {
            statements.push(format!(
                "CREATE USER hosts@'{host}' IDENTIFIED BY '{number}'"
            ));
        }
        if product == Product::MySql {
            statements.push("CREATE USER hosts@'127.0.0.16/30' IDENTIFIED BY '8'".into());
        }
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        let accounts = school.after(&statements).await;
        assert_same_accounts(&school.server, &accounts);
    }
}

fn assert_same_accounts(server: &Server, accounts: &Accounts) {
    let mut seen = 0;
    for last in [1, 2, 3, 4, 17] {
        let from = Ipv4Addr::new(127, 0, 0, last);
        let address: Address = from_address(from, server.tcp()).into();
        for user in ["hosts", "app", "stranger"] {
            let theirs = (0..10).find_map(|password| {
                current_user(&address, &Login::with(user, &password.to_string()))
            });
            let theirs = theirs.or_else(|| current_user(&address, &Login::user(user)));
            let ours = match accounts.find(user.as_bytes(), &Origin::tcp(from.into(), None)) {
                Found::Account(account) => {
                    Some(format!("{}@{}", account.user, account.host.as_str()))
                }
                Found::Nobody => None,
                Found::PassThrough => panic!("{user} from {from} is not decided by a name"),
            };
            seen += usize::from(theirs.is_some());
            assert_eq!(ours, theirs, "{user} from {from}, {:?}", server.product);
        }
    }
    assert!(seen >= 10, "only {seen} logins succeeded");
}

fn current_user(address: &Address, login: &Login) -> Option<String> {
    let mut conn = RawConn::connect(address, login).ok()?;
    Some(conn.value("SELECT CURRENT_USER()"))
}

/// An address that forwards to `server`. The server sees connections from `from`.
fn from_address(from: Ipv4Addr, server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let backend = connect_from(from, server);
            pipe(&client, &backend);
            pipe(&backend, &client);
        }
    });
    address
}

fn connect_from(from: Ipv4Addr, server: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
    socket.connect(&server.into()).unwrap();
    socket.into()
}

fn pipe(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    thread::spawn(move || {
        // The copy is over, with or without an error.
        let _ = std::io::copy(&mut from, &mut to);
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    });
}
