//! The text protocol: results of every kind, several results at once, and errors between them.

use e2e::Site;
use e2e::raw::{Outcome, Transcript, capability};

use crate::data;

scenario!(a_result_arrives_whole on mariadb, mysql);
fn a_result_arrives_whole(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let reply = conn.run("SELECT 1 AS one, NULL AS nothing, 'text' AS text, 1.50 AS number");
    assert_eq!(reply.texts(), [["1", "NULL", "text", "1.50"]]);
    conn.transcript()
}

scenario!(every_kind_of_column_arrives_as_text on mariadb, mysql);
fn every_kind_of_column_arrives_as_text(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::kinds(&mut conn);
    let reply = conn.run("SELECT * FROM kinds ORDER BY id");
    assert_eq!(reply.texts().len(), 3);
    conn.transcript()
}

scenario!(many_rows_arrive_in_order on mariadb, mysql);
fn many_rows_arrive_in_order(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 20_000);
    let reply = conn.run("SELECT n, t FROM numbers ORDER BY n");
    assert_eq!(reply.texts().len(), 20_000);
    conn.transcript()
}

scenario!(a_thousand_columns_arrive on mariadb, mysql);
fn a_thousand_columns_arrive(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let columns: Vec<String> = (0..1000).map(|n| format!("{n} AS c{n}")).collect();
    let reply = conn.run(&format!("SELECT {}", columns.join(",")));
    assert_eq!(reply.texts()[0].len(), 1000);
    conn.transcript()
}

scenario!(an_empty_query_is_an_error on mariadb, mysql);
fn an_empty_query_is_an_error(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for nothing in ["", " ", ";", "-- nothing", "/* nothing */"] {
        let reply = conn.query(nothing);
        assert!(
            reply.error().is_none_or(|error| error.code == 1065),
            "{nothing:?}"
        );
    }
    conn.run("SELECT 1");
    conn.transcript()
}

scenario!(errors_leave_the_session_usable on mariadb, mysql);
fn errors_leave_the_session_usable(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for (sql, code) in [
        ("SELEC 1", 1064),
        ("SELECT * FROM missing", 1146),
        ("SELECT missing", 1054),
        ("USE no_such_schema", 1049),
        ("SET no_such_variable = 1", 1193),
        (
            "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 4711, MESSAGE_TEXT = 'mine'",
            4711,
        ),
    ] {
        assert_eq!(conn.query(sql).error().unwrap().code, code, "{sql}");
    }
    assert_eq!(conn.value("SELECT 1"), "1");
    conn.transcript()
}

scenario!(an_error_breaks_a_result_off on mariadb, mysql);
fn an_error_breaks_a_result_off(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 5000);
    // From row 4000 on the subquery has two rows.
    let reply = conn.query(
        "SELECT n, (SELECT b.n FROM numbers b WHERE b.n = 1 OR (a.n >= 4000 AND b.n = 2)) \
         FROM numbers a ORDER BY n",
    );
    let rows = reply.results().next().unwrap();
    assert_eq!(rows.rows.len(), 3999);
    assert_eq!(rows.error.as_ref().unwrap().code, 1242);
    assert_eq!(conn.value("SELECT 1"), "1");
    conn.transcript()
}

scenario!(several_statements_give_several_results on mariadb, mysql);
fn several_statements_give_several_results(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let reply = conn.run(
        "CREATE TABLE t (n INT); INSERT INTO t VALUES (1), (2); SELECT * FROM t; \
         SELECT * FROM t WHERE n > 5; UPDATE t SET n = n + 1; DO 1; SELECT 'end'",
    );
    assert_eq!(reply.outcomes.len(), 7);
    conn.transcript()
}

scenario!(an_error_ends_several_statements on mariadb, mysql);
fn an_error_ends_several_statements(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let reply = conn.query("SELECT 1; SELECT 2; SELECT nonsense; SELECT 3");
    assert_eq!(reply.outcomes.len(), 3);
    assert_eq!(reply.error().unwrap().code, 1054);
    assert_eq!(conn.value("SELECT 4"), "4");
    conn.transcript()
}

scenario!(several_statements_need_the_capability on mariadb, mysql);
fn several_statements_need_the_capability(site: &Site) -> Transcript {
    let mut conn = site.connect_as(&site.login().without(capability::MULTI_STATEMENTS));
    assert_eq!(conn.query("SELECT 1; SELECT 2").error().unwrap().code, 1064);
    conn.transcript()
}

scenario!(a_procedure_gives_several_results on mariadb, mysql);
fn a_procedure_gives_several_results(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run(
        "CREATE PROCEDURE p (IN a INT, OUT b INT, INOUT c INT) BEGIN SELECT a; SELECT a, c; \
         SET b = a + c; SET c = c * 2; END",
    );
    conn.run("SET @c = 5");
    let reply = conn.run("CALL p(3, @b, @c)");
    assert_eq!(reply.results().count(), 2);
    assert_eq!(conn.run("SELECT @b, @c").texts(), [["8", "10"]]);
    conn.run("CREATE PROCEDURE fails () BEGIN SELECT 1; SIGNAL SQLSTATE '45000'; END");
    let reply = conn.query("CALL fails()");
    assert_eq!(
        (reply.outcomes.len(), reply.error().unwrap().code),
        (2, 1644)
    );
    conn.transcript()
}

