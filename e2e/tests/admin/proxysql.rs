//! What is counted, by the names that ProxySQL has for it.

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
    let shown = look.run("SHOW MYSQL STATUS LIKE 'MySQL_Thread%'").texts();
    assert_eq!(shown, [["MySQL_Thread_Workers", "2"]]);
    let names = ["Variable_name", "Value"];
    assert_eq!(columns(&mut look, "SHOW MYSQL STATUS"), names);
}

#[test]
fn its_own_lists_are_shown() {
    let settings = Settings::default()
        .backend_with("127.0.0.1:7", &[("name", "\"b\"")])
        .backend_with("127.0.0.1:3", &[("name", "\"a\"")])
        .account("zoe", "secret")
        .account("app", "secret");
    let watched = Watched::start(settings);
    let mut look = watched.look();
    let users = rows(&mut look, "SHOW MYSQL USERS");
    let users: Vec<_> = users.iter().map(|it| &*it["username"]).collect();
    assert_eq!(users, ["app", "zoe"]);
    let servers = rows(&mut look, "show mysql servers");
    let ports: Vec<_> = servers.iter().map(|it| &*it["port"]).collect();
    assert_eq!(ports, ["3", "7"]);
    let variables = look.run("SHOW MYSQL VARIABLES").texts();
    assert!(variables.iter().all(|it| it[0].starts_with("mysql-")));
    let like = look.run("SHOW MYSQL VARIABLES LIKE '%max_connections'");
    assert_eq!(like.texts(), [["mysql-max_connections", "20000"]]);
    let of_admin = look.run("SHOW ADMIN VARIABLES").texts();
    assert_eq!(of_admin[0][0], "admin-mysql_ifaces");
    let all = look.run("SHOW ALL VARIABLES").texts();
    assert_eq!(all.len(), variables.len() + of_admin.len());
    assert_eq!(refused(&mut look, "SHOW MYSQL NOTHING"), 1064);
}

#[test]
fn users_and_their_sessions_are_counted() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 2)
        .account_with("batch", &[("connections_max", "7")]);
    let watched = Watched::start(settings);
    let mut look = watched.look();
    let clients: Vec<_> = (0..2).map(|_| watched.proxy.connect()).collect();
    let sql = "SELECT * FROM stats_mysql_users WHERE username IN ('app', 'batch') ORDER BY 1";
    let names = [
        "username",
        "frontend_connections",
        "frontend_max_connections",
    ];
    assert_eq!(columns(&mut look, sql), names);
    let expected = |sessions| [["app", sessions, "0"], ["batch", "0", "7"]];
    assert_eq!(look.run(sql).texts(), expected("2"));
    drop(clients);
    wait::until("they are gone", wait::SOON, || {
        look.run(sql).texts() == expected("0")
    });
    // One whom only the server knows.
    let watched = Watched::start(Settings::in_front_of([Server::shared(Product::MariaDb)]));
    let _client = watched.proxy.connect();
    assert_eq!(watched.look().run(sql).texts(), [["app", "1", "0"]]);
}

both!(statements_are_counted_by_what_they_are);
fn statements_are_counted_by_what_they_are(product: Product) {
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
    // It has slept longer than 100 ms and a quarter.
    assert_eq!(names[9], "cnt_100ms");
    assert!(steps(select, &names[3..=9]) <= 2, "{select:?}");
    assert!(select["Total_Time_us"].parse::<u64>().unwrap() >= 200_000);
}

