//! Prepared statements (behaviours 25 to 33): the proxy prepares them on the connections that need them, and each
//! client knows them by its own ids.

use e2e::Site;
use e2e::raw::Param::{Bytes, Double, Int, Null, Sent, Text};
use e2e::raw::{Execute, Login, PACKET_MAX, Param, Shape, Transcript, capability, command};

use crate::data;

shared!(a_statement_that_many_clients_prepare_belongs_to_each_of_them on mariadb, mysql);
fn a_statement_that_many_clients_prepare_belongs_to_each_of_them(site: &Site) -> Transcript {
    let mut conns = [site.connect(), site.connect(), site.connect()];
    let sql = "SELECT ? + 1, @who, CONNECTION_ID() = @id";
    let ids: Vec<u32> = conns
        .iter_mut()
        .enumerate()
        .map(|(at, conn)| {
            conn.run(&format!("SET @who = 'client {at}', @id = CONNECTION_ID()"));
            // Some sessions prepare other statements first, so that ids differ.
            for _ in 0..at {
                conn.prepare("SELECT 'another'");
            }
            conn.prepare(sql).statement()
        })
        .collect();
    for round in 0..3 {
        for (conn, id) in conns.iter_mut().zip(&ids) {
            conn.execute(&Execute::new(*id, &[Int(round)]));
        }
    }
    conns[1].close_statement(ids[1]);
    let closed = conns[1].execute(&Execute::new(ids[1], &[Int(1)]));
    assert_eq!(closed.error().unwrap().code, 1243);
    for at in [0, 2] {
        let reply = conns[at].execute(&Execute::new(ids[at], &[Int(5)]));
        assert!(reply.error().is_none());
    }
    let mut transcript = Transcript::default();
    conns
        .iter_mut()
        .for_each(|conn| transcript.extend(conn.transcript()));
    transcript
}

shared!(parameter_types_of_one_session_do_not_affect_another on mariadb, mysql);
fn parameter_types_of_one_session_do_not_affect_another(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    let sql = "SELECT ?";
    let ids = [one.prepare(sql).statement(), two.prepare(sql).statement()];
    // MySQL converts the text to 0 here, because the parameter was a number before.
    for value in [Double(2.5), Int(3), Text("abc")] {
        one.execute(&Execute::new(ids[0], &[value]));
    }
    for _ in 0..2 {
        two.execute(&Execute::new(ids[1], &[Text("abc")]));
    }
    let mut transcript = one.transcript();
    transcript.extend(two.transcript());
    transcript
}

shared!(a_prepared_text_has_the_flags_of_the_transaction_it_is_prepared_in on mariadb, mysql);
fn a_prepared_text_has_the_flags_of_the_transaction_it_is_prepared_in(site: &Site) -> Transcript {
    let login = site.login().without(capability::DEPRECATE_EOF);
    let mut one = site.connect_as(&login);
    let mut two = site.connect_as(&login);
    one.run("CREATE TABLE t (n INT)");
    for sql in ["SELECT ?, 1", "SELECT n FROM t WHERE n = ?"] {
        one.prepare(sql);
        two.run("START TRANSACTION READ ONLY");
        two.prepare(sql);
        two.prepare("SELECT ?, 2");
        two.run("COMMIT");
        two.run("SET autocommit = 0");
        two.prepare(sql);
        two.run("SET autocommit = 1");
    }
    let mut transcript = one.transcript();
    transcript.extend(two.transcript());
    transcript
}

shared!(the_same_text_in_another_schema_or_mode_is_another_statement on mariadb, mysql);
fn the_same_text_in_another_schema_or_mode_is_another_statement(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    let other = format!("{}2", &site.schema[..site.schema.len().min(60)]);
    one.run("CREATE TABLE t (\n a INT)");
    one.run(&format!("CREATE DATABASE {other}"));
    one.run(&format!("CREATE TABLE {other}.t (b VARCHAR(9), c INT)"));
    one.run("INSERT INTO t VALUES (1)");
    one.run(&format!("INSERT INTO {other}.t VALUES ('x', 2)"));
    two.run(&format!("USE {other}"));
    let sql = "SELECT * FROM t WHERE 1 = ?";
    let ids = [one.prepare(sql).statement(), two.prepare(sql).statement()];
    for _ in 0..2 {
        one.execute(&Execute::new(ids[0], &[Int(1)]));
        two.execute(&Execute::new(ids[1], &[Int(1)]));
    }
    // A statement keeps the schema and the mode it was prepared in.
    one.run("USE mysql");
    one.execute(&Execute::new(ids[0], &[Int(1)]));
    two.run("SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'");
    let sql = "SELECT 'a' || 'b' AS \"n\"";
    let ids = [one.prepare(sql).statement(), two.prepare(sql).statement()];
    one.run("SET sql_mode = 'ANSI_QUOTES'");
    two.run("SET sql_mode = ''");
    one.execute(&Execute::new(ids[0], &[]));
    two.execute(&Execute::new(ids[1], &[]));
    one.run("SET NAMES latin1");
    let sql = "SELECT 'é', COLLATION('é')";
    let ids = [one.prepare(sql).statement(), two.prepare(sql).statement()];
    one.run("SET NAMES utf8mb4");
    one.execute(&Execute::new(ids[0], &[]));
    two.execute(&Execute::new(ids[1], &[]));
    one.run(&format!("DROP DATABASE {other}"));
    let mut transcript = one.transcript();
    transcript.extend(two.transcript());
    transcript
}

