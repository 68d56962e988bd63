//! Counts under the names that ProxySQL gives them.

use std::collections::BTreeMap;

use e2e::raw::{RawConn, Shape};
use e2e::{Product, Server, Settings, wait};

use super::{Watched, columns, refused, rows};

/// A value of stats_mysql_global.
#[track_caller]
fn global(look: &mut RawConn, name: &str) -> u64 {
    let sql =
        format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
    look.value(&sql).parse().unwrap()
}

both!(figures_of_the_whole_proxy_have_the_names_of_proxysql);
fn figures_of_the_whole_proxy_have_the_names_of_proxysql(product: Product) {
    let watched = Watched::pooled(product);
    let mut look = watched.look();
    let mut clients: Vec<_> = (0..3).map(|_| watched.proxy.connect()).collect();
    for client in &mut clients {
        client.run("SELECT 1");
    }
    clients[0].run("BEGIN");
    wait::until("it is in a transaction", wait::SOON, || {
        global(&mut look, "Active_Transactions") == 1
    });
    for (name, sql) in [
        ("Client_Connections_connected", "SELECT 3"),
        ("MySQL_Thread_Workers", "SELECT 2"),
        ("Questions", "SELECT SUM(statements) FROM times"),
        (
            "Server_Connections_connected",
            "SELECT SUM(idle + in_use + opening + closing) FROM pools",
        ),
        (
            "Server_Connections_created",
            "SELECT SUM(opened) FROM pools",
        ),
        (
            "Server_Connections_aborted",
            "SELECT SUM(open_failures) FROM pools",
        ),
        ("ConnPool_get_conn_success", "SELECT SUM(reused) FROM pools"),
        (
            "ConnPool_get_conn_failure",
            "SELECT SUM(waits + refused) FROM pools",
        ),
        ("MyHGM_myconnpoll_destroy", "SELECT SUM(closed) FROM pools"),
    ] {
        let expected: u64 = look.value(sql).parse().unwrap();
        assert_eq!(global(&mut look, name), expected, "{name}");
    }
    let get = global(&mut look, "MyHGM_myconnpoll_get");
    let (success, failure) = (
        global(&mut look, "ConnPool_get_conn_success"),
        global(&mut look, "ConnPool_get_conn_failure"),
    );
    assert_eq!(get, success + failure);
    assert!(global(&mut look, "Backend_query_time_nsec") > 0);
    let names = ["Variable_Name", "Variable_Value"];
    assert_eq!(
        columns(&mut look, "SELECT * FROM stats.stats_mysql_global"),
        names
    );
}

both!(statements_are_counted_by_command);
fn statements_are_counted_by_command(product: Product) {
    let watched = Watched::pooled(product);
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    for sql in [
        "SELECT 1",
        "SELECT 2",
        "SELECT SLEEP(0.2)",
        "START TRANSACTION",
        "COMMIT",
        "SET @a = 1",
        "DO 1",
    ] {
        client.run(sql);
    }
    let sql = "SELECT * FROM stats_mysql_commands_counters ORDER BY Command";
    let found = rows(&mut look, sql);
    let counted: Vec<_> = (found.iter())
        .map(|row| (&*row["Command"], &*row["Total_cnt"]))
        .collect();
    assert_eq!(
        counted,
        [
            ("COMMIT", "1"),
            ("SELECT", "3"),
            ("SET", "1"),
            ("START_TRANSACTION", "1"),
            ("UNKNOWN", "1"),
        ]
    );
    let names = columns(&mut look, sql);
    let steps = |row: &BTreeMap<String, String>, names: &[String]| -> u64 {
        names.iter().map(|it| row[it].parse::<u64>().unwrap()).sum()
    };
    for row in &found {
        let total: u64 = row["Total_cnt"].parse().unwrap();
        assert_eq!(steps(row, &names[3..]), total, "{row:?}");
    }
    let select = &found[1];
    // The statement has slept longer than 100 ms, and its time is counted there.
    assert_eq!(names[9], "cnt_100ms");
    assert!(steps(select, &names[3..=9]) <= 2, "{select:?}");
    assert!(select["Total_Time_us"].parse::<u64>().unwrap() >= 200_000);
}

both!(bytes_of_statements_and_replies_are_counted);
fn bytes_of_statements_and_replies_are_counted(product: Product) {
    let watched = Watched::pooled(product);
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    let mut bytes = || -> (u64, u64) {
        let sql = "SELECT Bytes_data_sent, Bytes_data_recv FROM stats_mysql_connection_pool";
        let row = look.run(sql).texts().remove(0);
        let global = |name| global(&mut look, &format!("Queries_backends_bytes_{name}"));
        let (sent, received) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        assert_eq!((["sent", "recv"]).map(global), [sent, received]);
        (sent, received)
    };
    assert_eq!(bytes(), (0, 0));
    client.run("SELECT 1");
    let (small, reply) = bytes();
    // A packet header, a command byte, and perhaps an empty list of query attributes.
    assert!((13..=15).contains(&small), "{small}");
    assert!((40..=150).contains(&reply), "{reply}");
    client.run("SELECT REPEAT('x', 100000)");
    let (sent, received) = bytes();
    assert!(sent - small < 50 && received - reply >= 100_000);
    // The statement is longer than the part of a command that the proxy keeps in memory.
    let long = 18 << 20;
    client.run(&format!("SELECT LENGTH('{}') AS n", "x".repeat(long)));
    let (later, received_later) = bytes();
    assert!((later - sent).abs_diff(long as u64) < 100, "{later} {sent}");
    assert!(received_later - received < 200);
}