both!(errors_are_counted_and_begin_anew);
fn errors_are_counted_and_begin_anew(product: Product) {
    let settings = Settings::pooled(Server::shared(product), 4)
        .set("workers", 2)
        .rule(
            "20 no drop",
            &[("regex", "\"^DROP\""), ("refuse", "\"not here\"")],
        );
    let watched = Watched::start(settings);
    let (mut root, mut look) = (watched.root(), watched.look());
    let mut clients: Vec<_> = (0..3).map(|_| watched.proxy.connect()).collect();
    for client in &mut clients {
        client.query("SELECT * FROM nowhere.nothing");
    }
    clients[0].query("DROP TABLE t");
    let sql = "SELECT * FROM stats_mysql_errors ORDER BY hostgroup";
    let names = [
        "hostgroup",
        "hostname",
        "port",
        "username",
        "client_address",
        "schemaname",
        "errno",
        "count_star",
        "first_seen",
        "last_seen",
        "last_error",
    ];
    assert_eq!(columns(&mut look, sql), names);
    let found = look.run(sql).texts();
    let port = Server::shared(product).port().to_string();
    assert_eq!(found[0][..8], ["-1", "", "0", "app", "", "", "1227", "1"]);
    let (errno, count) = (&found[1][6], &found[1][7]);
    assert_eq!(found[1][..6], ["0", "127.0.0.1", &port, "app", "", ""]);
    let ours = "SELECT number, count, message FROM errors WHERE backend IS NOT NULL";
    let ours = look.run(ours).texts();
    assert_eq!(ours, [[errno.clone(), count.clone(), found[1][10].clone()]]);
    assert_eq!(count, "3");
    let seen: Vec<u64> = (8..=9).map(|at| found[1][at].parse().unwrap()).collect();
    assert!(seen[0] <= seen[1] && seen[0] > 1_700_000_000, "{seen:?}");
    let reset = "SELECT * FROM stats_mysql_errors_reset ORDER BY hostgroup";
    assert_eq!(refused(&mut look, reset), 1227);
    // Times are reckoned from now, and may be another second the next time.
    let told = |mut rows: Vec<Vec<String>>| {
        rows.iter_mut().for_each(|row| drop(row.drain(8..=9)));
        rows
    };
    let found = told(found);
    assert_eq!(told(look.run(sql).texts()), found);
    assert_eq!(told(root.run(reset).texts()), found);
    assert!(root.run(reset).texts().is_empty());
    clients[0].query("DROP TABLE t");
    assert_eq!(look.run(sql).texts().len(), 1);
    // Digests have not been touched.
    assert_ne!(look.value("SELECT count(*) FROM digests"), "0");
    root.run("TRUNCATE stats_mysql_errors");
    assert!(look.run(sql).texts().is_empty());
}

#[test]
fn hits_of_rules_are_counted() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 2)
        .rule("10 reads", &[("kind", "[\"SELECT\"]"), ("log", "true")])
        .rule("of no number", &[("kind", "[\"DO\"]"), ("log", "true")]);
    let watched = Watched::start(settings);
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    client.run("SELECT 1");
    client.run("SELECT 2");
    let sql = "SELECT * FROM stats_mysql_query_rules";
    assert_eq!(columns(&mut look, sql), ["rule_id", "hits"]);
    assert_eq!(look.run(sql).texts(), [["10", "2"], ["NULL", "0"]]);
    let joined = "SELECT r.comment, s.hits FROM mysql_query_rules r JOIN stats_mysql_query_rules s USING (rule_id)";
    assert_eq!(look.run(joined).texts(), [["reads", "2"]]);
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
    // A header, a command, and perhaps no attributes.
    assert!((13..=15).contains(&small), "{small}");
    assert!((40..=150).contains(&reply), "{reply}");
    client.run("SELECT REPEAT('x', 100000)");
    let (sent, received) = bytes();
    assert!(sent - small < 50 && received - reply >= 100_000);
    // Longer than what is held of a command.
    let long = 18 << 20;
    client.run(&format!("SELECT LENGTH('{}') AS n", "x".repeat(long)));
    let (later, received_later) = bytes();
    assert!((later - sent).abs_diff(long as u64) < 100, "{later} {sent}");
    assert!(received_later - received < 200);
}

#[test]
fn bytes_are_counted_whichever_way_statements_go() {
    let server = Server::shared(Product::MariaDb);
    let settings = Settings::pooled(server, 4).set("workers", 1);
    let mut root = server.root();
    root.run("CREATE DATABASE IF NOT EXISTS aboard");
    root.run("CREATE TABLE IF NOT EXISTS aboard.t (id INT PRIMARY KEY)");
    let watched = Watched::start(settings.set("pool.lanes", "reads"));
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
    // What is alike is as long, whichever way it goes.
    let sql = "SELECT COUNT(DISTINCT bytes_sent / statements), COUNT(DISTINCT bytes_received / statements), \
               MIN(bytes_sent / statements) >= 20 FROM times WHERE statements > 0";
    // The last ones are counted when their replies have left.
    wait::until("all are counted alike", wait::SOON, || {
        look.run(sql).texts() == [["1", "1", "1"]]
    });
    let settings = Settings::in_front_of([server]).set("insight.transparent", true);
    let watched = Watched::start(settings);
    watched.proxy.connect().run("SELECT REPEAT('x', 5000)");
    let sql = "SELECT bytes_sent > 25, bytes_received > 5000 FROM times WHERE way = 'relayed'";
    let mut look = watched.look();
    wait::until("it is counted", wait::SOON, || {
        look.run(sql).texts() == [["1", "1"]]
    });
}

