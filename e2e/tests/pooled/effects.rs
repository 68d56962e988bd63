//! Values of the previous statement (behaviours 15 to 17): the last insert id, counts and diagnostics of the
//! session's own last statement, and sessions that are reset.

use e2e::Site;
use e2e::raw::{Execute, Login, Outcome, Param, Transcript, command};
use e2e::steps::note_variables;

shared!(the_last_insert_id_belongs_to_its_session on mariadb, mysql);
fn the_last_insert_id_belongs_to_its_session(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    one.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
    let asked = [
        "SELECT LAST_INSERT_ID()",
        "select last_insert_id ( ) as id",
        "SELECT @@last_insert_id, @@identity, @@SESSION.last_insert_id",
        "SELECT n FROM t WHERE id = LAST_INSERT_ID()",
        "SELECT /* LAST_INSERT_ID() */ LAST_INSERT_ID() + 1, 'LAST_INSERT_ID()'",
        "SELECT 1; SELECT LAST_INSERT_ID()",
    ];
    let binary = one
        .prepare("SELECT LAST_INSERT_ID(), @@identity")
        .statement();
    for sql in [
        "INSERT INTO t (n) VALUES (1)",
        "INSERT INTO t (n) VALUES (2), (3), (4)",
        "INSERT INTO t (n) VALUES (LAST_INSERT_ID())",
        "INSERT INTO t (id) VALUES (3)",
        "INSERT INTO t (id, n) VALUES (50, 5)",
        "INSERT INTO t (id, n) VALUES (-1, 5)",
        "INSERT INTO t (id, n) VALUES ('-2', 5)",
        "UPDATE t SET n = 9 WHERE id = 1",
        "INSERT INTO t (id, n) VALUES (50, 6) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), n = 7",
        "SELECT LAST_INSERT_ID(4000)",
        "SET @@last_insert_id = 77",
        "SET insert_id = 600",
        "INSERT INTO t (n) SELECT n FROM t ORDER BY id LIMIT 2",
        "UPDATE t SET n = LAST_INSERT_ID(n + 20) WHERE id = 1",
        "DO LAST_INSERT_ID(9)",
        "SELECT SQL_NO_CACHE 5",
    ] {
        one.query(sql);
        two.run("INSERT INTO t (n) VALUES (100)");
        for ask in asked {
            one.run(ask);
        }
        one.execute(&Execute::new(binary, &[]));
        two.run("SELECT LAST_INSERT_ID()");
    }
    let mut transcript = one.transcript();
    transcript.extend(two.transcript());
    transcript
}

shared!(the_last_insert_id_of_a_prepared_insert_is_known on mariadb, mysql);
fn the_last_insert_id_of_a_prepared_insert_is_known(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
    conn.run("CREATE TABLE child (parent INT, n INT)");
    let parent = conn.prepare("INSERT INTO t (n) VALUES (?)").statement();
    let child = conn
        .prepare("INSERT INTO child VALUES (LAST_INSERT_ID(), ?)")
        .statement();
    for n in 0..3 {
        let reply = conn.execute(&Execute::new(parent, &[Param::Int(n)]));
        assert!(matches!(reply.outcomes[0], Outcome::Ok { insert_id, .. } if insert_id > 0));
        conn.execute(&Execute::new(child, &[Param::Int(n)]));
        conn.run("SELECT LAST_INSERT_ID()");
    }
    conn.run("SELECT * FROM child ORDER BY n");
    conn.transcript()
}

shared!(row_counts_and_warnings_belong_to_their_session on mariadb, mysql);
fn row_counts_and_warnings_belong_to_their_session(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n TINYINT, UNIQUE (n))");
    // Before a connection's first result MariaDB's FOUND_ROWS() is another client's.
    conn.run("SELECT 'hello'");
    conn.run("SET sql_mode = ''");
    let asked = [
        "SELECT FOUND_ROWS()",
        "SELECT ROW_COUNT()",
        "SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID()",
        "SHOW WARNINGS",
        "SHOW ERRORS",
        "SHOW COUNT(*) WARNINGS",
        "SHOW COUNT(*) ERRORS",
        "SHOW WARNINGS LIMIT 1, 1",
        "SELECT @@warning_count, @@error_count",
        "SELECT @@session.warning_count AS w, 1 + FOUND_ROWS()",
        "GET DIAGNOSTICS @n = NUMBER, @rows = ROW_COUNT",
        "GET DIAGNOSTICS CONDITION 1 @state = RETURNED_SQLSTATE, @text = MESSAGE_TEXT",
    ];
    for sql in [
        "INSERT INTO t (n) VALUES (1), (2), (1000)",
        "SELECT SQL_CALC_FOUND_ROWS n FROM t ORDER BY n LIMIT 1",
        "SELECT n FROM t ORDER BY n",
        "UPDATE t SET n = n - 1",
        "DELETE FROM t WHERE n > 100",
        "INSERT INTO t (n) VALUES ('x'), ('12 monkeys')",
        "SELECT 1 / 0, CAST('x' AS SIGNED), CAST('y' AS SIGNED)",
        "SELECT nonsense",
        "SELEC 1",
        "INSERT INTO t (id) VALUES (1)",
        "DROP TABLE IF EXISTS missing",
        "SELECT 1; SELECT CAST('z' AS SIGNED)",
        "SET @x = CAST('w' AS SIGNED)",
        "SIGNAL SQLSTATE '01000' SET MESSAGE_TEXT = 'a warning of mine'",
    ] {
        // Each question directly follows the statement, because a question changes the values that it asks for.
        for ask in asked {
            conn.query(sql);
            conn.query(ask);
        }
        conn.run("SELECT @n, @rows, @state, @text");
    }
    conn.transcript()
}

