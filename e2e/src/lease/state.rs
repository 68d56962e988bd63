//! The state of a server that a test may have changed, and the statements by which root reads it.

use std::time::Duration;

use crate::cluster::Cluster;
use crate::product::Product;
use crate::raw::{Address, Login, RawConn, Reply};
use crate::server::Server;

/// The state besides schemas: global variables, accounts and privileges, replication, transactions prepared by XA.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Global variables, by name and value.
    variables: Vec<Vec<String>>,
    /// The other rows. Accounts come first.
    others: Vec<Vec<String>>,
}

/// Schemas of tests.
pub(super) const SCHEMAS: &str = "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN \
     ('mysql', 'sys', 'information_schema', 'performance_schema')";

/// Accounts, in the form for DROP USER.
pub(super) const ACCOUNTS: &str =
    "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user ORDER BY 1";

/// Global variables that grow without a test changing them.
const GROWING: [&str; 6] = [
    "gtid_executed",
    "gtid_purged",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_slave_pos",
];

/// Columns of the replication status: the source, whether replication runs, and its delay. Without the prefixes that
/// differ between MySQL and MariaDB.
const REPLICATION: [&str; 6] = [
    "er_port",
    "ce_port",
    "_io_running",
    "_sql_running",
    "sql_delay",
    "using_gtid",
];

impl State {
    pub(super) fn of(server: &Server) -> Option<Self> {
        let mut root = root_of(server)?;
        let mut all = vec![names(&mut root, ACCOUNTS)?];
        let accounts = match server.product.is_mariadb() {
            true => "SELECT user, host, priv FROM mysql.global_priv ORDER BY 1, 2",
            false => {
                "SELECT user, host, plugin, HEX(authentication_string), account_locked, ssl_type, user_attributes \
                 FROM mysql.user ORDER BY 1, 2"
            }
        };
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
        let mut variables = texts(&mut root, "SHOW GLOBAL VARIABLES")?;
        variables.retain(|row| !GROWING.contains(&row[0].to_lowercase().as_str()));
        all.extend(replication(server.product, &mut root, &REPLICATION)?);
        Some(Self {
            variables,
            others: all,
        })
    }

    pub(super) fn accounts(&self) -> &[String] {
        self.others.first().map_or(&[], Vec::as_slice)
    }

    /// The statements that restore the values of the global variables.
    pub(super) fn put_back(&self, now: &Self) -> Vec<String> {
        let pairs = self.variables.iter().zip(&now.variables);
        let changed = pairs.filter(|(was, is)| was != is && was[0] == is[0]);
        let statement = |(was, _): (&Vec<String>, _)| {
            let (name, value) = (&was[0], &was[1]);
            match value.parse::<f64>() {
                Ok(_) => format!("SET GLOBAL {name} = {value}"),
                Err(_) => format!("SET GLOBAL {name} = '{value}'"),
            }
        };
        changed.map(statement).collect()
    }
}

/// Whether a server replicates with a delay.
pub(super) fn is_delayed(product: Product, root: &mut RawConn) -> Option<bool> {
    let delays = replication(product, root, &["sql_delay"])?.concat();
    Some(delays.iter().any(|seconds| seconds != "0"))
}

/// A server's replication status: the columns whose names end with one of these endings.
fn replication(product: Product, root: &mut RawConn, endings: &[&str]) -> Option<Vec<Vec<String>>> {
    let status = match product.is_mariadb() {
        true => "SHOW SLAVE STATUS",
        false => "SHOW REPLICA STATUS",
    };
    Some(columns_of(&root.try_query(status).ok()?, endings))
}

/// All servers of a cluster, the primary first.
pub(super) fn servers(cluster: &Cluster) -> impl Iterator<Item = &Server> {
    std::iter::once(&cluster.primary).chain(&cluster.replicas)
}

/// Root's connection, with a short timeout for locks of other connections.
pub(super) fn root_of(server: &Server) -> Option<RawConn> {
    let mut root = RawConn::connect(&Address::Unix(server.socket()), &Login::root()).ok()?;
    root.patience(Duration::from_secs(60));
    try_run(&mut root, "SET lock_wait_timeout = 5")?;
    Some(root)
}

fn texts(conn: &mut RawConn, sql: &str) -> Option<Vec<Vec<String>>> {
    let reply = conn.try_query(sql).ok()?;
    reply.error().is_none().then(|| reply.texts())
}

pub(super) fn names(conn: &mut RawConn, sql: &str) -> Option<Vec<String>> {
    Some(texts(conn, sql)?.into_iter().flatten().collect())
}

pub(super) fn value(conn: &mut RawConn, sql: &str) -> Option<String> {
    names(conn, sql)?.pop()
}

pub(super) fn try_run(conn: &mut RawConn, sql: &str) -> Option<()> {
    texts(conn, sql).map(|_| ())
}

/// The columns of the first result's rows whose names end with one of these endings.
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

/// The name in a column definition, in lower case: the fifth of its strings, all of which are short.
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