both!(idle_connections_are_told_one_by_one);
fn idle_connections_are_told_one_by_one(product: Product) {
    let server = Server::shared(product);
    let watched = Watched::start(Settings::pooled(server, 4).set("workers", 2));
    let mut look = watched.look();
    let names = [
        "fd",
        "hostgroup",
        "srv_host",
        "srv_port",
        "user",
        "schema",
        "init_connect",
        "time_zone",
        "sql_mode",
        "autocommit",
        "idle_ms",
        "statistics",
        "mysql_info",
    ];
    let sql = "SELECT * FROM stats_mysql_free_connections";
    assert_eq!(columns(&mut look, sql), names);
    let mut client = watched.proxy.connect();
    client.run("CREATE DATABASE IF NOT EXISTS idle_there");
    client.run("USE idle_there");
    client.run("SET time_zone = '+03:00'");
    client.prepare("SELECT ? + 1");
    client.run("BEGIN");
    let lent = "SELECT COUNT(*) FROM stats_mysql_free_connections";
    let idle = "SELECT SUM(idle) FROM pools";
    assert_eq!(look.value(lent), look.value(idle), "a connection is lent");
    client.run("COMMIT");
    wait::until("nothing is lent", wait::SOON, || {
        look.value("SELECT SUM(in_use) FROM pools") == "0"
    });
    assert_eq!(look.value(lent), look.value(idle));
    let row = &rows(&mut look, &format!("{sql} WHERE time_zone IS NOT NULL"))[0];
    let port = server.port().to_string();
    let shown = [
        "fd",
        "hostgroup",
        "srv_host",
        "srv_port",
        "user",
        "schema",
        "time_zone",
    ];
    assert_eq!(
        shown.map(|name| &*row[name]),
        [
            "NULL",
            "0",
            "127.0.0.1",
            &port,
            "app",
            "idle_there",
            "+03:00"
        ]
    );
    let of_row = "WHERE time_zone IS NOT NULL";
    let mut json = |column: &str, path: &str| {
        let sql = format!(
            "SELECT json_extract({column}, '$.{path}') FROM stats_mysql_free_connections {of_row}"
        );
        look.value(&sql)
    };
    assert_eq!(json("statistics", "prepared"), "1");
    let age: u64 = json("statistics", "age_ms").parse().unwrap();
    let rested: u64 = row["idle_ms"].parse().unwrap();
    assert!(rested <= age, "{row:?}");
    assert_eq!(json("mysql_info", "account"), "'app'@'%'");
    let mut root = server.root();
    assert_eq!(json("mysql_info", "server_version"), root.version);
    let id = json("mysql_info", "thread_id");
    let there = "SELECT db FROM information_schema.processlist WHERE id";
    assert_eq!(root.value(&format!("{there} = {id}")), "idle_there");
}

both!(counts_of_pools_begin_anew_when_they_have_been_read);
fn counts_of_pools_begin_anew_when_they_have_been_read(product: Product) {
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
    let plain = "SELECT * FROM stats_mysql_connection_pool";
    let reset = "SELECT * FROM stats_mysql_connection_pool_reset";
    let names = columns(&mut look, plain);
    assert_eq!(refused(&mut look, reset), 1227);
    let latency = names.iter().position(|it| it == "Latency_us").unwrap();
    let counted = |conn: &mut RawConn, sql: &str| {
        let mut row = conn.run(sql).texts().remove(0);
        // The proxy asks meanwhile.
        row.remove(latency);
        row
    };
    let before = counted(&mut look, plain);
    assert_eq!(
        before[names.iter().position(|it| it == "Queries").unwrap()],
        "11"
    );
    assert_eq!(counted(&mut root, reset), before);
    let after = rows(&mut look, plain).remove(0);
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
    let after = rows(&mut look, plain).remove(0);
    assert_eq!((&*after["Queries"], &*after["ConnOK"]), ("1", "0"));
}
