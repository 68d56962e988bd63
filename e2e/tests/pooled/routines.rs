//! Procedures: a CALL pins its connection only if it leaves state behind.

use e2e::Site;
use e2e::raw::{Execute, Param, Transcript, command};

shared!(a_call_that_leaves_nothing_does_not_pin on mariadb, mysql);
fn a_call_that_leaves_nothing_does_not_pin(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT UNIQUE)");
    conn.run(
        "CREATE PROCEDURE adds (a INT, OUT b INT) BEGIN \
         DECLARE EXIT HANDLER FOR 1062 SELECT 'there already'; \
         IF a > 2 THEN INSERT INTO t (n) VALUES (a); ELSE INSERT INTO t (n) VALUES (1); END IF; \
         SET b = a * 2; SELECT COUNT(*), b FROM t; CALL keeps(b); END",
    );
    conn.run("CREATE PROCEDURE keeps (a INT) SELECT a, 'kept' INTO @kept, @text");
    let id = conn.prepare("CALL adds(?, @out)").statement();
    for n in [1, 2, 3] {
        conn.query(&format!("CALL adds({n}, @out)"));
        site.assert_unpinned();
        conn.run("SELECT @out, @kept, @text, LAST_INSERT_ID()");
        conn.query(&format!("CALL adds({n}, @out)"));
        conn.run("SHOW WARNINGS");
        site.assert_unpinned();
        conn.execute(&Execute::new(id, &[Param::Int(n + 10)]));
        site.assert_unpinned();
        conn.run("SELECT @out, @kept, @text");
    }
    conn.query("CALL adds(1)");
    site.assert_unpinned();
    conn.run("SELECT * FROM t ORDER BY id");
    conn.transcript()
}

shared!(a_call_that_leaves_state_pins_its_connection on mariadb, mysql);
fn a_call_that_leaves_state_pins_its_connection(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let lock = &site.schema[..site.schema.len().min(60)];
    for (body, shows) in [
        (
            format!("DO GET_LOCK('{lock}', 0)"),
            format!("SELECT IS_USED_LOCK('{lock}') = CONNECTION_ID()"),
        ),
        (
            "CREATE TEMPORARY TABLE of_procedure SELECT 5 AS n".to_owned(),
            "SELECT * FROM of_procedure".to_owned(),
        ),
        (
            "BEGIN PREPARE s FROM 'SELECT 6'; END".to_owned(),
            "EXECUTE s".to_owned(),
        ),
        (
            "BEGIN IF 1 = 1 THEN SET SESSION TRANSACTION READ ONLY; END IF; END".to_owned(),
            "START TRANSACTION".to_owned(),
        ),
        ("CALL other()".to_owned(), "SELECT @@sql_mode".to_owned()),
    ] {
        conn.run("DROP PROCEDURE IF EXISTS other");
        conn.run("CREATE PROCEDURE other () SET sql_mode = 'ANSI'");
        conn.run("DROP PROCEDURE IF EXISTS p");
        conn.run(&format!("CREATE PROCEDURE p () {body}"));
        conn.query("CALL p()");
        site.assert_pinned();
        conn.run(&shows);
        conn.command(command::RESET_CONNECTION, b"");
        site.assert_unpinned();
        conn.query(&shows);
        conn.command(command::RESET_CONNECTION, b"");
    }
    conn.transcript()
}
