//! A disabled backend executes nothing any more, and each client learns the result of its own statement.

use e2e::raw::RawConn;
use e2e::{PASSWORD, Product, Server, Settings, wait};

use super::{Watched, refused, rows};

both! {
    pooled_sessions_leave_a_disabled_backend
    reads_go_to_another_backend_without_errors
    relayed_sessions_end_with_a_disabled_backend
    sessions_with_scripts_end_with_a_disabled_backend
}

const DISABLE: &str = "UPDATE backends SET disabled = 1 WHERE name = 'it'";
const LOST: &str = "Lost connection to backend it";
const WHY: &str = "an administrator has disabled it";

/// Settings with one backend that has the name `it`, and with a table.
fn named(server: &Server) -> Settings {
    let mut root = server.root();
    root.run("CREATE DATABASE IF NOT EXISTS disabling");
    root.run("CREATE TABLE IF NOT EXISTS disabling.t (n INT)");
    Settings::default().backend_with(server.tcp(), &[("name", "\"it\"")])
}

fn begin(conn: &mut RawConn) {
    conn.run("BEGIN");
    conn.run("INSERT INTO disabling.t VALUES (7)");
}

/// The text of the error that the statement ends with.
#[track_caller]
fn told(conn: &mut RawConn, sql: &str) -> String {
    let reply = conn.query(sql);
    let error = reply.error().unwrap_or_else(|| panic!("{sql} is answered"));
    assert_eq!(error.code, 1158, "{}", error.text);
    error.text.clone()
}

/// Asserts that the connection is closed without an ERR packet, because the client has sent no command.
#[track_caller]
fn ends_without_a_word(conn: &mut RawConn) {
    conn.patience(wait::SOON);
    let error = conn.packet_of_any_order().expect_err("it hears nothing");
    assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "it is closed");
    assert!(conn.is_closed_by_server());
}

/// How many statements with these words run on the server.
fn running(root: &mut RawConn, words: &str) -> String {
    root.value(&format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%{words}%' AND id <> CONNECTION_ID()"
    ))
}

/// A client that executes a long write on a thread of its own. The thread returns the client's error.
fn long(
    watched: &Watched,
    server: &Server,
    seconds: u32,
) -> std::thread::JoinHandle<(String, RawConn)> {
    let mut conn = watched.proxy.connect();
    let words = format!("SLEEP({seconds})");
    let sql = format!("DO {words} + (SELECT COUNT(*) FROM disabling.t FOR UPDATE)");
    let thread = std::thread::spawn(move || (told(&mut conn, &sql), conn));
    let mut root = server.root();
    wait::until("it runs", wait::SOON, || running(&mut root, &words) == "1");
    thread
}

fn pooled_sessions_leave_a_disabled_backend(product: Product) {
    let server = Server::shared(product);
    let settings = named(server)
        .account("app", PASSWORD)
        .set("balance.timeout_backend_wait", "300ms");
    let watched = Watched::start(settings);
    let mut admin = watched.root();
    let [mut writes, mut commits, mut pinned, mut idle] = [(); 4].map(|()| watched.proxy.connect());
    begin(&mut writes);
    begin(&mut commits);
    pinned.run("CREATE TEMPORARY TABLE disabling.kept (n INT)");
    idle.run("SET @mine = 5");
    let runs = long(&watched, server, 611);
    admin.run(DISABLE);
    // The proxy interrupts the running statement.
    let (text, mut ran) = runs.join().unwrap();
    let expected = format!("{LOST} during COM_QUERY: {WHY}; it may have been executed");
    assert_eq!(text, expected);
    let mut root = server.root();
    wait::until("it is killed", wait::SOON, || {
        running(&mut root, "SLEEP(611)") == "0"
    });
    let lent = "SELECT ifnull(sum(in_use), 0) FROM pools WHERE backend = 'it'";
    wait::until("all have left it", wait::SOON, || admin.value(lent) == "0");
    // Each session whose transaction is lost gets an error.
    let why = format!("{LOST}: {WHY}; the transaction is rolled back");
    let then =
        format!("Not executed, because the transaction has failed; send ROLLBACK first: {why}");
    let insert = "INSERT INTO disabling.t VALUES (8)";
    assert_eq!(told(&mut writes, insert), then);
    assert_eq!(
        told(&mut commits, "COMMIT"),
        format!("Nothing was committed: {why}")
    );
    ends_without_a_word(&mut pinned);
    let lost = [LOST, WHY, "lost with it: ", "kept"];
    watched.proxy.wait_event("backend_disabled", &lost);
    // The proxy begins no statement there and keeps no connection open.
    for conn in [&mut idle, &mut ran] {
        let reply = conn.query("SELECT 1");
        let text = &reply.error().expect("nobody answers").text;
        assert!(text.contains("it is disabled"), "{text}");
    }
    let open = "SELECT ifnull(sum(idle + in_use + opening), 0) FROM pools WHERE backend = 'it'";
    wait::until("pools are closed", wait::SOON, || admin.value(open) == "0");
    // All tables show that the backend is disabled.
    let row = &rows(&mut admin, "SELECT disabled, draining, state FROM backends")[0];
    assert_eq!((&*row["disabled"], &*row["draining"]), ("1", "0"));
    for table in ["runtime_mysql_servers", "stats_mysql_connection_pool"] {
        let status = admin.value(&format!("SELECT status FROM {table}"));
        assert_eq!(status, "OFFLINE_HARD", "{table}");
    }
    let events = "SELECT text FROM events WHERE kind = 'backend' ORDER BY id DESC LIMIT 1";
    wait::until("it is told", wait::SOON, || {
        admin.value(events) == "is out of use (disable)"
    });
    // The backend is enabled again.
    admin.run("UPDATE backends SET disabled = 0");
    wait::until("it serves again", wait::SOON, || {
        idle.query("SELECT @mine").texts() == [["5"]]
    });
    writes.run("ROLLBACK");
    writes.run(insert);
    root.run("DELETE FROM disabling.t");
    // The backend is disabled a second time.
    admin.run("UPDATE backends SET disabled = 1");
    assert_eq!(refused(&mut idle, "SELECT 1"), 1429);
    watched.proxy.assert_sound();
}