shared!(multi_statements_with_comments_are_split_correctly on mariadb, mysql);
fn multi_statements_with_comments_are_split_correctly(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for sql in [
        "SET /*!50000 sql_notes = 0 */; SHOW WARNINGS; /*!40101 SET sql_warnings = 1 */",
        "SELECT CAST('x' AS SIGNED); SHOW WARNINGS; SELECT ';' /*!40101 , 2 */; SELECT 3",
        "/*!40101 SELECT 1 */ ; /* ; */ SHOW WARNINGS /* ; */; ; SELECT 2",
        "SELECT @@sql_notes, @@sql_warnings",
    ] {
        conn.query(sql);
    }
    conn.transcript()
}

shared!(warnings_of_prepared_statements_belong_to_their_session on mariadb, mysql);
fn warnings_of_prepared_statements_belong_to_their_session(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let id = conn.prepare("SELECT CAST(? AS SIGNED)").statement();
    for text in ["12 monkeys", "13", "fish"] {
        conn.execute(&Execute::new(id, &[Param::Text(text)]));
        conn.run("SHOW WARNINGS");
        conn.execute(&Execute::new(id, &[Param::Text(text)]));
        conn.run("SELECT @@warning_count");
    }
    assert!(conn.prepare("SELECT nonsense").error().is_some());
    conn.run("SHOW ERRORS");
    assert!(conn.command(command::INIT_DB, b"missing").error().is_some());
    conn.run("SHOW WARNINGS");
    conn.transcript()
}

shared!(a_reset_begins_the_session_anew on mariadb, mysql);
fn a_reset_begins_the_session_anew(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
    for _ in 0..2 {
        let id = conn.prepare("SELECT ?").statement();
        conn.run("PREPARE s FROM 'SELECT 1'");
        conn.run("SET @a = 1, sql_mode = 'ANSI', time_zone = '+01:00', autocommit = 0");
        conn.run("SET NAMES latin1");
        conn.run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
        conn.run("INSERT INTO t (n) VALUES (1)");
        conn.run("CREATE TEMPORARY TABLE tt (n INT)");
        conn.run(&format!("SELECT GET_LOCK('{}', 5)", site.schema));
        site.assert_pinned();
        conn.command(command::RESET_CONNECTION, b"");
        site.assert_unpinned();
        conn.run("SELECT @a, @@sql_mode, @@time_zone, @@autocommit, LAST_INSERT_ID(), DATABASE()");
        conn.run("SELECT COUNT(*) FROM t");
        conn.run(&format!("SELECT IS_FREE_LOCK('{}')", site.schema));
        for gone in ["SELECT * FROM tt", "EXECUTE s"] {
            assert!(conn.query(gone).error().is_some(), "{gone}");
        }
        let reply = conn.execute(&Execute::new(id, &[Param::Int(1)]));
        assert_eq!(reply.error().unwrap().code, 1243);
        note_variables(&mut conn).unwrap();
    }
    conn.transcript()
}

shared!(a_change_of_user_begins_the_session_anew on mariadb, mysql);
fn a_change_of_user_begins_the_session_anew(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
    let users = [
        Login::with("other", "another password").schema(&site.schema),
        Login::with("nopass", "").schema("mysql"),
        site.login(),
    ];
    for login in users {
        let id = conn.prepare("SELECT ?").statement();
        conn.run("SET @a = 1, sql_mode = 'ANSI', autocommit = 0");
        conn.run("SET NAMES latin1");
        conn.run(&format!("INSERT INTO {}.t (n) VALUES (1)", site.schema));
        conn.run("CREATE TEMPORARY TABLE tt (n INT)");
        conn.change_user(&login).unwrap();
        conn.run("SELECT CURRENT_USER(), DATABASE(), @a, @@sql_mode, @@autocommit");
        conn.run("SELECT @@character_set_client, @@collation_connection, LAST_INSERT_ID()");
        conn.run(&format!("SELECT COUNT(*) FROM {}.t", site.schema));
        assert!(conn.query("SELECT * FROM tt").error().is_some());
        let reply = conn.execute(&Execute::new(id, &[Param::Int(1)]));
        assert_eq!(reply.error().unwrap().code, 1243);
        note_variables(&mut conn).unwrap();
    }
    conn.transcript()
}

shared!(users_that_share_a_connection_keep_their_names on mariadb, mysql);
fn users_that_share_a_connection_keep_their_names(site: &Site) -> Transcript {
    let mut app = site.connect();
    let other = Login::with("other", "another password").schema(&site.schema);
    let mut other = site.connect_as(&other);
    let mut transcript = Transcript::default();
    for _ in 0..3 {
        for conn in [&mut app, &mut other] {
            conn.run("SELECT CURRENT_USER(), DATABASE(), @who");
            conn.run("SET @who = CURRENT_USER()");
            transcript.extend(conn.transcript());
        }
    }
    transcript
}

shared!(warnings_are_shown_in_front_of_a_routine on mariadb, mysql);
/// Before a routine, the proxy restores statements prepared by SQL text, because the routine may execute them.
fn warnings_are_shown_in_front_of_a_routine(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT)");
    conn.run(
        "CREATE FUNCTION f (x INT) RETURNS INT BEGIN INSERT INTO t (n) VALUES (x); \
         RETURN LAST_INSERT_ID(); END",
    );
    for pin in ["SET @a = 1", "SET rand_seed1 = 10, rand_seed2 = 20"] {
        conn.run(pin);
        conn.run("PREPARE s FROM 'SELECT 5'");
        conn.query("SELECT 'unclosed");
        conn.query("SHOW WARNINGS; SELECT f(1)");
        conn.run("SELECT CAST('x' AS SIGNED)");
        conn.query("SHOW WARNINGS; SELECT f(1); EXECUTE s");
    }
    conn.transcript()
}