scenario!(a_procedure_needs_the_multi_results_capability on mariadb, mysql);
fn a_procedure_needs_the_multi_results_capability(site: &Site) -> Transcript {
    let without = capability::MULTI_STATEMENTS | capability::MULTI_RESULTS;
    let mut conn = site.connect_as(&site.login().without(without));
    conn.run("CREATE PROCEDURE p () SELECT 1");
    assert_eq!(conn.query("CALL p()").error().unwrap().code, 1312);
    conn.transcript()
}

scenario!(counts_and_warnings_arrive on mariadb, mysql);
fn counts_and_warnings_arrive(site: &Site) -> Transcript {
    for capabilities in [0, capability::FOUND_ROWS] {
        let mut conn = site.connect_as(&site.login().and(capabilities));
        conn.run("CREATE OR REPLACE VIEW v AS SELECT 1");
        conn.run("DROP TABLE IF EXISTS t");
        conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n TINYINT)");
        let reply = conn.run("INSERT INTO t (n) VALUES (1), (2), (3)");
        assert!(matches!(
            reply.outcomes[0],
            Outcome::Ok {
                affected: 3,
                insert_id: 1,
                ..
            }
        ));
        let changed = if capabilities == 0 { 2 } else { 3 };
        let reply = conn.run("UPDATE t SET n = 3");
        assert!(matches!(reply.outcomes[0], Outcome::Ok { affected, .. } if affected == changed));
        conn.run("SET sql_mode = ''");
        let reply = conn.run("INSERT INTO t (n) VALUES (1000)");
        assert!(matches!(
            reply.outcomes[0],
            Outcome::Ok {
                warnings: 1,
                insert_id: 4,
                ..
            }
        ));
        assert_eq!(conn.run("SHOW WARNINGS").texts().len(), 1);
        assert_eq!(conn.value("SELECT LAST_INSERT_ID()"), "4");
    }
    site.connect().transcript()
}

scenario!(the_status_flags_follow_the_transaction on mariadb, mysql);
fn the_status_flags_follow_the_transaction(site: &Site) -> Transcript {
    const IN_TRANSACTION: u16 = 1;
    const AUTOCOMMIT: u16 = 2;
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT PRIMARY KEY)");
    let flags = IN_TRANSACTION | AUTOCOMMIT;
    let mut status = |sql: &str| conn.run(sql).status() & flags;
    assert_eq!(status("DO 1"), AUTOCOMMIT);
    assert_eq!(status("BEGIN"), IN_TRANSACTION | AUTOCOMMIT);
    assert_eq!(
        status("INSERT INTO t VALUES (1)"),
        IN_TRANSACTION | AUTOCOMMIT
    );
    assert_eq!(status("ROLLBACK"), AUTOCOMMIT);
    assert_eq!(status("SET autocommit = 0"), 0);
    assert_eq!(status("SELECT * FROM t"), IN_TRANSACTION);
    assert_eq!(status("COMMIT"), 0);
    assert_eq!(conn.query("SELECT nonsense").error().unwrap().code, 1054);
    conn.run("SET autocommit = 1");
    conn.run("START TRANSACTION READ ONLY");
    assert_eq!(
        conn.query("INSERT INTO t VALUES (2)").error().unwrap().code,
        1792
    );
    conn.transcript()
}

scenario!(what_is_set_stays_set on mariadb, mysql);
fn what_is_set_stays_set(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("SET @a = 'kept', SESSION sql_mode = 'ANSI', time_zone = '+03:00'");
    conn.run("SET NAMES latin1");
    conn.run("CREATE TEMPORARY TABLE tt (n INT)");
    conn.run("INSERT INTO tt VALUES (42)");
    conn.run("PREPARE s FROM 'SELECT n + ? FROM tt'");
    conn.run("SET @b = 1");
    assert_eq!(conn.value("EXECUTE s USING @b"), "43");
    // The session of the previous site may still hold the lock.
    assert_eq!(conn.value("SELECT GET_LOCK('e2e what_is_set', 20)"), "1");
    let all = "SELECT @a, @@sql_mode, @@time_zone, @@character_set_client, \
               IS_USED_LOCK('e2e what_is_set') = CONNECTION_ID()";
    let reply = conn.run(all);
    assert_eq!(reply.text(0, 0).unwrap(), "kept");
    assert_eq!(reply.text(0, 4).unwrap(), "1");
    let mut another = site.connect();
    let reply = another.run("SELECT @a, @@time_zone, IS_FREE_LOCK('e2e what_is_set')");
    assert_eq!(reply.texts(), [["NULL", "SYSTEM", "0"]]);
    assert_eq!(
        another.query("SELECT * FROM tt").error().unwrap().code,
        1146
    );
    conn.transcript()
}

scenario!(commands_may_be_sent_before_replies_are_read on mariadb, mysql);
fn commands_may_be_sent_before_replies_are_read(site: &Site) -> Transcript {
    let mut conn = site.connect();
    data::numbers(&mut conn, "numbers", 500);
    for n in 0..200 {
        let sql = match n % 4 {
            0 => "SELECT * FROM numbers".to_owned(),
            1 => format!("SET @n = {n}"),
            2 => "SELECT nonsense".to_owned(),
            _ => format!("SELECT {n}; SELECT @n"),
        };
        conn.send_query(&sql).unwrap();
    }
    for _ in 0..200 {
        conn.reply(e2e::raw::Shape::Results);
    }
    conn.transcript()
}
