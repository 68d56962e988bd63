//! Prepared statements over the binary protocol.

use e2e::Site;
use e2e::raw::Param::{Bytes, Int, Null, Sent, Text};
use e2e::raw::{Execute, Outcome, Param, Shape, Transcript, bulk_execute, capability};

use crate::data;

scenario!(every_kind_of_column_arrives_in_binary on mariadb, mysql);
fn every_kind_of_column_arrives_in_binary(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::kinds(&mut conn);
    let id = conn
        .prepare("SELECT * FROM kinds WHERE id >= ? ORDER BY id")
        .statement();
    let reply = conn.execute(&Execute::new(id, &[Int(1)]));
    assert_eq!(reply.results().next().unwrap().rows.len(), 3);
    conn.close_statement(id);
    conn.transcript()
}

scenario!(parameters_of_every_kind_are_understood on mariadb, mysql);
fn parameters_of_every_kind_are_understood(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (i BIGINT, s VARCHAR(100), b BLOB, n INT)");
    let id = conn
        .prepare("INSERT INTO t VALUES (?, ?, ?, ?)")
        .statement();
    conn.execute(&Execute::new(
        id,
        &[Int(-1), Text("text"), Bytes(&[0, 255]), Null],
    ));
    // The server knows the types by now; the NULL bitmap differs.
    conn.execute(&Execute::new(id, &[Int(7), Text(""), Bytes(&[]), Null]).without_types());
    let reply = conn.run("SELECT i, s, HEX(b), n FROM t");
    assert_eq!(
        reply.texts(),
        [["-1", "text", "00FF", "NULL"], ["7", "", "", "NULL"]]
    );
    let id = conn.prepare("SELECT 1 + 1").statement();
    conn.execute(&Execute::new(id, &[]));
    conn.execute(&Execute::new(id, &[]));
    conn.transcript()
}

scenario!(a_statement_may_have_many_parameters on mariadb, mysql);
fn a_statement_may_have_many_parameters(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let marks = vec!["?"; 1000].join(",");
    let id = conn.prepare(&format!("SELECT {marks}")).statement();
    let params: Vec<Param<'_>> = (0..1000)
        .map(|n| if n % 3 == 0 { Null } else { Int(n) })
        .collect();
    let reply = conn.execute(&Execute::new(id, &params));
    assert_eq!(reply.results().next().unwrap().rows.len(), 1);
    conn.transcript()
}

scenario!(long_data_is_collected_until_it_is_reset on mariadb, mysql);
fn long_data_is_collected_until_it_is_reset(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let id = conn.prepare("SELECT LENGTH(?), SHA2(?, 256)").statement();
    for chunk in [&b"one "[..], b"two ", b"", b"three"] {
        conn.send_long_data(id, 0, chunk);
    }
    conn.send_long_data(id, 1, &[b'x'; 100_000]);
    conn.execute(&Execute::new(id, &[Sent, Sent]));
    conn.send_long_data(id, 0, b"forgotten");
    conn.reset_statement(id);
    conn.execute(&Execute::new(
        id,
        &[Text("not sent long"), Text("nor this")],
    ));
    // The parameter does not exist. The server reports the error with the next execution.
    conn.send_long_data(id, 9, b"nowhere");
    let payload = Execute::new(id, &[Text("a"), Text("b")]).payload(&conn);
    conn.send(&payload);
    conn.reply(Shape::Results);
    conn.transcript()
}

scenario!(a_closed_statement_cannot_be_executed on mariadb, mysql);
fn a_closed_statement_cannot_be_executed(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let id = conn.prepare("SELECT ?").statement();
    conn.close_statement(id);
    assert_eq!(
        conn.execute(&Execute::new(id, &[Int(1)]))
            .error()
            .unwrap()
            .code,
        1243
    );
    assert_eq!(conn.reset_statement(id).error().unwrap().code, 1243);
    assert_eq!(conn.fetch(id, 1).error().unwrap().code, 1243);
    conn.close_statement(4711); // no reply, no harm
    conn.send_long_data(4711, 0, b"nobody's");
    assert_eq!(conn.value("SELECT 1"), "1");
    conn.transcript()
}

scenario!(writes_are_refused_in_read_only_transactions on mariadb, mysql);
/// MySQL refuses to prepare the write; MariaDB refuses to execute it.
fn writes_are_refused_in_read_only_transactions(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    let update = "UPDATE t SET n = 1";
    let id = conn.prepare(update).statement();
    conn.run("START TRANSACTION READ ONLY");
    conn.prepare(update);
    conn.prepare("SELECT n FROM t");
    conn.execute(&Execute::new(id, &[]));
    conn.run("ROLLBACK");
    conn.prepare(update);
    conn.execute(&Execute::new(id, &[]));
    conn.transcript()
}