shared!(a_statement_outlasts_a_reset_of_its_connection on mariadb, mysql);
fn a_statement_outlasts_a_reset_of_its_connection(site: &Site) -> Transcript {
    // A session without a schema may get a connection that was in a schema, after the connection has logged in anew.
    let login = Login::app();
    let mut conn = site.connect_as(&login);
    let mut other = site.connect();
    let id = conn.prepare("SELECT DATABASE(), ?").statement();
    for round in 0..3 {
        conn.execute(&Execute::new(id, &[Int(round)]));
        other.run("SELECT DATABASE() = SCHEMA()");
    }
    conn.transcript()
}

shared!(an_unknown_statement_is_error_1243 on mariadb, mysql);
fn an_unknown_statement_is_error_1243(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let mut other = site.connect();
    let theirs = other.prepare("SELECT 'of the other'").statement();
    let code = |reply: e2e::raw::Reply| reply.error().unwrap().code;
    assert_eq!(code(conn.execute(&Execute::new(theirs, &[]))), 1243);
    assert_eq!(code(conn.execute(&Execute::new(0, &[]))), 1243);
    assert_eq!(code(conn.execute(&Execute::new(4711, &[Int(1)]))), 1243);
    assert_eq!(code(conn.reset_statement(4711)), 1243);
    assert_eq!(code(conn.fetch(4711, 5)), 1243);
    conn.close_statement(theirs);
    conn.send_long_data(theirs, 0, b"whose?");
    other.execute(&Execute::new(theirs, &[]));
    conn.run("SELECT 'unharmed'");
    let mut transcript = Transcript::default();
    transcript.note("as it should be");
    transcript.extend(other.transcript());
    transcript
}

shared!(a_changed_table_is_seen_by_statements_prepared_before on mariadb, mysql);
fn a_changed_table_is_seen_by_statements_prepared_before(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (a INT)");
    conn.run("INSERT INTO t VALUES (1)");
    let all = conn.prepare("SELECT * FROM t").statement();
    let insert = conn.prepare("INSERT INTO t (a) VALUES (?)").statement();
    let columns = |conn: &mut e2e::raw::RawConn| {
        // The server sets a flag if it prepares the statement again. That depends on the connection.
        let reply = conn.unrecorded(|conn| conn.execute(&Execute::new(all, &[])));
        let result = reply
            .results()
            .next()
            .map(|it| (it.columns.clone(), it.rows.clone()));
        let mut transcript = conn.transcript();
        transcript.note(format!("{result:?} {:?}", reply.error()));
        conn.continue_transcript(transcript);
    };
    columns(&mut conn);
    for change in [
        "ALTER TABLE t ADD COLUMN b VARCHAR(10) DEFAULT 'new'",
        "ALTER TABLE t MODIFY a BIGINT",
        "ALTER TABLE t DROP COLUMN b",
        "DROP TABLE t",
        "CREATE TABLE t (x INT, a INT, y INT)",
        "DROP TABLE t; CREATE VIEW t AS SELECT 1 AS a, 2 AS z",
    ] {
        conn.run(change);
        columns(&mut conn);
        columns(&mut conn);
        let reply = conn.unrecorded(|conn| conn.execute(&Execute::new(insert, &[Int(5)])));
        let mut transcript = conn.transcript();
        transcript.note(format!("{:?}", reply.error()));
        conn.continue_transcript(transcript);
    }
    conn.transcript()
}

