//! Transactions that clients leave idle: they end after `limits.timeout_idle_transaction`, and the client reads why.

use e2e::raw::{Login, RawConn};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, wait};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");

both! {
    an_idle_transaction_of_a_pooled_session_is_rolled_back_and_the_session_goes_on
    an_idle_transaction_ends_a_session_that_is_not_pooled
    more_than_a_transaction_ends_a_pooled_session
    an_account_and_a_listener_have_limits_of_their_own
}

/// A server with a table that one row is locked in by an open transaction.
fn prepare(root: &mut RawConn) {
    root.run("CREATE DATABASE d");
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY) ENGINE=InnoDB");
    root.run("GRANT ALL ON d.* TO app@'%'");
}

fn begin(conn: &mut RawConn) {
    conn.run("BEGIN");
    conn.run("INSERT INTO d.t VALUES (1)");
}

/// The server has rolled it back: the row is free.
fn assert_rolled_back(root: &mut RawConn) {
    root.run("INSERT INTO d.t VALUES (1)");
    root.run("DELETE FROM d.t");
}

fn an_idle_transaction_of_a_pooled_session_is_rolled_back_and_the_session_goes_on(
    product: Product,
) {
    let server = Server::lease(product);
    let mut root = server.root();
    prepare(&mut root);
    let limit = "limits.timeout_idle_transaction";
    let settings = Settings::pooled(&server, 1).set(limit, "1s");
    let proxy = Proxy::start(&settings);
    let mut conn = proxy.connect();
    begin(&mut conn);
    proxy.wait_event("idle_transaction", &[]);
    assert_rolled_back(&mut root);
    for statement in ["INSERT INTO d.t VALUES (2)", "SELECT 1", "COMMIT"] {
        let reply = conn.query(statement);
        let error = reply.error().unwrap();
        assert_eq!(error.code, 4031, "{statement}: {error}");
        assert!(error.text.contains(limit), "{statement}: {error}");
        assert!(error.text.contains("1s"), "{statement}: {error}");
    }
    assert_eq!(conn.value("SELECT COUNT(*) FROM d.t"), "0");
    // One of which only BEGIN has run loses nothing.
    conn.run("BEGIN");
    wait::until("the connection is free", wait::SOON, || {
        proxy.connect().query("SELECT 1").error().is_none()
    });
    conn.run("INSERT INTO d.t VALUES (3)");
    conn.run("COMMIT");
    assert_eq!(conn.value("SELECT COUNT(*) FROM d.t"), "1");
    assert_eq!(proxy.count_events("idle_transaction"), 1);
}

fn an_idle_transaction_ends_a_session_that_is_not_pooled(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    prepare(&mut root);
    let settings = Settings::in_front_of([&*server]).set("limits.timeout_idle_transaction", "1s");
    for settings in [settings.clone(), settings.set("script.file", SCRIPT)] {
        for login in [
            Login::app(),
            Login::app().over_tls(),
            Login::app().compressed(false),
        ] {
            let proxy = Proxy::start(&settings);
            let mut conn = proxy.connect_as(&login);
            let mut other = proxy.connect_as(&login);
            begin(&mut conn);
            proxy.wait_event("idle_transaction", &[]);
            assert_rolled_back(&mut root);
            let reply = conn.query("COMMIT");
            let error = reply.error().unwrap();
            assert_eq!(error.code, 4031, "{error}");
            assert!(error.text.contains("timeout_idle_transaction"), "{error}");
            assert!(conn.is_closed_by_server());
            // It was idle for as long, outside of a transaction.
            assert_eq!(other.value("SELECT 1"), "1");
        }
    }
}

fn more_than_a_transaction_ends_a_pooled_session(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    prepare(&mut root);
    let settings = Settings::pooled(&server, 1).set("limits.timeout_idle_transaction", "1s");
    let proxy = Proxy::start(&settings);
    let (mut conn, gone) = (proxy.connect(), proxy.connect());
    conn.run("CREATE TEMPORARY TABLE d.tt (n INT)");
    begin(&mut conn);
    proxy.wait_event("idle_transaction", &[]);
    assert_rolled_back(&mut root);
    let reply = conn.query("SELECT * FROM d.tt");
    let error = reply.error().unwrap();
    assert_eq!(error.code, 4031, "{error}");
    assert!(error.text.contains("tt"), "it names what is lost: {error}");
    assert!(conn.is_closed_by_server());
    drop(gone);
}

fn an_account_and_a_listener_have_limits_of_their_own(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    prepare(&mut root);
    root.run(&format!("CREATE USER slow@'%' IDENTIFIED BY '{PASSWORD}'"));
    root.run("GRANT ALL ON d.* TO slow@'%'");
    let port = e2e::free_port();
    let password = format!("{PASSWORD:?}");
    let settings = Settings::pooled(&server, 4)
        .set("backend_tls.mode", "preferred")
        .set("limits.timeout_idle_transaction", "1h")
        .listener_with(
            format!("127.0.0.1:{port}"),
            &[("timeout_idle_transaction", "\"1s\"")],
        )
        .account_with(
            "slow",
            &[("password", &*password), ("timeout_idle_transaction", "0")],
        );
    let proxy = Proxy::start(&settings);
    let there = std::net::SocketAddr::from(([127, 0, 0, 1], port)).into();
    let mut slow = RawConn::connect(&there, &Login::user("slow")).unwrap();
    let mut patient = proxy.connect();
    for (conn, row) in [(&mut slow, 7), (&mut patient, 8)] {
        conn.run("BEGIN");
        conn.run(&format!("INSERT INTO d.t VALUES ({row})"));
    }
    let mut hasty = RawConn::connect(&there, &Login::app()).unwrap();
    begin(&mut hasty);
    proxy.wait_event("idle_transaction", &[]);
    assert_eq!(hasty.query("COMMIT").error().unwrap().code, 4031);
    slow.run("COMMIT");
    patient.run("COMMIT");
}
