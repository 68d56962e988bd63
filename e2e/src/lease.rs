//! Clusters that tests use one after the other. Starting three servers takes longer than most tests do; a cluster
//! that a test has left as it was handed out serves the next one.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;
use std::time::Duration;

use crate::cluster::{Cluster, position};
use crate::product::Product;
use crate::raw::{Address, Login, RawConn, Reply};
use crate::server::Server;
use crate::wait;

/// Clusters and single servers that wait for their next test. More would take memory that nobody uses.
const WAITING_MAX: usize = 8;

/// Those that wait, the one that has waited longest first.
static WAITING: Mutex<Vec<Used>> = Mutex::new(Vec::new());

/// A cluster lent to one test. When the test has failed its servers are stopped, and their folders are kept.
#[derive(Debug)]
pub struct Leased(Option<Used>);

/// A cluster, and what its servers were like when it was started.
#[derive(Debug)]
struct Used {
    cluster: Cluster,
    replicas: u32,
    states: Vec<State>,
}

/// What a test may have changed on a server beside its schemas: global variables, accounts and privileges,
/// replication, transactions prepared by XA.
#[derive(Debug, PartialEq, Eq)]
struct State(Vec<Vec<String>>);

impl Cluster {
    /// A primary and so many replicas of a product, without schemas, in the state in which [`Cluster::start`] hands
    /// them out; no replica: a server as [`Server::start`] hands it out. A test may change anything. If the change
    /// cannot be undone, the next test starts its own servers.
    pub fn lease(product: Product, replicas: u32) -> Leased {
        while let Some(mut used) = Used::take(product, replicas) {
            if used.restore().is_some() {
                return Leased(Some(used));
            }
        }
        let cluster = match replicas {
            0 => Self::alone(Server::start(product, &[])),
            _ => Self::start(product, replicas),
        };
        let states = servers(&cluster).map(State::of).collect::<Option<_>>();
        Leased(Some(Used {
            cluster,
            replicas,
            states: states.expect("a server that has just started answers"),
        }))
    }
}

impl Server {
    /// A server without options of its own, as [`Server::start`] hands it out, but for counters such as those of
    /// SHOW GLOBAL STATUS. Nobody else uses it. A test may change anything, as with [`Cluster::lease`].
    pub fn lease(product: Product) -> LeasedServer {
        LeasedServer(Cluster::lease(product, 0))
    }
}

/// A single server lent to one test.
#[derive(Debug)]
pub struct LeasedServer(Leased);

impl From<Server> for LeasedServer {
    /// A server that no other test gets: it has options of its own.
    fn from(server: Server) -> Self {
        Self(Leased(Some(Used {
            cluster: Cluster::alone(server),
            replicas: 0,
            states: Vec::new(),
        })))
    }
}

impl Deref for LeasedServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0.primary
    }
}

impl DerefMut for LeasedServer {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.0.primary
    }
}

impl Deref for Leased {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0.as_ref().expect("it is there until the drop").cluster
    }
}

impl DerefMut for Leased {
    fn deref_mut(&mut self) -> &mut Cluster {
        &mut self.0.as_mut().expect("it is there until the drop").cluster
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        let is_reusable = self.0.as_ref().is_some_and(|it| !it.states.is_empty());
        if std::thread::panicking() || !is_reusable {
            return;
        }
        let Ok(mut waiting) = WAITING.lock() else {
            return;
        };
        waiting.extend(self.0.take());
        let too_many = waiting.len().saturating_sub(WAITING_MAX);
        let given_up: Vec<Used> = waiting.drain(..too_many).collect();
        // Ending servers takes a while.
        drop(waiting);
        drop(given_up);
    }
}

impl Used {
    fn take(product: Product, replicas: u32) -> Option<Self> {
        let mut waiting = WAITING.lock().ok()?;
        let is_such = |it: &Self| it.cluster.product() == product && it.replicas == replicas;
        let index = waiting.iter().position(is_such)?;
        Some(waiting.remove(index))
    }

    /// Removes the schemas and accounts that a test has made. Nothing when something else has changed, or a server
    /// has ended.
    fn restore(&mut self) -> Option<()> {
        let Cluster { primary, replicas } = &mut self.cluster;
        let mut all = std::iter::once(&mut *primary).chain(replicas);
        if !all.all(|server| server.is_running()) {
            return None;
        }
        let mut root = root_of(&self.cluster.primary)?;
        end_sessions(&mut root)?;
        for schema in names(&mut root, SCHEMAS)? {
            try_run(&mut root, &format!("DROP DATABASE `{schema}`"))?;
        }
        let known = self.states.first()?.accounts();
        for account in names(&mut root, ACCOUNTS)? {
            if !known.contains(&account) {
                try_run(&mut root, &format!("DROP USER {account}"))?;
            }
        }
        if self.replicas == 0 {
            return (State::of(&self.cluster.primary).as_ref() == self.states.first())
                .then_some(());
        }
        let reached = value(&mut root, position(self.cluster.product()))?;
        for replica in &self.cluster.replicas {
            let mut root = root_of(replica)?;
            let wait = wait_for(self.cluster.product(), &reached);
            (value(&mut root, &wait)? == "0").then_some(())?;
        }
        let mut all = servers(&self.cluster).zip(&self.states);
        all.all(|(server, state)| State::of(server).as_ref() == Some(state))
            .then_some(())
    }
}