fn reads_go_to_another_backend_without_errors(product: Product) {
    let server = Server::shared(product);
    let mut root = server.root();
    // No other test uses this database: the table is locked for as long as the read has to last.
    root.run("CREATE DATABASE IF NOT EXISTS disabling_reads");
    root.run("CREATE TABLE IF NOT EXISTS disabling_reads.t (n INT)");
    let socket = server.socket().display().to_string();
    let replica = |name| [("name", name), ("role", "\"replica\"")];
    let settings = Settings::default()
        .backend_with(server.tcp(), &[("name", "\"primary\"")])
        .backend_with(socket, &replica("\"it\""))
        .account("app", PASSWORD);
    let watched = Watched::start(settings);
    let mut admin = watched.root();
    let mut conn = watched.proxy.connect();
    let mut holder = server.root();
    holder.run("LOCK TABLES disabling_reads.t WRITE");
    let sql = "SELECT COUNT(*) FROM disabling_reads.t";
    let reads = std::thread::spawn(move || conn.query(sql).error().is_none());
    wait::until("it runs", wait::SOON, || running(&mut root, sql) == "1");
    let at_it = "SELECT in_flight FROM backends WHERE name = 'it'";
    assert_eq!(admin.value(at_it), "1");
    admin.run(DISABLE);
    wait::until("it runs elsewhere", wait::SOON, || {
        admin.value("SELECT in_flight FROM backends WHERE name = 'primary'") == "1"
    });
    holder.run("UNLOCK TABLES");
    assert!(reads.join().unwrap());
    watched.proxy.assert_sound();
}

fn relayed_sessions_end_with_a_disabled_backend(product: Product) {
    let server = Server::shared(product);
    let settings = named(server)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let watched = Watched::start(settings);
    end_with_it(&watched, server, 613);
}

fn sessions_with_scripts_end_with_a_disabled_backend(product: Product) {
    let server = Server::shared(product);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");
    let settings = named(server)
        .set("routing.script", script)
        .set("health.monitor_user", "app")
        .set("health.monitor_password", PASSWORD);
    let watched = Watched::start(settings);
    end_with_it(&watched, server, 614);
}

/// Sessions with a connection of their own end when the backend is disabled.
fn end_with_it(watched: &Watched, server: &Server, seconds: u32) {
    let mut admin = watched.root();
    let [mut idle, mut writes] = [(); 2].map(|()| watched.proxy.connect());
    idle.run("SELECT 1");
    begin(&mut writes);
    let runs = long(watched, server, seconds);
    admin.run(DISABLE);
    ends_without_a_word(&mut idle);
    ends_without_a_word(&mut writes);
    let lost = [LOST, WHY, "the transaction is rolled back"];
    watched.proxy.wait_event("backend_disabled", &lost);
    let (text, _) = runs.join().unwrap();
    let expected = format!("{LOST}: {WHY}; the statement may have been executed");
    assert_eq!(text, expected);
    let mut root = server.root();
    let words = format!("SLEEP({seconds})");
    wait::until("it is killed", wait::SOON, || {
        running(&mut root, &words) == "0"
    });
    let used = "SELECT connected_clients FROM backends";
    wait::until("nobody is there", wait::SOON, || admin.value(used) == "0");
    watched.proxy.wait_event("backend_disabled", &[]);
}
