//! A real server for the length of a test: its data folder copied from a prepared one, a free
//! port, a Unix socket, TLS, accounts for each authentication plugin.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::certs::Certs;
use crate::process::{Folder, Process, Signal};
use crate::product::{Product, cache};
use crate::raw::{Address, Login, RawConn};
use crate::wait;

const STARTS_WITHIN: Duration = Duration::from_secs(60);
const STOPS_WITHIN: Duration = Duration::from_secs(60);

/// A running server. When it is dropped, it is killed, because its data is not needed any more.
#[derive(Debug)]
pub struct Server {
    /// The server's product.
    pub product: Product,
    process: Process,
    folder: Folder,
    port: u16,
    options: Vec<String>,
}

impl Server {
    /// The distribution's MariaDB.
    pub fn mariadb() -> Self {
        Self::start(Product::MariaDb, &[])
    }

    /// MySQL 9.7.
    pub fn mysql() -> Self {
        Self::start(Product::MySql, &[])
    }

    /// The one server of `product` that all tests of this process share. A test must not stop it, change its global
    /// variables, or count its connections.
    pub fn shared(product: Product) -> &'static Self {
        static MARIADB: OnceLock<Server> = OnceLock::new();
        static MARIADB_NEXT: OnceLock<Server> = OnceLock::new();
        static MYSQL: OnceLock<Server> = OnceLock::new();
        let cell = match product {
            Product::MariaDb => &MARIADB,
            Product::MariaDbNext => &MARIADB_NEXT,
            Product::MySql => &MYSQL,
        };
        cell.get_or_init(|| Self::start(product, &["--log-bin=binlog", "--server-id=1"]))
    }

    /// Starts a server with more options for its command line.
    pub fn start(product: Product, options: &[&str]) -> Self {
        let template = template(product);
        let folder = Folder::new(product.name());
        copy_folder(template, &folder.join("data"));
        // With a copied UUID, two servers would have the same identity.
        let _ = std::fs::remove_file(folder.join("data/auto.cnf"));
        let mut all = tls_options();
        all.extend(options.iter().map(|&option| option.to_owned()));
        Self::run(product, folder, all)
    }

    fn run(product: Product, folder: Folder, options: Vec<String>) -> Self {
        let port = free_port();
        let process = launch(product, &folder, port, &options);
        let mut server = Self {
            product,
            process,
            folder,
            port,
            options,
        };
        server.wait_ready();
        server
    }

    /// Its TCP address (127.0.0.1).
    pub fn tcp(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// Its TCP address over IPv6 (`::1`), where the machine has IPv6.
    pub fn tcp_v6(&self) -> Option<SocketAddr> {
        has_ipv6().then(|| (Ipv6Addr::LOCALHOST, self.port).into())
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its folder; `data` in it is the data folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A connection as root over the Unix socket.
    pub fn root(&self) -> RawConn {
        RawConn::connect(&Address::Unix(self.socket()), &Login::root())
            .unwrap_or_else(|error| panic!("root cannot connect: {error}\n{}", self.log_tail()))
    }

    /// A connection as `app` in a schema.
    pub fn connect(&self, schema: &str) -> RawConn {
        let login = Login::app().schema(schema);
        RawConn::connect(&self.tcp().into(), &login)
            .unwrap_or_else(|error| panic!("app cannot connect: {error}\n{}", self.log_tail()))
    }

    /// The process, for signals.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Whether the server's process is running.
    pub fn is_running(&mut self) -> bool {
        self.process.ended().is_none()
    }

    /// SIGKILL, and waits for the end.
    pub fn kill(&mut self) {
        self.process.signal(Signal::KILL);
        self.process.wait_ended(STOPS_WITHIN);
    }

    /// SIGTERM, and waits for the end.
    pub fn shut_down(&mut self) {
        self.process.signal(Signal::TERM);
        self.process.wait_ended(STOPS_WITHIN);
    }

    /// Starts the server again, on the same port and data, after [`Self::kill`] or [`Self::shut_down`].
    pub fn start_again(&mut self) {
        self.process = launch(self.product, &self.folder, self.port, &self.options);
        self.wait_ready();
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        self.process.log_tail()
    }

    /// Empties the server's log.
    pub(crate) fn empty_log(&self) {
        self.process.empty_log();
    }

    fn wait_ready(&mut self) {
        let socket = Address::Unix(self.socket());
        wait::for_some(self.product.name(), STARTS_WITHIN, || {
            if let Some(status) = self.process.ended() {
                panic!("it ended at once: {status}\n{}", self.process.log_tail());
            }
            RawConn::connect(&socket, &Login::root()).ok()
        });
    }
}

fn launch(product: Product, folder: &Folder, port: u16, options: &[String]) -> Process {
    let mut command = product.server_at_home(&folder.join("data"));
    let bind = if has_ipv6() {
        "127.0.0.1,::1"
    } else {
        "127.0.0.1"
    };
    // MySQL has no option that undoes --skip-name-resolve, so defaults that `options` sets are left out.
    let mut defaults = product.options();
    defaults.retain(|default| {
        let name = default.split('=').next().unwrap_or_default();
        let again = |option: &String| option.split('=').next() == Some(name);
        !options.iter().any(again)
    });
    command
        .args(defaults)
        .arg(format!("--port={port}"))
        .arg(format!("--bind-address={bind}"))
        .arg(format!("--socket={}", folder.join("s").display()))
        .arg(format!("--pid-file={}", folder.join("pid").display()))
        .args(options);
    Process::start(product.name(), command, &folder.join("log"))
}

fn tls_options() -> Vec<String> {
    let certs = Certs::shared();
    vec![
        format!("--ssl-ca={}", certs.ca.display()),
        format!("--ssl-cert={}", certs.server.certificate.display()),
        format!("--ssl-key={}", certs.server.key.display()),
    ]
}

/// Ports below those that Linux by default gives to connecting sockets.
const PORTS: Range<u16> = 12_000..32_000;

/// A port of the loopback that is free and was not returned before. Linux does not give it to connecting sockets, which
/// could otherwise take the port of a server that is stopped for a while.
pub fn free_port() -> u16 {
    static NEXT: OnceLock<AtomicU64> = OnceLock::new();
    // Each process begins with another port.
    let next = NEXT.get_or_init(|| AtomicU64::new(u64::from(std::process::id()) * 997));
    let is_free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    loop {
        let turn = next.fetch_add(1, Ordering::Relaxed) % PORTS.len() as u64;
        let port = PORTS.start + u16::try_from(turn).expect("it is less than there are ports");
        if is_free(port) {
            return port;
        }
    }
}

/// True when the machine's loopback has IPv6.
pub fn has_ipv6() -> bool {
    TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// The prepared data folder of a product. It is made once per version, outside the repository.
fn template(product: Product) -> &'static Path {
    static MARIADB: OnceLock<PathBuf> = OnceLock::new();
    static MARIADB_NEXT: OnceLock<PathBuf> = OnceLock::new();
    static MYSQL: OnceLock<PathBuf> = OnceLock::new();
    let cell = match product {
        Product::MariaDb => &MARIADB,
        Product::MariaDbNext => &MARIADB_NEXT,
        Product::MySql => &MYSQL,
    };
    cell.get_or_init(|| {
        let recipe = fingerprint(&(product.options(), product.accounts()));
        let name = format!("{}-{}-{recipe:016x}", product.name(), product.version());
        let done = cache().join("data").join(name);
        if !done.exists() {
            make_template(product, &done);
        }
        done
    })
}

fn fingerprint(value: &impl std::hash::Hash) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn make_template(product: Product, done: &Path) {
    let folder = Folder::new("new");
    let data = folder.join("data");
    std::fs::create_dir(&data).expect("the temporary folder is writable");
    product.initialise(&data);
    let mut server = Server::run(product, folder, Vec::new());
    let mut root = server.root();
    for statement in product.accounts() {
        let reply = root.query(&statement);
        assert!(reply.error().is_none(), "{statement}: {:?}", reply.error());
    }
    drop(root);
    server.shut_down();
    // The folder is renamed when it is complete, because another process may make it at the same time.
    let beside = done.with_extension(std::process::id().to_string());
    std::fs::create_dir_all(done.parent().expect("it is in a folder")).expect("writable");
    copy_folder(&data, &beside);
    if std::fs::rename(&beside, done).is_err() {
        let _ = std::fs::remove_dir_all(&beside);
    }
    assert!(done.exists(), "{} cannot be made", done.display());
}

fn copy_folder(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    copy.args(["-a", "--reflink=auto", "--sparse=always"])
        .arg(from)
        .arg(to);
    let output = copy.output().expect("cp is everywhere");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} cannot be copied: {text}",
        from.display()
    );
}
