//! The examples of the manual's page about `pilotfish`: each is run, and does what the page says.

use std::collections::BTreeMap;
use std::time::Duration;

use e2e::raw::{Address, Execute, Param};
use e2e::wait::until;
use e2e::{Cluster, Leased, PASSWORD};

use super::*;

both! {
    the_ledger_is_closed
    executions_are_logged
    reports_go_to_replicas
    a_quota_is_looked_up
    writers_wait_for_maintenance
    addresses_are_masked
    a_session_has_its_history
    the_limit_example_refuses_a_guest_that_is_too_fast
    the_heartbeat_example_logs_statement_counts
    the_kinds_example_counts_statements_by_kind
}

const PAGE: &str = include_str!("../../../docs/manual/src/pilotfish-lua.md");

/// The page's scripts, by the name in their first line.
fn examples() -> BTreeMap<&'static str, &'static str> {
    let blocks = PAGE.split("```lua\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap());
    let named = blocks.map(|block| {
        let name = block.strip_prefix("-- ").unwrap();
        (name.split(".lua:").next().unwrap(), block)
    });
    named.collect()
}

fn example(name: &str) -> &'static str {
    examples()[name]
}

#[test]
fn every_example_is_run() {
    let run = [
        "protect",
        "executions",
        "reports",
        "quota",
        "maintenance",
        "mask",
        "history",
        "limit",
        "heartbeat",
        "kinds",
    ];
    let names: Vec<_> = examples().into_keys().collect();
    let mut run = run.to_vec();
    run.sort_unstable();
    assert_eq!(names, run);
}

fn pooled(product: Product, name: &str) -> Scripted {
    Scripted::with(Settings::pooled(Server::shared(product), 4), example(name))
}

fn error(conn: &mut RawConn, sql: &str) -> String {
    conn.query(sql).error().unwrap().text.clone()
}

fn the_ledger_is_closed(product: Product) {
    let scripted = pooled(product, "protect");
    let mut conn = scripted.connect();
    assert_eq!(
        error(&mut conn, "DELETE FROM shop.ledger"),
        "the ledger is closed"
    );
    assert_ne!(
        error(&mut conn, "SELECT * FROM shop.ledger"),
        "the ledger is closed"
    );
    assert_eq!(conn.value("SELECT 7"), "7");
}

fn executions_are_logged(product: Product) {
    let scripted = pooled(product, "executions");
    let mut conn = scripted.connect();
    let statement = conn.prepare("SELECT ? + 1, ?").statement();
    conn.execute(&Execute::new(statement, &[Param::Int(41), Param::Null]));
    scripted
        .proxy
        .wait_logged(&["executes", "SELECT ? + 1, ?", "41, nil"]);
}

/// A primary and a replica that can be told apart, with these tables besides.
fn cluster(product: Product, statements: &[&str]) -> Leased {
    let cluster = Cluster::lease(product, 1);
    cluster.tell_apart(statements);
    cluster
}

fn in_front_of(cluster: &Cluster, name: &str) -> Scripted {
    let settings = Settings::of_cluster(cluster)
        .account("app", PASSWORD)
        .set("routing.replicas", "primary")
        .set("health.replication_interval", "50ms");
    let scripted = Scripted::with(settings, example(name));
    scripted
        .proxy
        .wait_event("backend_up", &["backend=\"replica1\""]);
    scripted
}

fn reports_go_to_replicas(product: Product) {
    let cluster = cluster(product, &["CREATE TABLE d.orders AS SELECT 1 AS n"]);
    let scripted = in_front_of(&cluster, "reports");
    let mut conn = scripted.connect_as(&Login::app().schema("d"));
    assert_eq!(conn.value("SELECT name FROM whoami"), "primary");
    assert_eq!(conn.value("SELECT name FROM whoami, orders"), "replica1");
}

fn a_quota_is_looked_up(product: Product) {
    let cluster = cluster(
        product,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.quotas (user VARCHAR(80) PRIMARY KEY, rows_left INT)",
            "CREATE TABLE shop.t (n INT)",
            "INSERT INTO shop.quotas VALUES ('app', 1)",
        ],
    );
    let scripted = in_front_of(&cluster, "quota");
    let mut conn = scripted.connect();
    conn.run("INSERT INTO shop.t VALUES (1)");
    conn.run("UPDATE shop.quotas SET rows_left = 0");
    assert_eq!(
        error(&mut conn, "INSERT INTO shop.t VALUES (2)"),
        "your quota is used up"
    );
    assert_eq!(conn.value("SELECT COUNT(*) FROM shop.t"), "1");
}

fn writers_wait_for_maintenance(product: Product) {
    let scripted = pooled(product, "maintenance");
    let mut other = scripted.connect();
    let mut conn = scripted.connect();
    other.run("MAINTENANCE ON");
    conn.send_query("DELETE FROM nowhere.at_all").unwrap();
    assert_eq!(other.value("SELECT 7"), "7");
    assert!(!conn.is_answered_within(Duration::from_millis(100)));
    other.run("MAINTENANCE OFF");
    let reply = conn.reply(Shape::Results);
    assert!([1146, 1049, 1142].contains(&reply.error().unwrap().code));
}

fn addresses_are_masked(product: Product) {
    let scripted = pooled(product, "mask");
    let mut conn = scripted.connect();
    let reply = conn.run("SELECT 'a@example.org' AS email, 'x' AS name UNION ALL SELECT NULL, 'y'");
    assert_eq!(rows(&reply), ["a***|x", "NULL|y"]);
}

fn a_session_has_its_history(product: Product) {
    let scripted = pooled(product, "history");
    let (mut one, mut other) = (scripted.connect(), scripted.connect());
    for number in 1..=12 {
        one.run(&format!("SELECT {number}"));
    }
    other.run("SELECT 'mine'");
    let kept: Vec<String> = (3..=12).map(|number| format!("SELECT {number}")).collect();
    assert_eq!(rows(&one.run("SHOW HISTORY")), kept);
    assert_eq!(rows(&other.run("show history")), ["SELECT 'mine'"]);
}

fn the_limit_example_refuses_a_guest_that_is_too_fast(product: Product) {
    let script = example("limit").replace("guest", "app");
    let scripted = Scripted::with(Settings::pooled(Server::shared(product), 4), &script);
    let mut conns: Vec<RawConn> = (0..3).map(|_| scripted.connect()).collect();
    for conn in &mut conns {
        assert_eq!(conn.value("SELECT 7"), "7");
    }
    assert_eq!(error(&mut conns[0], "SELECT 7"), "not so fast");
}

fn the_heartbeat_example_logs_statement_counts(product: Product) {
    let scripted = pooled(product, "heartbeat");
    scripted.connect().run("SELECT 7");
    scripted.proxy.wait_logged(&["heartbeat", "statements"]);
}

fn the_kinds_example_counts_statements_by_kind(product: Product) {
    let port = e2e::free_port();
    let settings = Settings::pooled(Server::shared(product), 4).admin_on(port);
    let scripted = Scripted::with(settings, example("kinds"));
    let mut conn = scripted.connect();
    conn.run("SELECT 7");
    conn.run("DO 1");
    let address = Address::from(std::net::SocketAddr::from(([127, 0, 0, 1], port)));
    let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
    let counted = "SELECT value FROM script_metrics WHERE labels = 'kind=SELECT'";
    until("the count", e2e::wait::SOON, || admin.value(counted) == "1");
}
