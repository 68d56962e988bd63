//! The tables show what the proxy has done.

use std::collections::BTreeSet;

use e2e::raw::{Login, RawConn, Shape};
use e2e::{PASSWORD, Product, Server, Settings, wait};

use super::{Watched, columns, refused, rows};

/// Connects clients until both workers have one.
fn on_both_workers(watched: &Watched, look: &mut RawConn) -> Vec<RawConn> {
    let mut clients = Vec::new();
    wait::until("both workers have sessions", wait::SOON, || {
        clients.push(watched.proxy.connect());
        look.value("SELECT COUNT(DISTINCT worker) FROM sessions") == "2"
    });
    clients
}

both!(sessions_of_all_workers_are_seen);
fn sessions_of_all_workers_are_seen(product: Product) {
    let watched = Watched::pooled(product);
    let mut look = watched.look();
    let mut clients = on_both_workers(&watched, &mut look);
    let seen: BTreeSet<u32> = (look.run("SELECT id FROM sessions").texts().iter())
        .map(|row| row[0].parse().unwrap())
        .collect();
    let expected = clients.iter().map(|client| client.id).collect();
    assert_eq!(seen, expected);
    let one = &clients[0];
    let row = rows(
        &mut look,
        &format!("SELECT * FROM sessions WHERE id = {}", one.id),
    );
    let row = &row[0];
    assert_eq!(row["user"], "app");
    assert_eq!(row["state"], "idle");
    assert_eq!(row["mode"], "statement");
    assert_eq!(row["pins"], "NULL");
    assert_eq!(row["backend"], "NULL");
    assert_eq!(row["listener"], watched.proxy.tcp().to_string());
    assert!(row["client"].starts_with("127.0.0.1:"));
    let counted = look.value("SELECT SUM(sessions) FROM workers");
    assert_eq!(counted, clients.len().to_string());
    clients.pop().unwrap().quit();
    let left = clients.len().to_string();
    wait::until("it is gone", wait::SOON, || {
        look.value("SELECT COUNT(*) FROM sessions") == left
    });
}

both!(a_pinned_session_is_seen_with_its_pin);
fn a_pinned_session_is_seen_with_its_pin(product: Product) {
    let watched = Watched::pooled(product);
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    let ask = format!(
        "SELECT ifnull(pins, '-'), in_transaction, ifnull(backend, '-'), ifnull(db, '-') FROM sessions \
         WHERE id = {}",
        client.id
    );
    let backend = Server::shared(product).tcp().to_string();
    let mut is = |expected: [&str; 4]| {
        let expected = expected.map(str::to_owned);
        wait::until(&format!("{expected:?}"), wait::SOON, || {
            look.run(&ask).texts() == [expected.to_vec()]
        });
    };
    is(["-", "0", "-", "-"]);
    client.run("BEGIN");
    is(["transaction", "1", &backend, "-"]);
    client.run("COMMIT");
    is(["-", "0", "-", "-"]);
    client.run("CREATE DATABASE IF NOT EXISTS admin_pins");
    client.run("USE admin_pins");
    is(["-", "0", "-", "admin_pins"]);
    client.run("CREATE TEMPORARY TABLE t (n INT)");
    is(["temporary_table", "0", &backend, "admin_pins"]);
    client.run("DROP TEMPORARY TABLE t");
    is(["-", "0", "-", "admin_pins"]);
    client.run("DROP DATABASE admin_pins");
}

both!(pools_and_backends_show_their_users);
fn pools_and_backends_show_their_users(product: Product) {
    let watched = Watched::pooled(product);
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    for sql in ["SELECT 1", "BEGIN", "SELECT 2"] {
        client.run(sql);
    }
    let backend = Server::shared(product).tcp().to_string();
    wait::until("a connection is in use", wait::SOON, || {
        look.value("SELECT SUM(in_use) FROM pools") == "1"
    });
    wait::until("the first look is over", wait::SOON, || {
        look.value("SELECT state FROM backends") == "up"
    });
    let pool = &rows(&mut look, "SELECT * FROM pools")[0];
    assert_eq!(pool["backend"], backend);
    assert_eq!(pool["account"], "'app'@'%'");
    assert_eq!((&*pool["opened"], &*pool["waiting"]), ("1", "0"));
    let row = &rows(&mut look, "SELECT * FROM backends")[0];
    assert_eq!(
        (&*row["backend_ndx"], &*row["state"], &*row["type"]),
        ("1", "up", "rw")
    );
    assert_eq!(
        (&*row["connected_clients"], &*row["address"]),
        ("1", &*backend)
    );
    client.run("COMMIT");
    let row = &rows(&mut look, "SELECT * FROM stats_mysql_connection_pool")[0];
    assert_eq!(
        (&*row["status"], &*row["ConnOK"], &*row["ConnERR"]),
        ("ONLINE", "1", "0")
    );
    let row = &rows(&mut look, "SELECT * FROM runtime_mysql_servers")[0];
    assert_eq!(row["port"], Server::shared(product).port().to_string());
    let statements: u64 = look
        .value("SELECT SUM(statements) FROM times")
        .parse()
        .unwrap();
    assert!(statements >= 3, "{statements}");
    // Tables can be joined, grouped and sorted.
    let sql = "SELECT b.name, count(s.id) n FROM backends b JOIN listeners l ON l.purpose = 'clients' \
               LEFT JOIN sessions s ON s.listener = l.address GROUP BY b.name HAVING n > 0 ORDER BY n DESC LIMIT 5";
    assert_eq!(look.run(sql).texts(), [[backend, "1".to_owned()]]);
}

