//! Scenes: a proxy before one or more servers, and a test that scripts its clients, on the virtual clock.
//!
//! ```text
//!  test ──► TestClient ──► network ──► proxy (real) ──► network ──► server (a model)
//!    └────────────────────────────────────────────────► root of a server, without the proxy
//! ```
//!
//! A world draws what happens from a seed and knows what must be true at each moment; a scene is for one behaviour that
//! has a name. Nothing takes real time: an hour of a time limit passes at once when nothing else is to be done.

mod client;
mod server_log;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use net::memory::use_network;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::spawn_local;

use crate::client::{Client, Login, NotIn};
use crate::network::{End, Host, Hosts};
use crate::proxy::SimulatedProxy;
use crate::seed::Dice;
use crate::server::{Family, Options, Rights, Server};
use crate::world::{Counted, proxies_host, proxy_address, server_address};
pub use client::{Running, TestClient, refusal};
pub use server_log::Ran;
use server_log::ServerLog;

/// The account that all scenes have, and its password.
pub const APP: &str = "app";
const PASSWORD: &str = "app-password";

/// A second account, which has the same password.
pub const OTHER: &str = "other";

/// The time that the control plane may take until it knows all backends.
const LOOK: Duration = Duration::from_secs(2);

/// The first words of statements that the proxy sends by itself: for a server's variables and position, and for the
/// diagnostics of a client's last statement.
const OWN_QUESTIONS: [&str; 3] = [
    "SELECT @@global.",
    "SELECT CONCAT_WS(',', @@global.",
    "SELECT FOUND_ROWS() LIMIT 1",
];

/// How long a scene may last, in virtual time. If a client waits for a reply that never comes, the scene fails then, some
/// seconds after it has begun.
const SCENE_LIMIT: Duration = Duration::from_secs(3600);

/// The replication between the servers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// A primary and its replicas, as the configuration says.
    Replicas,
    /// A primary and its replicas; the configuration names no roles.
    RolesToFind,
    /// Primaries that do not replicate one another.
    Primaries,
}

/// The setup of a scene.
#[derive(Clone)]
pub struct Setup {
    family: Family,
    servers: usize,
    layout: Layout,
    settings: BTreeMap<String, String>,
    account: String,
    listener: String,
    backends: BTreeMap<usize, String>,
    tables: String,
}

/// A proxy before servers.
pub struct Scene {
    /// The network.
    pub hosts: Rc<Hosts>,
    /// The servers; the first is the primary.
    pub servers: Vec<Rc<Server>>,
    /// The proxy.
    pub proxy: Rc<SimulatedProxy>,
    setup: Setup,
    log: Rc<ServerLog>,
}

/// Plays a scene on both families of servers.
pub fn on_both(play: impl AsyncFn(Setup)) {
    for family in [Family::MariaDb, Family::MySql] {
        on_virtual_clock(play(Setup::new(family)));
    }
}

/// Plays a scene on one family, because the other family lacks the feature, or asks clients for data that they do not
/// have here.
pub fn on(family: Family, play: impl AsyncFnOnce(Setup)) {
    on_virtual_clock(play(Setup::new(family)));
}

/// Runs a scene on one thread and a clock that stands still while a task can run.
fn on_virtual_clock(scene: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime without input and output takes memory only");
    runtime.block_on(async {
        let done = tokio::time::timeout(SCENE_LIMIT, scene).await;
        done.expect("a client of the scene still waits for a reply after an hour of virtual time");
    });
}

/// Lets all other tasks run, and lets a little virtual time pass.
pub async fn settle() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// Lets virtual time pass.
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