shared!(parameter_types_are_remembered on mariadb, mysql);
fn parameter_types_are_remembered(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let id = conn.prepare("SELECT ?, ?, ?, @@sql_mode").statement();
    conn.execute(&Execute::new(id, &[Int(1), Text("one"), Null]));
    conn.execute(&Execute::new(id, &[Int(2), Text("two"), Null]).without_types());
    conn.execute(&Execute::new(id, &[Null, Null, Null]).without_types());
    conn.execute(&Execute::new(id, &[Int(3), Text("three"), Null]).without_types());
    conn.execute(&Execute::new(
        id,
        &[Double(1.5), Bytes(&[0, 255]), Text("third")],
    ));
    conn.execute(&Execute::new(id, &[Double(-0.5), Bytes(&[]), Text("")]).without_types());
    conn.reset_statement(id);
    conn.execute(&Execute::new(id, &[Double(0.5), Null, Text("kept")]).without_types());
    let none = conn.prepare("SELECT 'no parameters'").statement();
    conn.execute(&Execute::new(none, &[]));
    conn.execute(&Execute::new(none, &[]).without_types());
    let never = conn.prepare("SELECT ?").statement();
    conn.execute(&Execute::new(never, &[Int(7)]).without_types());
    conn.run("SELECT 'after'");
    conn.transcript()
}

shared!(a_statement_may_have_as_many_parameters_as_there_can_be on mariadb, mysql);
fn a_statement_may_have_as_many_parameters_as_there_can_be(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for count in [63, 64, 65, 4000, 65_535] {
        let marks = vec!["?"; count].join(",");
        let sql = format!("SELECT 1 IN ({marks}), @@sql_mode");
        let id = conn.prepare(&sql).statement();
        for shift in 0..2 {
            let params: Vec<Param<'_>> = (0..count)
                .map(|n| if (n + shift) % 3 == 0 { Null } else { Int(7) })
                .collect();
            conn.execute(&Execute::new(id, &params));
            conn.execute(&Execute::new(id, &params).without_types());
        }
        conn.close_statement(id);
    }
    let marks = vec!["?"; 65_536].join(",");
    let reply = conn.prepare(&format!("SELECT 1 IN ({marks})"));
    assert_eq!(reply.error().unwrap().code, 1390);
    conn.transcript()
}

shared!(long_data_waits_for_its_execute on mariadb, mysql);
fn long_data_waits_for_its_execute(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let id = conn
        .prepare("SELECT LENGTH(?), SHA2(?, 256), @@sql_mode")
        .statement();
    for chunk in [&b"one "[..], b"two ", b"", b"three"] {
        conn.send_long_data(id, 0, chunk);
        conn.run("SELECT 'between'");
    }
    conn.send_long_data(id, 1, &[b'x'; 100_000]);
    conn.execute(&Execute::new(id, &[Sent, Sent]));
    // The long data was used by the last execution.
    conn.execute(&Execute::new(id, &[Text("short"), Text("short")]));
    conn.send_long_data(id, 0, b"forgotten");
    conn.reset_statement(id);
    conn.execute(&Execute::new(id, &[Text("not long"), Text("either")]));
    // Each of two statements has its own long data.
    let two = conn.prepare("SELECT UPPER(?)").statement();
    conn.send_long_data(two, 0, b"of two");
    conn.send_long_data(id, 0, b"of one");
    conn.execute(&Execute::new(two, &[Sent]));
    conn.execute(&Execute::new(id, &[Sent, Int(5)]));
    // After an error, the long data is dropped or kept, as on the server.
    conn.send_long_data(id, 9, b"no such parameter");
    let payload = Execute::new(id, &[Text("a"), Text("b")]).payload(&conn);
    conn.send(&payload);
    conn.reply(Shape::Results);
    conn.execute(&Execute::new(id, &[Text("c"), Text("d")]));
    conn.send_long_data(id, 0, b"closed with it");
    conn.close_statement(id);
    conn.run("SELECT 'after'");
    conn.transcript()
}

shared!(long_data_may_exceed_a_packet on mariadb, mysql);
fn long_data_may_exceed_a_packet(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let id = conn.prepare("SELECT LENGTH(?), SHA2(?, 256)").statement();
    let big = vec![b'b'; PACKET_MAX + 5];
    conn.unrecorded(|conn| {
        conn.send_long_data(id, 0, &big);
        conn.send_long_data(id, 0, &big);
        conn.send_long_data(id, 1, &big);
    });
    let reply = conn.execute(&Execute::new(id, &[Sent, Sent]));
    assert!(reply.error().is_none());
    conn.unrecorded(|conn| conn.send_long_data(id, 0, &big));
    conn.reset_statement(id);
    conn.execute(&Execute::new(id, &[Text("small"), Text("again")]));
    conn.transcript()
}