scenario!(a_statement_that_cannot_be_prepared_gives_an_error on mariadb, mysql);
fn a_statement_that_cannot_be_prepared_gives_an_error(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for sql in [
        "SELECT nonsense",
        "SELEC",
        "",
        "SELECT 1; SELECT 2",
        "SELECT * FROM missing",
    ] {
        assert!(conn.prepare(sql).error().is_some(), "{sql}");
    }
    assert_eq!(conn.value("SELECT 1"), "1");
    conn.transcript()
}

scenario!(prepared_statements_see_a_changed_table on mariadb, mysql except companions: "prepared anew on another connection, the statement has seen no change: its definitions are new, MariaDB's flag 1024 is not set");
fn prepared_statements_see_a_changed_table(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (a INT)");
    conn.run("INSERT INTO t VALUES (1)");
    let id = conn.prepare("SELECT * FROM t").statement();
    conn.execute(&Execute::new(id, &[]));
    conn.run("ALTER TABLE t ADD COLUMN b VARCHAR(10) DEFAULT 'new'");
    let reply = conn.execute(&Execute::new(id, &[]));
    assert_eq!(reply.results().next().unwrap().columns.len(), 2);
    conn.run("DROP TABLE t");
    assert_eq!(
        conn.execute(&Execute::new(id, &[])).error().unwrap().code,
        1146
    );
    conn.transcript()
}