// If a session's login passes through, its client does not know the id that the proxy gives to the session.
both!(sessions_that_are_not_pooled_are_seen_and_killed);
fn sessions_that_are_not_pooled_are_seen_and_killed(product: Product) {
    let server = Server::shared(product);
    let watched = Watched::start(Settings::in_front_of([server]));
    let mut root = watched.root();
    let mut client = watched.proxy.connect();
    let row = &rows(&mut root, "SELECT * FROM sessions")[0];
    assert_eq!((&*row["user"], &*row["mode"]), ("app", "transparent"));
    assert_eq!(row["backend"], server.tcp().to_string());
    assert_eq!(row["thread_id"], client.id.to_string());
    client.run("BEGIN");
    let in_transaction = "SELECT in_transaction FROM sessions";
    wait::until("it is in a transaction", wait::SOON, || {
        root.value(in_transaction) == "1"
    });
    let id = &row["id"];
    assert_eq!(refused(&mut root, &format!("KILL QUERY {id}")), 1105);
    root.run(&format!("KILL {id}"));
    assert!(
        client
            .try_query("SELECT 1")
            .map_or(true, |it| it.error().is_some())
    );
    wait::until("it is gone", wait::SOON, || {
        root.value("SELECT COUNT(*) FROM sessions") == "0"
    });
}

both!(statements_and_sessions_are_killed_by_users_with_the_privilege);
fn statements_and_sessions_are_killed_by_users_with_the_privilege(product: Product) {
    let watched = Watched::pooled(product);
    let (mut root, mut look) = (watched.root(), watched.look());
    let mut client = watched.proxy.connect();
    let (id, running) = (
        client.id,
        "SELECT COUNT(*) FROM sessions WHERE state = 'running'",
    );
    client
        .send_query("SELECT SLEEP(60) FROM (SELECT 1 UNION SELECT 2) AS killed_by_admin")
        .unwrap();
    wait::until("it runs", wait::SOON, || look.value(running) == "1");
    assert_eq!(refused(&mut look, &format!("KILL QUERY {id}")), 1227);
    // The statement may still be on its way to the backend.
    let mut server = Server::shared(product).root();
    let sleeps = "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep' \
                  AND info LIKE '%AS killed_by_admin'";
    wait::until("it sleeps", wait::SOON, || server.value(sleeps) != "0");
    root.run(&format!("KILL QUERY {id}"));
    assert_eq!(client.reply(Shape::Results).error().unwrap().code, 1317);
    assert_eq!(client.value("SELECT 1"), "1");
    root.run(&format!("KILL {id}"));
    assert!(
        client
            .try_query("SELECT 1")
            .map_or(true, |it| it.error().is_some())
    );
    assert_eq!(refused(&mut root, "KILL 12"), 1094);
    watched.proxy.wait_event("admin_kill", &["root"]);
}

#[test]
fn settings_are_shown_without_secrets() {
    let watched = Watched::start(
        Settings::default()
            .backend_with("127.0.0.1:9", &[("name", "\"it's; DROP TABLE x\"")])
            .account("app", "hush-hush")
            .set("health.monitor_user", "watch")
            .set("health.monitor_password", "hush-hush"),
    );
    let mut look = watched.look();
    assert_eq!(
        look.value("SELECT value FROM settings WHERE name = 'workers'"),
        "2"
    );
    let sql = "SELECT value FROM settings WHERE name LIKE '%password' AND value <> ''";
    let secrets = look.run(sql).texts();
    assert!(secrets.len() >= 4, "{secrets:?}");
    for table in ["settings", "proxy_config", "variables", "accounts"] {
        let all = look.run(&format!("SELECT * FROM {table}")).texts();
        let all = all.concat().join(" ");
        assert!(
            !all.contains("hush-hush") && !all.contains("all\""),
            "{table}"
        );
    }
    // Names are values, whatever characters they have.
    assert_eq!(
        look.value("SELECT name FROM backends"),
        "it's; DROP TABLE x"
    );
    let accounts = look
        .run("SELECT user, host, source, login FROM accounts")
        .texts();
    assert_eq!(accounts, [["app", "%", "configured", "answered"]]);
}