shared!(an_error_may_end_a_binary_result on mariadb, mysql);
fn an_error_may_end_a_binary_result(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 5000);
    let id = conn
        .prepare(
            "SELECT n, (SELECT b.n FROM numbers b WHERE b.n = 1 OR (a.n >= ? AND b.n = 2)) \
             FROM numbers a ORDER BY n",
        )
        .statement();
    for limit in [4000, 1, 10_000] {
        let reply = conn.execute(&Execute::new(id, &[Int(limit)]));
        assert_eq!(reply.error().is_some(), limit < 5000);
        conn.run("SELECT 'after'");
    }
    conn.transcript()
}

shared!(a_statement_may_take_too_long on mariadb, mysql);
fn a_statement_may_take_too_long(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 5000);
    let (set, code) = match site.is_mariadb() {
        true => ("SET max_statement_time = 0.2", 1969),
        false => ("SET max_execution_time = 200", 3024),
    };
    conn.run(set);
    let id = conn
        .prepare("SELECT COUNT(*) FROM numbers a, numbers b, numbers c WHERE a.n + b.n + c.n < ?")
        .statement();
    let reply = conn.unrecorded(|conn| conn.execute(&Execute::new(id, &[Int(-1)])));
    assert_eq!(reply.error().unwrap().code, code);
    conn.run("SELECT 'after'");
    conn.transcript()
}

shared!(a_cursor_is_fetched_piece_by_piece on mariadb, mysql);
fn a_cursor_is_fetched_piece_by_piece(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 300);
    let sql = "SELECT n, t FROM numbers WHERE n > ? ORDER BY n";
    let one = conn.prepare(sql).statement();
    let two = conn.prepare(sql).statement();
    conn.execute(&Execute::new(one, &[Int(10)]).cursor());
    conn.execute(&Execute::new(two, &[Int(290)]).cursor());
    for rows in [1, 7, 0, 100] {
        conn.fetch(one, rows);
        conn.run("SELECT 'between', @@sql_mode");
        conn.fetch(two, 2);
    }
    conn.fetch(one, 1000);
    conn.fetch(one, 1);
    conn.execute(&Execute::new(one, &[Int(0)]).cursor());
    conn.fetch(one, 5);
    conn.close_statement(one);
    assert_eq!(conn.fetch(one, 5).error().unwrap().code, 1243);
    conn.fetch(two, 100);
    // Opens the cursor again, and does not fetch from it.
    conn.execute(&Execute::new(two, &[Int(0)]).cursor());
    conn.execute(&Execute::new(two, &[Int(299)]).cursor());
    conn.fetch(two, 100);
    conn.transcript()
}

shared!(a_cursor_of_one_does_not_change_anothers_statement on mariadb, mysql);
fn a_cursor_of_one_does_not_change_anothers_statement(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    data::numbers(&mut one, "numbers", 10);
    let sql = "SELECT n FROM numbers WHERE n > ? ORDER BY n";
    let by_cursor = one.prepare(sql).statement();
    let at_once = two.prepare(sql).statement();
    one.execute(&Execute::new(by_cursor, &[Int(3)]).cursor());
    one.fetch(by_cursor, 100);
    // MySQL 9.7 spoils a statement for use without a cursor once it had one, but not another client's.
    let reply = two.execute(&Execute::new(at_once, &[Int(5)]));
    assert_eq!(reply.results().next().unwrap().rows.len(), 5);
    one.execute(&Execute::new(by_cursor, &[Int(8)]).cursor());
    one.fetch(by_cursor, 100);
    let mut transcript = one.transcript();
    transcript.extend(two.transcript());
    transcript
}

shared!(a_statement_prepared_outside_runs_in_a_transaction_too on mariadb, mysql);
fn a_statement_prepared_outside_runs_in_a_transaction_too(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    let insert = conn.prepare("INSERT INTO t VALUES (?)").statement();
    let count = conn.prepare("SELECT COUNT(*) FROM t").statement();
    conn.execute(&Execute::new(insert, &[Int(1)]));
    conn.run("BEGIN");
    conn.execute(&Execute::new(insert, &[Int(2)]));
    let inside = conn.prepare("SELECT SUM(n) FROM t").statement();
    conn.execute(&Execute::new(count, &[]));
    conn.execute(&Execute::new(inside, &[]));
    conn.run("ROLLBACK");
    conn.execute(&Execute::new(count, &[]));
    conn.execute(&Execute::new(inside, &[]));
    conn.transcript()
}

