//! Counts of statements, by digest and by error.

use std::collections::BTreeMap;

use e2e::raw::{Execute, Login, Param, RawConn, Shape, capability};
use e2e::{Folder, Product, Server, Settings, wait};

use super::{Watched, refused, rows};

const SCHEMA: &str = "insight";

/// A table of three rows.
fn with_data(product: Product) -> &'static Server {
    let server = Server::shared(product);
    let mut root = server.root();
    root.run(&format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"));
    root.run(&format!(
        "CREATE TABLE IF NOT EXISTS {SCHEMA}.t (id INT PRIMARY KEY, c VARCHAR(20))"
    ));
    root.run(&format!(
        "REPLACE INTO {SCHEMA}.t VALUES (1, 'one'), (2, 'two'), (3, 'three')"
    ));
    server
}

/// The row of a digest's text.
#[track_caller]
fn digest(look: &mut RawConn, text: &str) -> BTreeMap<String, String> {
    let sql = format!("SELECT * FROM digests WHERE digest_text = '{text}'");
    let mut rows = rows(look, &sql);
    match rows.len() {
        1 => rows.remove(0),
        count => panic!("{count} rows of {text:?} among {:?}", look_at(look)),
    }
}

fn look_at(look: &mut RawConn) -> Vec<Vec<String>> {
    let sql =
        "SELECT digest_text, ifnull(db, '-'), account, ifnull(backend, '-'), count FROM digests";
    look.run(sql).texts()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> u64 {
    match row[column].parse() {
        Ok(number) => number,
        Err(_) => panic!("{column}: {row:?}"),
    }
}

both!(statements_that_are_alike_are_counted_together);
fn statements_that_are_alike_are_counted_together(product: Product) {
    let server = with_data(product);
    let watched = Watched::start(Settings::pooled(server, 4).set("workers", 2));
    let mut look = watched.look();
    let mut clients: Vec<_> = (0..4)
        .map(|_| {
            let mut client = watched.proxy.connect();
            client.run(&format!("USE {SCHEMA}"));
            client
        })
        .collect();
    for client in &mut clients {
        for id in 0..5 {
            client.run(&format!("select c from t where id={id}"));
        }
    }
    let row = digest(&mut look, "SELECT c FROM t WHERE id = ?");
    assert_eq!((number(&row, "count"), number(&row, "errors")), (20, 0));
    assert_eq!(number(&row, "rows_sent"), 12);
    assert_eq!((&*row["db"], &*row["account"]), (SCHEMA, "'app'@'%'"));
    assert_eq!(row["backend"], server.tcp().to_string());
    assert_eq!(row["sample"], "NULL");
    // A packet header, a command byte and 26 characters; more if the client sends query attributes.
    assert!(number(&row, "bytes_in") >= 20 * 31);
    assert!(number(&row, "bytes_out") >= 12 * 9 + 20 * 40);
    let us = |column| number(&row, column);
    assert!(us("backend_us") > 0 && us("first_byte_us") <= us("backend_us"));
    let sum = us("proxy_us") + us("queue_us") + us("backend_us");
    assert!(us("total_us").abs_diff(sum) <= 3, "{row:?}");
    let order = ["min_us", "p50_us", "p95_us", "p99_us", "max_us"].map(us);
    assert!(order.is_sorted(), "{order:?}");
    assert!(row["first_seen"] <= row["last_seen"] && row["first_seen"].starts_with("20"));

    let client = &mut clients[0];
    client.run("UPDATE t SET c = 'x' WHERE id IN (1, 2)");
    let row = digest(&mut look, "UPDATE t SET c = ? WHERE id IN (...)");
    assert_eq!(
        (number(&row, "rows_affected"), number(&row, "rows_sent")),
        (2, 0)
    );
    // All results of a statement are counted together.
    let mut multi = watched
        .proxy
        .connect_as(&Login::app().and(capability::MULTI_STATEMENTS));
    multi.run("SELECT 1; SELECT 2 UNION SELECT 3");
    let row = digest(&mut look, "SELECT ?; SELECT ? UNION SELECT ?");
    assert_eq!((number(&row, "rows_sent"), &*row["db"]), (3, "NULL"));
    // Changed rows are counted even if another result follows.
    let mut root = watched.root();
    let update = |value: &str| format!("UPDATE {SCHEMA}.t SET c = '{value}' WHERE id IN (1, 2)");
    for (behind, affected) in [
        ("SELECT 1".to_owned(), 2),
        ("DO 0".to_owned(), 2),
        (update("z"), 4),
        ("SELECT nothing".to_owned(), 2),
    ] {
        root.run("RESET DIGESTS");
        multi.query(&format!("{}; {behind}", update(&behind[..2])));
        let row = &rows(
            &mut look,
            "SELECT * FROM digests WHERE digest_text LIKE 'UPDATE%'",
        )[0];
        assert_eq!(number(row, "rows_affected"), affected, "{row:?}");
    }
}

both!(prepared_statements_count_when_they_are_executed);
fn prepared_statements_count_when_they_are_executed(product: Product) {
    let watched = Watched::start(Settings::pooled(with_data(product), 4));
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    client.run(&format!("USE {SCHEMA}"));
    let id = client.prepare("SELECT id FROM t WHERE id > ?").statement();
    assert!(
        rows(
            &mut look,
            "SELECT * FROM digests WHERE digest_text LIKE 'SELECT id%'"
        )
        .is_empty()
    );
    for from in 0..3 {
        client.execute(&Execute::new(id, &[Param::Int(from)]));
    }
    let row = digest(&mut look, "SELECT id FROM t WHERE id > ?");
    assert_eq!((number(&row, "count"), number(&row, "rows_sent")), (3, 6));
}

both!(statements_on_lanes_are_counted);
fn statements_on_lanes_are_counted(product: Product) {
    let settings = Settings::pooled(with_data(product), 4).set("workers", 1);
    let watched = Watched::start(settings.set("routing.lanes", "reads"));
    let mut look = watched.look();
    let mut clients: Vec<_> = (0..8).map(|_| watched.proxy.connect()).collect();
    let sql = format!("SELECT c FROM {SCHEMA}.t WHERE id = 3");
    let ridden = "SELECT ifnull(SUM(statements), 0) FROM times WHERE way = 'lane'";
    let mut said = 0;
    wait::until("somebody has ridden", wait::SOON, || {
        for client in &mut clients {
            client.send_query(&sql).unwrap();
        }
        for client in &mut clients {
            assert_eq!(
                client.reply(Shape::Results).text(0, 0).as_deref(),
                Some("three")
            );
            said += 1;
        }
        look.value(ridden) != "0"
    });
    // A lane forwards replies, and the sessions count them a moment later.
    let text = format!("SELECT c FROM {SCHEMA}.t WHERE id = ?");
    wait::until("all are counted", wait::SOON, || {
        let row = digest(&mut look, &text);
        (number(&row, "count"), number(&row, "rows_sent")) == (said, said)
    });
}

both!(errors_are_counted_without_the_values_that_they_quote);
fn errors_are_counted_without_the_values_that_they_quote(product: Product) {
    let server = with_data(product);
    let settings = Settings::pooled(server, 4);
    let watched = Watched::start(settings.clone());
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    client.run(&format!("USE {SCHEMA}"));
    let insert = "INSERT INTO t VALUES (1, 'again')";
    for _ in 0..2 {
        assert_eq!(client.query(insert).error().unwrap().code, 1062);
    }
    client.query("SELECT * FROM nothing");
    let row = digest(&mut look, "INSERT INTO t VALUES (...)");
    assert_eq!((number(&row, "count"), number(&row, "errors")), (2, 2));
    let errors = "SELECT number, sqlstate, account, backend, count FROM errors ORDER BY number";
    let backend = server.tcp().to_string();
    assert_eq!(
        look.run(errors).texts(),
        [
            ["1062", "23000", "'app'@'%'", &backend, "2"],
            ["1146", "42S02", "'app'@'%'", &backend, "1"],
        ]
    );
    let message = "SELECT message FROM errors WHERE number = 1062";
    assert_eq!(look.value(message), "Duplicate entry '...' for key '...'");
    let named = look.value("SELECT message FROM errors WHERE number = 1146");
    assert!(named.contains(&format!("'{SCHEMA}.nothing'")), "{named}");
    // SIGNAL may give any text with any error number.
    for number in [1234, 1062] {
        let said = "no credit for s3cr3t";
        let signal =
            format!("SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = '{said}'");
        assert_eq!(client.query(&signal).error().unwrap().text, said);
        let message = format!("SELECT message FROM errors WHERE number = {number}");
        assert_eq!(look.value(&message), "...");
    }
    watched.proxy.reload(
        &settings
            .admin_on(watched.port)
            .set("statement_stats.include_values", true),
    );
    wait::until("values may be seen", wait::SOON, || {
        client.query(insert);
        look.value(message)
            .starts_with("Duplicate entry '1' for key")
    });
    client.query(insert);
    let row = digest(&mut look, "INSERT INTO t VALUES (...)");
    assert_eq!(row["sample"], insert);
}

#[test]
fn a_statement_that_reaches_no_backend_counts_as_an_error_of_the_proxy() {
    let settings = Settings::pooled(with_data(Product::MariaDb), 1).set("workers", 1);
    let watched = Watched::start(settings.set("pool.timeout_wait", "100ms"));
    let mut look = watched.look();
    let (mut first, mut second) = (watched.proxy.connect(), watched.proxy.connect());
    first.run("BEGIN");
    assert_eq!(second.query("SELECT 7").error().unwrap().code, 1040);
    let row = digest(&mut look, "SELECT ?");
    assert_eq!((&*row["backend"], &*row["errors"]), ("NULL", "1"));
    assert!(number(&row, "queue_us") >= 100_000, "{row:?}");
    let errors = "SELECT number, ifnull(backend, '-') FROM errors";
    assert_eq!(look.run(errors).texts(), [["1040", "-"]]);
}

#[test]
fn statements_that_rules_answer_or_refuse_are_counted_without_a_backend() {
    let settings = Settings::pooled(with_data(Product::MariaDb), 2)
        .set("workers", 1)
        .rule(
            "rows",
            &[
                ("tag", "\"rows\""),
                ("answer", "\"rows\""),
                ("answer_columns", "[\"one\"]"),
                ("answer_rows", "[[\"first\"], [\"second\"]]"),
            ],
        )
        .rule("ok", &[("tag", "\"ok\""), ("answer", "\"ok\"")])
        .rule("no", &[("tag", "\"no\""), ("refuse", "\"not here\"")]);
    let watched = Watched::start(settings);
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    client.run(&format!("USE {SCHEMA}"));
    let id = client
        .prepare("SELECT c, id FROM t /* tag: rows */")
        .statement();
    for _ in 0..3 {
        assert_eq!(
            client.run("SELECT id FROM t /* tag: rows */").texts().len(),
            2
        );
        client.run("SELECT c FROM t /* tag: ok */");
        let reply = client.query("SELECT id, c FROM t /* tag: no */");
        assert_eq!(reply.error().unwrap().code, 1227);
        assert!(client.execute(&Execute::new(id, &[])).error().is_none());
    }
    client.run("SELECT id FROM t /* to a backend */");
    let counts = |text: &str, backend: &str| {
        let sql = format!(
            "SELECT count, errors, rows_sent, bytes_out > 0 FROM digests \
             WHERE digest_text = '{text}' AND ifnull(backend, '-') {backend}"
        );
        watched.look().run(&sql).texts()
    };
    assert_eq!(counts("SELECT id FROM t", "= '-'"), [["3", "0", "6", "1"]]);
    assert_eq!(counts("SELECT id FROM t", "<> '-'"), [["1", "0", "3", "1"]]);
    assert_eq!(counts("SELECT c FROM t", "= '-'"), [["3", "0", "0", "1"]]);
    assert_eq!(
        counts("SELECT id, c FROM t", "= '-'"),
        [["3", "3", "0", "1"]]
    );
    assert_eq!(
        counts("SELECT c, id FROM t", "= '-'"),
        [["3", "0", "6", "1"]]
    );
    let errors = "SELECT number, count, ifnull(backend, '-') FROM errors";
    assert_eq!(look.run(errors).texts(), [["1227", "3", "-"]]);
}

both!(statements_are_counted_by_account);
fn statements_are_counted_by_account(product: Product) {
    let settings = Settings::pooled(with_data(product), 2).set("statement_stats.transparent", true);
    let watched = Watched::start(settings);
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    client.send_query("SELECT SLEEP(60), 'a secret'").unwrap();
    let running = "SELECT id, statement, thread_id FROM sessions WHERE state = 'running'";
    let mut seen = Vec::new();
    wait::until("it is seen to run", wait::SOON, || {
        seen = look.run(running).texts();
        seen.len() == 1 && seen[0][2] != "NULL"
    });
    let [id, statement, thread] = &seen[0][..] else {
        panic!("{seen:?}");
    };
    assert_eq!(*id, client.id.to_string());
    assert!(statement.starts_with("SELECT SLEEP"), "{statement}");
    assert!(!statement.contains("secret"), "{statement}");
    for sql in ["SHOW FULL PROCESSLIST", "SHOW PROCESSLIST"] {
        let all = look.run(sql).texts();
        let info = all.iter().find(|row| row[0] == *id).map(|row| &row[7]);
        assert_eq!(info, Some(statement), "{sql}");
    }
    let at_server = format!("SELECT info FROM information_schema.processlist WHERE id = {thread}");
    let mut server = with_data(product).root();
    // The statement may still be on its way to the backend.
    wait::until("the server has it, whole", wait::SOON, || {
        server.value(&at_server).contains("a secret")
    });
    watched.root().run(&format!("KILL QUERY {id}"));
    client.reply(Shape::Results);
    let idle = "SELECT count(*) FROM sessions WHERE statement IS NOT NULL";
    wait::until("nothing runs", wait::SOON, || look.value(idle) == "0");
}

#[test]
fn statement_stats_can_be_reset() {
    let watched =
        Watched::start(Settings::pooled(with_data(Product::MariaDb), 4).set("workers", 2));
    let (mut root, mut look) = (watched.root(), watched.look());
    let mut client = watched.proxy.connect();
    let said = |client: &mut RawConn| {
        client.run("SELECT 'said'");
        client.query("SELECT * FROM nowhere.nothing");
    };
    said(&mut client);
    let count = "SELECT count(*) FROM digests";
    let errors = "SELECT count(*) FROM errors";
    assert_ne!(look.value(count), "0");
    for sql in ["RESET DIGESTS", "TRUNCATE errors"] {
        assert_eq!(refused(&mut look, sql), 1227, "{sql}");
    }
    root.run("RESET DIGESTS");
    assert_eq!(
        (look.value(count), look.value(errors)),
        ("0".to_owned(), "1".to_owned())
    );
    root.run("TRUNCATE TABLE errors");
    assert_eq!(look.value(errors), "0");
    said(&mut client);
    let of_proxysql = "schemaname, username, digest_text, count_star, sum_rows_sent";
    let plain = format!("SELECT {of_proxysql} FROM stats_mysql_query_digest ORDER BY 3");
    let expected = look.run(&plain).texts();
    assert_eq!(expected[1], ["", "app", "SELECT ?", "1", "1"]);
    // Reading the table does not change it.
    assert_eq!(root.run(&plain).texts(), expected);
}

#[test]
fn memory_is_bounded_and_evictions_are_counted() {
    let settings = Settings::pooled(with_data(Product::MariaDb), 4).set("workers", 1);
    let watched = Watched::start(settings.set("statement_stats.digests_bytes_max", "1MiB"));
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    for name in 0..4000 {
        client.run(&format!("SELECT 1 AS c{name}"));
        if name % 10 == 0 {
            client.run("SELECT 'often'");
        }
    }
    assert_eq!(look.value("SELECT sum(count) FROM digests"), "4400");
    let rest = &rows(&mut look, "SELECT * FROM digests WHERE digest IS NULL")[0];
    assert!(number(rest, "count") > 1000, "{rest:?}");
    assert_eq!(digest(&mut look, "SELECT ?")["count"], "400");
    assert_eq!(look.value("SELECT sum(count) FROM digest_times"), "4400");
    let count = "SELECT sum(count_star) FROM stats.stats_mysql_query_digest";
    assert_eq!(look.value(count), "4400");
}

#[test]
fn no_statement_is_counted_if_statement_stats_are_off() {
    let settings = Settings::pooled(with_data(Product::MariaDb), 4);
    let watched = Watched::start(settings.set("statement_stats.digests", false));
    let mut look = watched.look();
    let mut client = watched.proxy.connect();
    client.run("SELECT 1");
    client.query("SELECT nothing");
    assert_eq!(look.value("SELECT count(*) FROM digests"), "0");
    assert_eq!(look.value("SELECT count(*) FROM errors"), "0");
}

both!(slow_statements_are_kept_one_by_one);
fn slow_statements_are_kept_one_by_one(product: Product) {
    let server = with_data(product);
    let settings = Settings::pooled(server, 4)
        .set("statement_stats.slow_statements", "50ms")
        .set("statement_stats.slow_statements_max", 2)
        .set("workers", 1);
    let watched = Watched::start(settings.clone());
    let (mut root, mut look) = (watched.root(), watched.look());
    let mut client = watched.proxy.connect();
    client.run(&format!("USE {SCHEMA}"));
    for name in ["a", "b", "c"] {
        client.run(&format!("SELECT SLEEP(0.06) AS {name} /* secret */"));
    }
    let sql = "SELECT * FROM slow_statements";
    let kept = rows(&mut look, sql);
    let statements: Vec<_> = kept.iter().map(|row| &*row["statement"]).collect();
    assert_eq!(statements, ["SELECT SLEEP(?) AS c", "SELECT SLEEP(?) AS b"]);
    let row = &kept[0];
    assert_eq!(row["session"], client.id.to_string());
    assert_eq!((&*row["account"], &*row["db"]), ("'app'@'%'", SCHEMA));
    assert_eq!(row["backend"], server.tcp().to_string());
    assert_eq!((&*row["rows_sent"], &*row["error"]), ("1", "NULL"));
    assert!(number(row, "backend_us") >= 60_000, "{row:?}");
    assert!(row["client"].starts_with("127.0.0.1:"));
    let digest = &digest(&mut look, "SELECT SLEEP(?) AS c")["digest"];
    assert_eq!(&row["digest"], digest);
    assert_eq!(refused(&mut look, "RESET SLOW_STATEMENTS"), 1227);
    root.run("RESET SLOW_STATEMENTS");
    assert!(look.run(sql).texts().is_empty());

    let again = settings
        .set("statement_stats.include_values", true)
        .set("statement_stats.digests", false);
    watched.proxy.reload(&again.admin_on(watched.port));
    wait::until("it is seen as it was said", wait::SOON, || {
        client.run("SELECT SLEEP(0.06) AS e");
        let kept = rows(&mut look, sql);
        kept[0]["statement"] == "SELECT SLEEP(0.06) AS e"
    });
}

both!(relayed_statements_are_counted_if_statement_stats_transparent_is_on);
fn relayed_statements_are_counted_if_statement_stats_transparent_is_on(product: Product) {
    let server = with_data(product);
    let login = Login::app().schema(SCHEMA);
    let settings = Settings::in_front_of([server]);
    let watched = Watched::start(settings.clone());
    watched.proxy.connect_as(&login).run("SELECT 1");
    assert_eq!(watched.look().value("SELECT count(*) FROM digests"), "0");

    let folder = Folder::new("files");
    let script = folder.path().join("idle.lua");
    std::fs::write(&script, "function read_query(packet) end\n").unwrap();
    let settings = settings.set("statement_stats.transparent", true);
    for settings in [settings.clone(), settings.set("routing.script", &script)] {
        let watched = Watched::start(settings);
        let mut look = watched.look();
        let mut client = watched.proxy.connect_as(&login);
        for id in 0..3 {
            client.run(&format!("SELECT c FROM t WHERE id = {id}"));
        }
        client.query("SELECT nothing");
        let id = client.prepare("SELECT id FROM t WHERE id > ?").statement();
        for from in 0..2 {
            client.execute(&Execute::new(id, &[Param::Int(from)]));
        }
        client.close_statement(id);
        client.run(&format!("SELECT '{}'", "long".repeat(100_000)));
        client.run("SELECT 'last'");
        wait::until("the last is seen", wait::SOON, || {
            look.value("SELECT count(*) FROM digests WHERE digest_text = 'SELECT ?'") == "1"
        });
        let row = digest(&mut look, "SELECT c FROM t WHERE id = ?");
        assert_eq!((number(&row, "count"), &*row["account"]), (3, "app"));
        assert_eq!(
            (&*row["db"], &*row["backend"]),
            (SCHEMA, &*server.tcp().to_string())
        );
        assert!(number(&row, "bytes_in") >= 3 * 33 && number(&row, "bytes_out") >= 3 * 40);
        assert!(number(&row, "backend_us") > 0);
        let row = digest(&mut look, "SELECT id FROM t WHERE id > ?");
        assert_eq!(number(&row, "count"), 2);
        let errors = "SELECT number, account, count FROM errors";
        assert_eq!(look.run(errors).texts(), [["1054", "app", "1"]]);
        let seen = look.value("SELECT sum(count) FROM digests");
        let times = "SELECT way, statements, waited_max_us, backend_max_us > 0 FROM times";
        assert_eq!(look.run(times).texts(), [["relayed", &seen, "0", "1"]]);
        let questions = "SELECT value FROM status WHERE name = 'Questions'";
        assert_eq!(look.value(questions), seen);
        let pool = "SELECT Queries FROM stats_mysql_connection_pool";
        assert_eq!(look.value(pool), seen);
    }
}