#[test]
fn bytes_are_counted_for_every_kind_of_session() {
    let server = Server::shared(Product::MariaDb);
    let settings = Settings::pooled(server, 4).set("workers", 1);
    let mut root = server.root();
    root.run("CREATE DATABASE IF NOT EXISTS aboard");
    root.run("CREATE TABLE IF NOT EXISTS aboard.t (id INT PRIMARY KEY)");
    let watched = Watched::start(settings.set("routing.lanes", "reads"));
    let mut look = watched.look();
    let mut clients: Vec<_> = (0..8).map(|_| watched.proxy.connect()).collect();
    let ridden = "SELECT ifnull(SUM(statements), 0) FROM times WHERE way = 'lane'";
    wait::until("somebody has ridden", wait::SOON, || {
        for client in &mut clients {
            client
                .send_query("SELECT id FROM aboard.t WHERE id = 3")
                .unwrap();
        }
        for client in &mut clients {
            client.reply(Shape::Results);
        }
        look.value(ridden) != "0"
    });
    // Equal statements have equal lengths, whichever kind of session sends them.
    let sql = "SELECT COUNT(DISTINCT bytes_sent / statements), COUNT(DISTINCT bytes_received / statements), \
               MIN(bytes_sent / statements) >= 20 FROM times WHERE statements > 0";
    // The last statements are counted after their replies were sent.
    wait::until("all are counted alike", wait::SOON, || {
        look.run(sql).texts() == [["1", "1", "1"]]
    });
    let settings = Settings::in_front_of([server]).set("statement_stats.transparent", true);
    let watched = Watched::start(settings);
    watched.proxy.connect().run("SELECT REPEAT('x', 5000)");
    let sql = "SELECT bytes_sent > 25, bytes_received > 5000 FROM times WHERE way = 'relayed'";
    let mut look = watched.look();
    wait::until("it is counted", wait::SOON, || {
        look.run(sql).texts() == [["1", "1"]]
    });
}

both!(counts_of_pools_can_be_reset);
fn counts_of_pools_can_be_reset(product: Product) {
    let watched = Watched::pooled(product);
    let (mut root, mut look) = (watched.root(), watched.look());
    let mut clients: Vec<_> = (0..4).map(|_| watched.proxy.connect()).collect();
    for client in &mut clients {
        client.run("BEGIN");
        client.run("SELECT 1");
    }
    for client in &mut clients[1..] {
        client.run("COMMIT");
    }
    wait::until("one is in use", wait::SOON, || {
        look.value("SELECT SUM(in_use) FROM pools") == "1"
    });
    let counts = "SELECT Queries, ConnOK FROM stats_mysql_connection_pool";
    let before = look.run(counts).texts().remove(0);
    assert_eq!(before[0], "11");
    assert_eq!(look.run(counts).texts(), [before]);
    root.run("FLUSH STATUS");
    let after = rows(&mut look, "SELECT * FROM stats_mysql_connection_pool").remove(0);
    for name in [
        "ConnOK",
        "ConnERR",
        "Queries",
        "Bytes_data_sent",
        "Bytes_data_recv",
    ] {
        assert_eq!(after[name], "0", "{name}");
    }
    assert_eq!((&*after["ConnUsed"], &*after["MaxConnUsed"]), ("1", "1"));
    assert_eq!(look.value("SELECT COUNT(*) FROM times"), "0");
    clients[0].run("COMMIT");
    assert_eq!(look.run(counts).texts(), [["1", "0"]]);
}

#[test]
fn runtime_tables_show_the_configuration_and_are_read_only() {
    let settings = Settings::default()
        .backend_with("127.0.0.1:7", &[("name", "\"b\""), ("weight", "5")])
        .account("app", "secret")
        .account_with("batch", &[("connections_max", "7")])
        .rule("10 reads", &[("kind", "[\"SELECT\"]"), ("log", "true")])
        .rule(
            "refused",
            &[
                ("regex", "\"^DROP\""),
                ("user", "[\"a\", \"b\"]"),
                ("refuse", "\"not here\""),
            ],
        );
    let watched = Watched::start(settings);
    let mut root = watched.root();
    let servers = "SELECT hostgroup_id, hostname, port, weight, comment FROM runtime_mysql_servers";
    assert_eq!(
        root.run(servers).texts(),
        [["0", "127.0.0.1", "7", "5", "b"]]
    );
    let users = "SELECT username, password, max_connections FROM runtime_mysql_users ORDER BY 1";
    assert_eq!(
        root.run(users).texts(),
        [["app", "NULL", "0"], ["batch", "NULL", "7"]]
    );
    let rules = "SELECT rule_id, comment, username, match_pattern, error_msg, log, attributes \
                 FROM runtime_mysql_query_rules";
    let kind = r#"{"kind":"[\"SELECT\"]"}"#;
    assert_eq!(
        root.run(rules).texts(),
        [
            ["10", "reads", "NULL", "NULL", "NULL", "1", kind],
            [
                "NULL",
                "refused",
                r#"["a","b"]"#,
                "^DROP",
                "not here",
                "0",
                ""
            ],
        ]
    );
    root.run("UPDATE backends SET weight = 6");
    root.run("DELETE FROM rules WHERE rule = 'refused'");
    assert_eq!(root.run(servers).texts()[0][3], "6");
    assert_eq!(root.run(rules).texts().len(), 1);
    for table in ["servers", "users", "query_rules"] {
        let sql = format!("DELETE FROM runtime_mysql_{table}");
        assert_eq!(refused(&mut root, &sql), 1142, "{sql}");
    }
}