/// Ends the sessions that the last test has left, and waits until they are gone.
fn end_sessions(root: &mut RawConn) -> Option<()> {
    const OTHERS: &str = "SELECT id FROM information_schema.processlist \
        WHERE id <> CONNECTION_ID() AND command NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID')";
    let others = names(root, OTHERS)?;
    for session in &others {
        // It may have ended meanwhile.
        let _ = root.try_query(&format!("KILL {session}")).ok()?;
    }
    let is_over = |root: &mut RawConn| names(root, OTHERS).is_some_and(|others| others.is_empty());
    wait::for_some("the last test's sessions have ended", wait::SOON, || {
        is_over(root).then_some(())
    });
    Some(())
}

/// Schemas of tests.
const SCHEMAS: &str = "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN \
     ('mysql', 'sys', 'information_schema', 'performance_schema')";

/// Accounts, as DROP USER wants them.
const ACCOUNTS: &str = "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user ORDER BY 1";

/// Global variables that grow by themselves.
const GROWING: [&str; 6] = [
    "gtid_executed",
    "gtid_purged",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_slave_pos",
];

/// What a replica follows, whether it does, and how late; names without what the families call the source.
const REPLICATION: [&str; 6] = [
    "er_port",
    "ce_port",
    "_io_running",
    "_sql_running",
    "sql_delay",
    "using_gtid",
];

impl State {
    fn of(server: &Server) -> Option<Self> {
        let mut root = root_of(server)?;
        let mut all = vec![names(&mut root, ACCOUNTS)?];
        let is_mariadb = server.product.is_mariadb();
        let asked = if is_mariadb {
            [
                "SELECT user, host, priv FROM mysql.global_priv ORDER BY 1, 2",
                "SHOW SLAVE STATUS",
            ]
        } else {
            [
                "SELECT user, host, plugin, HEX(authentication_string), account_locked, ssl_type, user_attributes \
                 FROM mysql.user ORDER BY 1, 2",
                "SHOW REPLICA STATUS",
            ]
        };
        let [accounts, replication] = asked;
        let common = [
            accounts,
            "SELECT * FROM mysql.db ORDER BY host, user, db",
            "SELECT * FROM mysql.tables_priv ORDER BY host, user, db, table_name",
            "XA RECOVER",
            SCHEMAS,
        ];
        for sql in common {
            all.extend(texts(&mut root, sql)?);
        }
        let variables = texts(&mut root, "SHOW GLOBAL VARIABLES")?;
        let stays = |row: &Vec<String>| !GROWING.contains(&row[0].to_lowercase().as_str());
        all.extend(variables.into_iter().filter(stays));
        all.extend(columns_of(&root.try_query(replication).ok()?, &REPLICATION));
        Some(Self(all))
    }

    fn accounts(&self) -> &[String] {
        self.0.first().map_or(&[], Vec::as_slice)
    }
}

fn servers(cluster: &Cluster) -> impl Iterator<Item = &Server> {
    std::iter::once(&cluster.primary).chain(&cluster.replicas)
}

/// Root's connection. It does not wait long for what another connection has locked.
fn root_of(server: &Server) -> Option<RawConn> {
    let mut root = RawConn::connect(&Address::Unix(server.socket()), &Login::root()).ok()?;
    root.patience(Duration::from_secs(60));
    try_run(&mut root, "SET lock_wait_timeout = 5")?;
    Some(root)
}

fn wait_for(product: Product, position: &str) -> String {
    match product.is_mariadb() {
        true => format!("SELECT MASTER_GTID_WAIT('{position}', 30)"),
        false => format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', 30)"),
    }
}

fn texts(conn: &mut RawConn, sql: &str) -> Option<Vec<Vec<String>>> {
    let reply = conn.try_query(sql).ok()?;
    reply.error().is_none().then(|| reply.texts())
}

fn names(conn: &mut RawConn, sql: &str) -> Option<Vec<String>> {
    Some(texts(conn, sql)?.into_iter().flatten().collect())
}

fn value(conn: &mut RawConn, sql: &str) -> Option<String> {
    names(conn, sql)?.pop()
}

fn try_run(conn: &mut RawConn, sql: &str) -> Option<()> {
    texts(conn, sql).map(|_| ())
}

/// The columns of the first result's rows whose names end so.
fn columns_of(reply: &Reply, endings: &[&str]) -> Vec<Vec<String>> {
    let Some(result) = reply.results().next() else {
        return Vec::new();
    };
    let names = result.columns.iter().map(|column| column_name(column));
    let is_wanted = |name: &String| endings.iter().any(|ending| name.ends_with(ending));
    let wanted: Vec<bool> = names.map(|name| is_wanted(&name)).collect();
    let of_row = |row: Vec<String>| {
        let chosen = row
            .into_iter()
            .zip(&wanted)
            .filter(|(_, is_wanted)| **is_wanted);
        chosen.map(|(text, _)| text).collect()
    };
    reply.texts().into_iter().map(of_row).collect()
}

/// The name in a column definition, in small letters: the fifth of its strings, all of them short.
fn column_name(definition: &[u8]) -> String {
    let mut rest = definition;
    for _ in 0..4 {
        let length = rest.first().copied().map_or(0, usize::from);
        rest = rest.get(1 + length..).unwrap_or_default();
    }
    let length = rest.first().copied().map_or(0, usize::from);
    let name = rest.get(1..1 + length).unwrap_or_default();
    String::from_utf8_lossy(name).to_lowercase()
}