shared!(a_prepared_call_gives_results_and_out_parameters on mariadb, mysql);
fn a_prepared_call_gives_results_and_out_parameters(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run(
        "CREATE PROCEDURE p (IN a INT, OUT b INT, INOUT c VARCHAR(20)) BEGIN SELECT a, c; \
         SET b = a * 2; SET c = CONCAT(c, '!'); SET time_zone = '+09:00'; END",
    );
    let id = conn.prepare("CALL p(?, ?, ?)").statement();
    for n in 0..3 {
        conn.execute(&Execute::new(id, &[Int(n), Null, Text("hello")]));
        conn.run("SELECT @@time_zone");
    }
    conn.run("CALL p(1, @b, @c)");
    conn.run("SELECT @b, @c");
    conn.transcript()
}

shared!(statements_prepared_by_text_belong_to_their_session on mariadb, mysql);
fn statements_prepared_by_text_belong_to_their_session(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    one.run("PREPARE s FROM 'SELECT \"of one\", ?'");
    two.run("PREPARE s FROM 'SELECT \"of two\", ?, ?'");
    for _ in 0..2 {
        one.run("SET @a = 1, @b = 'x'");
        one.run("EXECUTE s USING @a");
        one.query("EXECUTE s");
        two.run("EXECUTE s USING @a, @b");
        two.run("SET @a = 'two'");
    }
    one.run("PREPARE S FROM 'SELECT 3'");
    one.run("EXECUTE s");
    one.query("PREPARE s FROM 'SELEC'");
    assert_eq!(one.query("EXECUTE s").error().unwrap().code, 1243);
    two.run("DEALLOCATE PREPARE s");
    assert_eq!(
        two.query("EXECUTE s USING @a, @b").error().unwrap().code,
        1243
    );
    assert_eq!(two.query("DROP PREPARE s").error().unwrap().code, 1243);
    one.run("SET @sql = 'SELECT ? + 1'");
    one.run("PREPARE `from variable` FROM @sql");
    one.run("SET @sql = NULL, @a = 41");
    one.run("EXECUTE `from variable` USING @a");
    let mut transcript = one.transcript();
    transcript.extend(two.transcript());
    transcript
}

shared!(a_client_can_prepare_more_statements_than_a_connection_keeps on mariadb, mysql);
fn a_client_can_prepare_more_statements_than_a_connection_keeps(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let ids: Vec<u32> = (0..450)
        .map(|n| conn.prepare(&format!("SELECT {n}, ?")).statement())
        .collect();
    for id in ids.iter().chain(&ids) {
        conn.execute(&Execute::new(*id, &[Int(1)]));
    }
    conn.transcript()
}

shared!(malformed_executes_affect_no_other_session on mariadb, mysql);
fn malformed_executes_affect_no_other_session(site: &Site) -> Transcript {
    let mut other = site.connect();
    let mut transcript = Transcript::default();
    let params = [Int(1), Text("text"), Null, Bytes(&[1, 2, 3])];
    for length in [1, 3, 5, 6, 9, 10, 11, 12, 13, 17, 20, 25, 30] {
        let mut conn = site.connect();
        let id = conn.prepare("SELECT ?, ?, ?, ?").statement();
        let payload = Execute::new(id, &params).payload(&conn);
        conn.send(&payload[..length.min(payload.len() - 1)]);
        // Some servers go on after such a packet, and some close the connection.
        let _ = conn.try_reply(Shape::Results);
        other.run("SELECT 'unharmed', @@sql_mode");
    }
    for byte in [
        command::STMT_CLOSE,
        command::STMT_RESET,
        command::STMT_FETCH,
    ] {
        let mut conn = site.connect();
        conn.send(&[byte, 1, 0]);
        if byte != command::STMT_CLOSE {
            let _ = conn.try_reply(Shape::Results);
        }
        other.run("SELECT 'unharmed', @@sql_mode");
    }
    transcript.extend(other.transcript());
    transcript
}

shared!(a_late_prepared_statement_reads_current_session_values on mariadb, mysql);
/// If the proxy prepares the statement late, the session's values differ from those at the client's prepare.
fn a_late_prepared_statement_reads_current_session_values(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
    conn.run("SET insert_id = 500, time_zone = '+05:00'");
    let statement = conn
        .prepare("SELECT LAST_INSERT_ID(), ROW_COUNT(), @@time_zone")
        .statement();
    conn.run("INSERT INTO t (n) VALUES (1)");
    conn.run("SET time_zone = '+03:00'");
    conn.execute(&Execute::new(statement, &[]));
    conn.run("CREATE TEMPORARY TABLE mine (n INT)");
    conn.run("UPDATE t SET n = 2");
    conn.execute(&Execute::new(statement, &[]));
    conn.run("INSERT INTO t (n) VALUES (3)");
    conn.execute(&Execute::new(statement, &[]));
    conn.run("SELECT @@time_zone, LAST_INSERT_ID()");
    conn.transcript()
}