impl Setup {
    /// Returns a setup of one primary, with pooled sessions that keep a connection for one statement.
    pub fn new(family: Family) -> Self {
        let defaults = [
            ("workers", "1"),
            ("routing.session", "\"statement\""),
            ("pool.backend_connections_max", "50"),
            ("pool.opens_per_second", "1000"),
            ("pool.opens_burst", "100"),
            ("accounts.learn", "false"),
            ("health.monitor_user", "\"root\""),
            ("health.monitor_password", "\"\""),
            ("health.probe_interval", "\"1s\""),
            ("health.monitor_interval", "\"500ms\""),
            ("health.replication_interval", "\"200ms\""),
            ("health.timeout_connect", "\"2s\""),
            ("balance.learn_definitions", "false"),
            // The proxy counts statements only if the HTTP listener is configured.
            ("http.address", "[]"),
            ("http.token", "\"a-token-that-nobody-uses\""),
        ];
        let settings = defaults.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            family,
            servers: 1,
            layout: Layout::Replicas,
            settings: settings.into(),
            account: String::new(),
            listener: String::new(),
            backends: BTreeMap::new(),
            tables: String::new(),
        }
    }

    /// The family of all servers.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Sets a setting; the value is written as in TOML.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the number of replicas.
    #[must_use]
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.servers = 1 + replicas;
        self
    }

    /// Leaves the roles out of the configuration, so that the proxy detects them.
    #[must_use]
    pub fn find_roles(mut self) -> Self {
        self.layout = Layout::RolesToFind;
        self
    }

    /// Sets the number of primaries, which do not replicate one another.
    #[must_use]
    pub fn primaries(mut self, primaries: usize) -> Self {
        self.servers = primaries;
        self.layout = Layout::Primaries;
        self
    }

    /// Adds a line to the table of the account [`APP`].
    #[must_use]
    pub fn account(mut self, line: &str) -> Self {
        let _ = writeln!(self.account, "{line}");
        self
    }

    /// Adds a line to the table of the second listener, to which [`Scene::client_on_second`] connects.
    #[must_use]
    pub fn second_listener(mut self, line: &str) -> Self {
        let _ = writeln!(self.listener, "{line}");
        self
    }

    /// Adds lines to the table of the backend with this number. Number 0 is the primary.
    #[must_use]
    pub fn backend(mut self, server: usize, lines: &str) -> Self {
        self.backends.insert(server, lines.to_owned());
        self
    }

    /// Adds tables to the end of the configuration, such as `[[rule]]`.
    #[must_use]
    pub fn tables(mut self, text: &str) -> Self {
        self.tables.push_str(text);
        self.tables.push('\n');
        self
    }

    /// Returns the configuration of the proxy.
    fn configuration(&self) -> String {
        let mut text = "listen = []\n".to_owned();
        let mut write = |line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        for (name, value) in &self.settings {
            write(&format!("{name} = {value}"));
        }
        for (number, lines) in ["", &self.listener].into_iter().enumerate() {
            write(&format!(
                "[[listener]]\naddress = \"{}\"\n{lines}",
                proxy_address(0, number)
            ));
        }
        for (user, lines) in [(APP, &*self.account), (OTHER, "")] {
            write(&format!(
                "[[account]]\nuser = \"{user}\"\npassword = \"{PASSWORD}\"\n{lines}"
            ));
        }
        for number in 0..self.servers {
            let role = match (self.layout, number) {
                (Layout::RolesToFind, _) => "auto",
                (Layout::Replicas, 1..) => "replica",
                (Layout::Replicas, 0) | (Layout::Primaries, _) => "primary",
            };
            let address = server_address(number);
            let more = self.backends.get(&number).map_or("", String::as_str);
            write(&format!(
                "[[backend]]\naddress = \"{address}\"\nrole = \"{role}\"\n{more}"
            ));
        }
        write(&self.tables);
        text
    }

    /// Starts servers and the proxy, and plays the scene. All sessions must end soon after it.
    pub async fn play(self, play: impl AsyncFnOnce(&Scene)) {
        let hosts = Hosts::new(Dice::new(1));
        let _network = use_network(Rc::new(Host {
            hosts: Rc::clone(&hosts),
            address: proxies_host(),
        }));
        let log: Rc<ServerLog> = Rc::default();
        let servers: Vec<_> = (0..self.servers)
            .map(|number| self.server(&hosts, number, &log))
            .collect();
        let replicas: &[Rc<Server>] = match self.layout {
            Layout::Primaries => &[],
            Layout::Replicas | Layout::RolesToFind => &servers[1..],
        };
        for replica in replicas {
            replica.follow(Some(&servers[0]), Duration::ZERO);
            replica.set_read_only(true);
        }
        let proxy = SimulatedProxy::start(&self.configuration(), 1).await;
        let proxy = Rc::new(proxy.expect("the configuration is right"));
        for listener in 0..2 {
            let proxy = Rc::clone(&proxy);
            let accept = move |end: End, client| proxy.accept(end, client, listener);
            hosts.listen(proxy_address(0, listener), Rc::new(accept));
        }
        pass(LOOK).await;
        let scene = Scene {
            hosts,
            servers,
            proxy,
            setup: self,
            log,
        };
        play(&scene).await;
        pass(LOOK).await;
        assert_eq!(scene.proxy.sessions(), 0, "no session is left behind");
    }

    fn server(&self, hosts: &Rc<Hosts>, number: usize, log: &Rc<ServerLog>) -> Rc<Server> {
        let account =
            |user: &str, password: &str, rights| (user.to_owned(), password.to_owned(), rights);
        let server = Server::new(Options {
            accounts: vec![
                account("root", "", Rights::Administrator),
                account(APP, PASSWORD, Rights::Application),
                account(OTHER, PASSWORD, Rights::Application),
            ],
            schemas: vec!["d".to_owned()],
            observer: Some(log.observer(number)),
            ..Options::new(self.family, 1 + number as u32)
        });
        let serving = Rc::clone(&server);
        let accept = move |end: End, _| drop(spawn_local(Rc::clone(&serving).serve(end)));
        hosts.listen(server_address(number), Rc::new(accept));
        server
    }
}

