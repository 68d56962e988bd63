//! Transactions that clients leave idle: they end after `limits.timeout_idle_transaction`, and the client reads why.

use e2e::raw::{Login, RawConn};
use e2e::{Product, Proxy, Server, Settings};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/every_other.lua");

both! {
    an_idle_transaction_ends_a_session_that_is_not_pooled
}

/// Makes the table `d.t`, on which `app` has all privileges.
fn prepare(root: &mut RawConn) {
    root.run("CREATE DATABASE d");
    root.run("CREATE TABLE d.t (n INT PRIMARY KEY) ENGINE=InnoDB");
    root.run("GRANT ALL ON d.* TO app@'%'");
}

fn begin(conn: &mut RawConn) {
    conn.run("BEGIN");
    conn.run("INSERT INTO d.t VALUES (1)");
}

/// Checks that the server has rolled the transaction back, and the row is not locked.
fn assert_rolled_back(root: &mut RawConn) {
    root.run("INSERT INTO d.t VALUES (1)");
    root.run("DELETE FROM d.t");
}

fn an_idle_transaction_ends_a_session_that_is_not_pooled(product: Product) {
    let server = Server::lease(product);
    let mut root = server.root();
    prepare(&mut root);
    let settings = Settings::in_front_of([&*server]).set("limits.timeout_idle_transaction", "1s");
    for settings in [settings.clone(), settings.set("routing.script", SCRIPT)] {
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
            // The other session was idle for the same time, outside of a transaction.
            assert_eq!(other.value("SELECT 1"), "1");
        }
    }
}