#[test]
fn each_table_can_be_read_whole_and_is_described() {
    let watched = Watched::alone();
    let mut look = watched.root();
    let names = "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES";
    for name in look.run(names).texts() {
        let [schema, table] = &name[..] else {
            panic!("{name:?}");
        };
        let found = columns(&mut look, &format!("SELECT * FROM {schema}.{table}"));
        let described = look.run(&format!("DESCRIBE {schema}.{table}")).texts();
        let described: Vec<_> = described.iter().map(|row| row[0].clone()).collect();
        assert_eq!(found, described, "{schema}.{table}");
        look.run(&format!("SELECT count(*) FROM {schema}.{table}"));
        look.run(&format!("SHOW CREATE TABLE {schema}.{table}"));
    }
    assert_eq!(
        look.value("SELECT address FROM listeners WHERE purpose = 'admin'"),
        watched.address().to_string()
    );
}

#[test]
fn rules_and_lanes_are_counted() {
    let server = Server::shared(Product::MariaDb);
    let settings = Settings::pooled(server, 4)
        .rule("counted", &[("kind", "[\"SELECT\"]"), ("dry_run", "true")])
        .set("routing.lanes", "reads");
    let watched = Watched::start(settings);
    let mut look = watched.look();
    let mut client = watched.proxy.connect_as(&Login::app());
    client.run("SELECT 1");
    client.run("SELECT 2");
    let expected = [["counted", "dry_run", "2"]];
    assert_eq!(
        look.run("SELECT rule, effect, hits FROM rules").texts(),
        expected
    );
    let sql = "SELECT SUM(statements) FROM lanes";
    let counted: u64 = look.value(sql).parse().unwrap();
    assert!(counted >= 2, "{counted}");
}

#[test]
fn routes_show_the_rule_and_its_current_backends() {
    let server = Server::shared(Product::MariaDb);
    let socket = server.socket().display().to_string();
    let settings = Settings::default()
        .backend_with(server.tcp(), &[("name", "\"one\"")])
        .backend_with(socket, &[("name", "\"two\""), ("role", "\"replica\"")])
        .account("app", PASSWORD)
        .account_with("batch", &[("routing.replicas", "\"primary\"")])
        .rule("reports", &[("tag", "\"report\""), ("backend", "\"two\"")])
        .rule("counts", &[("log", "true")]);
    let watched = Watched::start(settings);
    let mut admin = watched.root();
    let mut client = watched.proxy.connect();
    client.run("SELECT 1 /* tag: report */");
    let ask = "SELECT * FROM routes ORDER BY route";
    wait::until("it is counted", wait::SOON, || {
        rows(&mut admin, ask)[0]["hits"] == "1"
    });
    let mut shown = |ask: &str| {
        let rows = rows(&mut admin, ask).into_iter();
        let names = [
            "rule",
            "account",
            "replicas",
            "only",
            "writes_to",
            "reads_to",
            "left_out",
            "sessions",
        ];
        let row = |row: std::collections::BTreeMap<String, String>| names.map(|it| row[it].clone());
        rows.map(row).collect::<Vec<_>>()
    };
    let null = "NULL";
    assert_eq!(
        shown(ask),
        [
            ["reports", null, null, "two", "two", "two", null, null],
            [
                null,
                "'batch'@'%'",
                "primary",
                null,
                "one",
                "one",
                null,
                "0"
            ],
            [null, null, "split", null, "one", "two", null, "1"],
        ]
    );
    watched
        .root()
        .run("UPDATE backends SET disabled = 1 WHERE name = 'two'");
    let out = "two is disabled";
    assert_eq!(
        shown(ask),
        [
            ["reports", null, null, "two", null, null, out, null],
            [
                null,
                "'batch'@'%'",
                "primary",
                null,
                "one",
                "one",
                null,
                "0"
            ],
            [null, null, "split", null, "one", "one", out, "1"],
        ]
    );
}