impl Scene {
    /// Resets the proxy's connections when the next statement with this text begins. The server executes the statement;
    /// its reply is lost.
    pub fn cut_at(&self, part: &str) {
        let hosts = Rc::clone(&self.hosts);
        self.when(part, move |ran| {
            hosts.reset(proxies_host(), server_address(ran.server).ip());
        });
    }

    /// Crashes the server when the next statement with this text begins. The reply is lost.
    pub fn crash_at(&self, part: &str) {
        let (hosts, servers) = (Rc::clone(&self.hosts), self.servers.clone());
        self.when(part, move |ran| {
            hosts.reset(proxies_host(), server_address(ran.server).ip());
            servers[ran.server].crash();
        });
    }

    /// Ends the next statement with this text as KILL QUERY does.
    pub fn kill_at(&self, part: &str) {
        let servers = self.servers.clone();
        self.when(part, move |ran| {
            servers[ran.server].kill_statement(ran.connection);
        });
    }

    /// Calls `act` when the next statement with this text begins.
    pub fn when(&self, part: &str, act: impl FnOnce(&Ran) + 'static) {
        self.log.when(part, act);
    }

    /// Whether the statement of the last [`Self::cut_at`], [`Self::kill_at`] or [`Self::when`] has not come yet.
    pub fn is_uncut(&self) -> bool {
        self.log.is_due()
    }

    /// Returns the statements that servers have begun for clients' sessions since the last call, in order. Statements
    /// of the proxy that restore a session are among them; statements of its monitor are not.
    pub fn ran(&self) -> Vec<Ran> {
        self.log.take()
    }

    /// Returns the texts of these statements on one server, without the proxy's own questions. The call also discards
    /// the statements of the other servers.
    pub fn texts(&self, server: usize) -> Vec<String> {
        let is_own = |text: &str| OWN_QUESTIONS.iter().any(|own| text.starts_with(own));
        let ran = self.ran().into_iter();
        let of_it = ran.filter(|ran| ran.server == server && !is_own(&ran.text));
        of_it.map(|ran| ran.text).collect()
    }

    /// Returns the numbers of the servers that have begun a statement with this text since the last such call.
    pub fn places(&self, part: &str) -> Vec<usize> {
        let ran = self.ran().into_iter();
        let of_it = ran.filter(|ran| ran.text.contains(part));
        of_it.map(|ran| ran.server).collect()
    }

    /// Returns the proxy's counts of statements.
    pub async fn counted(&self) -> Counted {
        Counted::of(&self.proxy.counts().await)
    }

    /// Logs in a client of the account [`APP`].
    pub async fn client(&self) -> TestClient {
        self.client_of(APP).await
    }

    /// Logs in a client of an account.
    pub async fn client_of(&self, user: &str) -> TestClient {
        let client = self.log_in(user, PASSWORD, proxy_address(0, 0)).await;
        client.expect("the login succeeds")
    }

    /// Logs in a client of the account [`APP`] on the second listener.
    pub async fn client_on_second(&self) -> TestClient {
        let client = self.log_in(APP, PASSWORD, proxy_address(0, 1)).await;
        client.expect("the login succeeds")
    }

    /// Logs a client in, as a user, with a password, at the proxy.
    ///
    /// # Errors
    /// Why the client is not in.
    pub async fn try_client(&self, user: &str, password: &str) -> Result<TestClient, NotIn> {
        self.log_in(user, password, proxy_address(0, 0)).await
    }

    /// Logs in a client with the right password. The login may fail.
    ///
    /// # Errors
    /// Why the client is not in.
    pub async fn another(&self) -> Result<TestClient, NotIn> {
        self.try_client(APP, PASSWORD).await
    }

    /// Logs in a client of the account [`APP`] on the second listener. The login may fail.
    ///
    /// # Errors
    /// Why the client is not in.
    pub async fn another_on_second(&self) -> Result<TestClient, NotIn> {
        self.log_in(APP, PASSWORD, proxy_address(0, 1)).await
    }

    /// Returns an administrator's connection to a server, without the proxy.
    pub async fn root(&self, server: usize) -> TestClient {
        let root = self.log_in("root", "", server_address(server)).await;
        root.expect("the server takes administrators")
    }

    /// Reloads the proxy with a changed setup.
    pub fn reload(&self, change: impl FnOnce(Setup) -> Setup) {
        let changed = change(self.setup.clone());
        let done = self.proxy.reload(&changed.configuration());
        done.expect("the configuration is right");
    }

    async fn log_in(
        &self,
        user: &str,
        password: &str,
        address: SocketAddr,
    ) -> Result<TestClient, NotIn> {
        let login = Login {
            host: IpAddr::V4(Ipv4Addr::new(10, 2, 0, 1)),
            address,
            user: user.to_owned(),
            password: password.to_owned(),
            schema: None,
            deprecates_eof: true,
            tally: None,
        };
        Client::log_in(&self.hosts, &login)
            .await
            .map(TestClient::new)
    }
}
