//! Restores a cluster to the state that it had at its start, if that is cheaper than to start another cluster.

use std::time::{Duration, Instant};

use super::state::{ACCOUNTS, SCHEMAS, State, is_delayed, names, root_of, servers, try_run, value};
use crate::cluster::{Cluster, is_connected, position, set_read_only};
use crate::product::Product;
use crate::raw::RawConn;
use crate::server::Server;
use crate::wait;

/// If a replica is not connected to its primary within this time, the cluster is not used again.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);

/// Restarts the servers that a test has ended, and removes the schemas and accounts that the test has made. Returns
/// None if anything else has changed since the servers were in these states.
pub(super) fn restore(cluster: &mut Cluster, states: &[State]) -> Option<()> {
    revive(cluster);
    let mut root = root_of(&cluster.primary)?;
    end_sessions(&mut root)?;
    for schema in names(&mut root, SCHEMAS)? {
        try_run(&mut root, &format!("DROP DATABASE `{schema}`"))?;
    }
    let known = states.first()?.accounts();
    for account in names(&mut root, ACCOUNTS)? {
        if !known.contains(&account) {
            try_run(&mut root, &format!("DROP USER {account}"))?;
        }
    }
    match cluster.replicas.is_empty() {
        true => begin_log_anew(&cluster.primary, &mut root)?,
        false => catch_up(cluster, &mut root)?,
    }
    servers(cluster).for_each(Server::empty_log);
    let mut all = servers(cluster).zip(states);
    all.all(|(server, state)| becomes(server, state))
        .then_some(())
}

/// Restores the global variables of a server, and returns whether the server is in this state then.
fn becomes(server: &Server, state: &State) -> bool {
    let Some(now) = State::of(server) else {
        return false;
    };
    let statements = state.put_back(&now);
    if statements.is_empty() {
        return now == *state;
    }
    let set = |sql: &String| try_run(&mut root_of(server)?, sql);
    statements.iter().try_for_each(set).is_some() && State::of(server).as_ref() == Some(state)
}

/// Restarts the servers that have ended. Their replication starts by itself.
fn revive(cluster: &mut Cluster) {
    if !cluster.primary.is_running() {
        cluster.primary.start_again();
    }
    for replica in &mut cluster.replicas {
        if !replica.is_running() {
            replica.start_again();
            set_read_only(replica);
        }
    }
}

/// Starts stopped replication, and checks that each replica reaches exactly the position of the primary.
fn catch_up(cluster: &Cluster, root: &mut RawConn) -> Option<()> {
    let own = position(cluster.product());
    let reached = value(root, own)?;
    for replica in &cluster.replicas {
        let mut root = root_of(replica)?;
        end_delay(cluster.product(), &mut root)?;
        let start = match cluster.product().is_mariadb() {
            true => "START SLAVE",
            false => "START REPLICA",
        };
        try_run(&mut root, start)?;
        is_connected_soon(replica).then_some(())?;
        let wait = wait_for(cluster.product(), &reached);
        (value(&mut root, &wait)? == "0").then_some(())?;
        (value(&mut root, own)? == reached).then_some(())?;
    }
    Some(())
}

/// Removes a replica's delay that a test has set. If there was one, replication is stopped afterwards.
fn end_delay(product: Product, root: &mut RawConn) -> Option<()> {
    let statements = match product.is_mariadb() {
        true => ["STOP SLAVE", "CHANGE MASTER TO master_delay = 0"],
        false => [
            "STOP REPLICA",
            "CHANGE REPLICATION SOURCE TO source_delay = 0",
        ],
    };
    match is_delayed(product, root)? {
        true => statements.iter().try_for_each(|sql| try_run(root, sql)),
        false => Some(()),
    }
}

fn is_connected_soon(replica: &Server) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < CONNECTED_WITHIN {
        if is_connected(replica) {
            return true;
        }
        // The pause between two questions.
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Makes a single server begin its binary log anew. Does nothing to a server without a binary log.
fn begin_log_anew(server: &Server, root: &mut RawConn) -> Option<()> {
    let statements: &[&str] = match server.product.is_mariadb() {
        true => &["RESET MASTER", "SET GLOBAL gtid_slave_pos = ''"],
        false => &["RESET BINARY LOGS AND GTIDS"],
    };
    if !has_binary_log(root) {
        return Some(());
    }
    follow_nobody(server, root)?;
    statements.iter().try_for_each(|sql| try_run(root, sql))
}

/// Ends the replication of a single server that a test returns, because the server that it follows may soon be leased
/// to another test.
pub(super) fn leave_alone(cluster: &Cluster) {
    let server = &cluster.primary;
    if !cluster.replicas.is_empty() {
        return;
    }
    let Some(mut root) = root_of(server) else {
        return;
    };
    if has_binary_log(&mut root) {
        // If this fails, it fails again when the server is to be restored.
        let _ = follow_nobody(server, &mut root);
    }
}

fn has_binary_log(root: &mut RawConn) -> bool {
    value(root, "SELECT @@log_bin").as_deref() == Some("1")
}

fn follow_nobody(server: &Server, root: &mut RawConn) -> Option<()> {
    let statements = match server.product.is_mariadb() {
        true => ["STOP ALL SLAVES", "RESET SLAVE ALL"],
        false => ["STOP REPLICA", "RESET REPLICA ALL"],
    };
    statements.iter().try_for_each(|sql| try_run(root, sql))
}

/// Ends the sessions of the last test, and waits for their end. The sessions of this server's replicas stay.
fn end_sessions(root: &mut RawConn) -> Option<()> {
    const OTHERS: &str = "SELECT id FROM information_schema.processlist \
        WHERE id <> CONNECTION_ID() AND command NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID')";
    let others = names(root, OTHERS)?;
    for session in &others {
        // The session may have ended meanwhile.
        let _ = root.try_query(&format!("KILL {session}")).ok()?;
    }
    let is_over = |root: &mut RawConn| names(root, OTHERS).is_some_and(|others| others.is_empty());
    wait::for_some("the last test's sessions have ended", wait::SOON, || {
        is_over(root).then_some(())
    });
    Some(())
}

fn wait_for(product: Product, position: &str) -> String {
    match product.is_mariadb() {
        true => format!("SELECT MASTER_GTID_WAIT('{position}', 30)"),
        false => format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{position}', 30)"),
    }
}