scenario!(a_cursor_is_fetched_in_pieces on mariadb, mysql);
fn a_cursor_is_fetched_in_pieces(site: &Site) -> Transcript {
    const LAST_ROW_SENT: u16 = 0x0080;
    let mut transcript = Transcript::default();
    for without in [0, capability::DEPRECATE_EOF] {
        let mut conn = site.connect_as(&site.login().without(without));
        conn.run("DROP TABLE IF EXISTS numbers");
        data::numbers(&mut conn, "numbers", 1000);
        let id = conn
            .prepare("SELECT n, t FROM numbers WHERE n > ? ORDER BY n")
            .statement();
        conn.execute(&Execute::new(id, &[Int(100)]).cursor());
        let mut rows = 0;
        for piece in [1, 10, 0, 500, 1000] {
            let reply = conn.fetch(id, piece);
            rows += reply.results().next().unwrap().rows.len();
            assert_eq!(reply.status() & LAST_ROW_SENT != 0, rows == 900, "{rows}");
        }
        // Another command between fetches, and then a fetch past the end.
        assert_eq!(conn.value("SELECT 1"), "1");
        conn.fetch(id, 1);
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(a_cursor_may_be_closed_before_its_end on mariadb, mysql);
fn a_cursor_may_be_closed_before_its_end(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 1000);
    let one = conn.prepare("SELECT n FROM numbers").statement();
    let two = conn.prepare("SELECT t FROM numbers").statement();
    conn.execute(&Execute::new(one, &[]).cursor());
    conn.execute(&Execute::new(two, &[]).cursor());
    conn.fetch(one, 5);
    conn.fetch(two, 5);
    conn.close_statement(one);
    conn.fetch(two, 5);
    conn.reset_statement(two);
    assert!(conn.fetch(two, 5).error().is_some());
    // Executed again with and without a cursor.
    conn.execute(&Execute::new(two, &[]).cursor());
    conn.fetch(two, 2);
    // MySQL 9.7 then sends columns, an OK with header 0, and no rows, which no client understands.
    if site.is_mariadb() {
        let reply = conn.execute(&Execute::new(two, &[]));
        assert_eq!(reply.results().next().unwrap().rows.len(), 1000);
    }
    conn.transcript()
}

scenario!(a_cursor_over_nothing_and_over_no_query on mariadb, mysql);
fn a_cursor_over_nothing_and_over_no_query(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    for without in [0, capability::DEPRECATE_EOF] {
        let mut conn = site.connect_as(&site.login().without(without));
        conn.run("CREATE TABLE IF NOT EXISTS t (n INT)");
        let id = conn.prepare("SELECT * FROM t").statement();
        conn.execute(&Execute::new(id, &[]).cursor());
        conn.fetch(id, 10);
        let id = conn.prepare("DELETE FROM t").statement();
        conn.execute(&Execute::new(id, &[]).cursor());
        let id = conn.prepare("SHOW TABLES").statement();
        conn.execute(&Execute::new(id, &[]).cursor());
        transcript.extend(conn.transcript());
    }
    transcript
}

scenario!(out_parameters_arrive_as_a_result on mariadb, mysql);
fn out_parameters_arrive_as_a_result(site: &Site) -> Transcript {
    const OUT_PARAMETERS: u16 = 0x1000;
    let mut conn = site.connect();
    conn.run(
        "CREATE PROCEDURE p (IN a INT, OUT b INT, INOUT c VARCHAR(20)) BEGIN SELECT a, c; \
         SET b = a * 2; SET c = CONCAT(c, '!'); END",
    );
    let id = conn.prepare("CALL p(?, ?, ?)").statement();
    let reply = conn.execute(&Execute::new(id, &[Int(21), Null, Text("hello")]));
    let results: Vec<_> = reply.results().collect();
    assert_eq!(results.len(), 2);
    assert!(results[1].status & OUT_PARAMETERS != 0);
    assert!(matches!(reply.outcomes.last(), Some(Outcome::Ok { .. })));
    conn.transcript()
}

scenario!(prepare_and_execute_may_be_sent_at_once on mariadb, mysql);
fn prepare_and_execute_may_be_sent_at_once(site: &Site) -> Transcript {
    let mut conn = site.connect();
    // MariaDB knows -1 as "the last prepared"; on MySQL the first statement's id is 1.
    let id = if site.is_mariadb() { u32::MAX } else { 1 };
    conn.send(b"\x16SELECT ? + 1");
    let execute = Execute::new(id, &[Int(41)]).payload(&conn);
    conn.send(&execute);
    conn.send(b"\x03SELECT 'after'");
    conn.reply(Shape::Prepared);
    conn.reply(Shape::Results);
    conn.reply(Shape::Results);
    conn.transcript()
}

// Clients of MariaDB send both commands at once. The EXECUTE must not run the statement that was prepared before.
scenario!(an_execute_sent_with_a_prepare_that_fails_runs_nothing on mariadb, mariadb_next, mysql);
fn an_execute_sent_with_a_prepare_that_fails_runs_nothing(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    let insert = conn.prepare("INSERT INTO t VALUES (?)").statement();
    conn.execute(&Execute::new(insert, &[Int(1)]));
    for text in ["SELECT ? FROM no_such_table", "SELEC ?"] {
        conn.send(&[b"\x16", text.as_bytes()].concat());
        let execute = Execute::new(u32::MAX, &[Int(2)]).payload(&conn);
        conn.send(&execute);
        assert!(conn.reply(Shape::Prepared).error().is_some());
        let reply = conn.reply(Shape::Results);
        assert_eq!(reply.error().map(|error| error.code), Some(1243), "{text}");
    }
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "1");
    conn.execute(&Execute::new(insert, &[Int(3)]));
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "2");
    conn.transcript()
}

scenario!(rows_are_inserted_in_bulk on mariadb, mariadb_next);
fn rows_are_inserted_in_bulk(site: &Site) -> Transcript {
    let mut conn = site.connect_as(&site.login().and(capability::BULK_OPERATIONS));
    conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, i BIGINT, s VARCHAR(20))");
    let id = conn
        .prepare("INSERT INTO t (i, s) VALUES (?, ?)")
        .statement();
    let row = [Int(1), Text("one")];
    let null = [Null, Text("")];
    let mut rows: Vec<&[Param<'_>]> = vec![&row; 500];
    rows.push(&null);
    conn.send(&bulk_execute(id, 0, &rows));
    assert!(conn.reply(Shape::Results).error().is_none());
    assert_eq!(conn.value("SELECT COUNT(*) FROM t"), "501");
    // The rows have a duplicate in the middle.
    let id = conn
        .prepare("INSERT INTO t (id, s) VALUES (?, ?)")
        .statement();
    conn.send(&bulk_execute(
        id,
        0,
        &[&[Int(900), Text("a")], &[Int(5), Text("b")]],
    ));
    assert_eq!(conn.reply(Shape::Results).error().unwrap().code, 1062);
    // With RETURNING, the reply has rows.
    let id = conn
        .prepare("INSERT INTO t (i, s) VALUES (?, ?) RETURNING id, s")
        .statement();
    conn.send(&bulk_execute(id, 0, &[&row, &row, &row]));
    conn.reply(Shape::Results);
    conn.transcript()
}
