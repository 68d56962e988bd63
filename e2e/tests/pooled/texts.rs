//! PREPARE, EXECUTE and DEALLOCATE in SQL text: such statements do not pin the connection.

use e2e::Site;
use e2e::raw::{Execute, Transcript};

shared!(statements_prepared_by_text_do_not_pin on mariadb, mysql);
fn statements_prepared_by_text_do_not_pin(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT, s VARCHAR(20))");
    conn.run("PREPARE ins FROM 'INSERT INTO t VALUES (?, ?)'");
    conn.run("PREPARE sel FROM 'SELECT * FROM t ORDER BY n'");
    for n in 0..3 {
        conn.run(&format!("SET @n = {n}, @s = 'row {n}'"));
        site.assert_unpinned();
        conn.run("EXECUTE ins USING @n, @s");
        site.assert_unpinned();
        conn.run("EXECUTE sel");
        site.assert_unpinned();
        conn.run("SELECT ROW_COUNT()");
    }
    conn.run("BEGIN");
    conn.run("EXECUTE ins USING @n, @s");
    site.assert_pinned();
    conn.run("ROLLBACK");
    site.assert_unpinned();
    conn.run("EXECUTE sel");
    conn.query("EXECUTE ins USING @n");
    conn.run("DROP PREPARE ins");
    site.assert_unpinned();
    assert_eq!(
        conn.query("EXECUTE ins USING @n, @s").error().unwrap().code,
        1243
    );
    conn.run("EXECUTE sel; EXECUTE sel");
    conn.run("ALTER TABLE t ADD COLUMN more INT");
    conn.run("EXECUTE sel");
    conn.run("DROP TABLE t");
    conn.query("EXECUTE sel");
    conn.run("DEALLOCATE PREPARE sel");
    conn.transcript()
}

shared!(statements_prepared_by_text_keep_the_settings_of_their_preparation on mariadb, mysql);
fn statements_prepared_by_text_keep_the_settings_of_their_preparation(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let schema = &site.schema;
    conn.run("CREATE TABLE own (n INT)");
    conn.run("INSERT INTO own VALUES (7)");
    conn.run("PREPARE here FROM 'SELECT n, DATABASE() FROM own'");
    conn.run("SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'");
    conn.run("PREPARE modes FROM 'SELECT ''a'' || \"n\" FROM own'");
    conn.run("SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
    conn.run("PREPARE escapes FROM 'SELECT ''\\'''");
    conn.run("SET sql_mode = DEFAULT");
    conn.run("SET NAMES latin1");
    conn.run("PREPARE charset FROM 'SELECT CHARSET(''x'')'");
    conn.run("SET NAMES utf8mb4");
    conn.run("USE mysql");
    for _ in 0..2 {
        for name in ["here", "modes", "escapes", "charset"] {
            conn.run(&format!("EXECUTE {name}"));
            conn.run("SELECT DATABASE(), @@sql_mode, @@character_set_client");
            site.assert_unpinned();
        }
    }
    conn.run(&format!("CREATE DATABASE {schema}x"));
    conn.run(&format!("USE {schema}x"));
    conn.run("PREPARE gone FROM 'SELECT DATABASE()'");
    conn.run(&format!("USE {schema}"));
    conn.run("EXECUTE gone");
    conn.run("SELECT DATABASE()");
    conn.run(&format!("DROP DATABASE {schema}x"));
    conn.run("EXECUTE here");
    conn.run("DEALLOCATE PREPARE gone");
    conn.transcript()
}

shared!(a_statement_whose_schema_was_dropped_ends_no_transaction on mariadb, mysql);
fn a_statement_whose_schema_was_dropped_ends_no_transaction(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let schema = &site.schema;
    conn.run("CREATE TABLE t (n INT)");
    conn.run(&format!("CREATE DATABASE {schema}x"));
    conn.run(&format!("USE {schema}x"));
    conn.run("PREPARE gone FROM 'SELECT DATABASE()'");
    let id = conn.prepare("SELECT DATABASE()").statement();
    conn.run(&format!("USE {schema}"));
    conn.run(&format!("DROP DATABASE {schema}x"));
    conn.run("BEGIN");
    conn.run("INSERT INTO t VALUES (1)");
    // The server reports an error for it, and the session goes on.
    conn.unrecorded(|conn| conn.query("EXECUTE gone"));
    site.assert_pinned();
    conn.unrecorded(|conn| conn.execute(&Execute::new(id, &[])));
    site.assert_pinned();
    conn.run("SELECT n, DATABASE() FROM t");
    conn.run("COMMIT");
    conn.run("SELECT n, DATABASE() FROM t");
    conn.run("DEALLOCATE PREPARE gone");
    conn.transcript()
}

shared!(a_procedure_can_execute_statements_that_its_session_prepared on mariadb, mysql);
fn a_procedure_can_execute_statements_that_its_session_prepared(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let mut other = site.connect();
    conn.run("CREATE PROCEDURE runs () EXECUTE s");
    conn.run("PREPARE s FROM 'SELECT ''of one'''");
    other.run("PREPARE s FROM 'SELECT ''of the other'''");
    assert_eq!(conn.query("CALL runs()").error(), None);
    conn.run("EXECUTE s");
    conn.command(e2e::raw::command::RESET_CONNECTION, b"");
    site.assert_unpinned();
    assert_eq!(conn.query("CALL runs()").error().unwrap().code, 1243);
    conn.command(e2e::raw::command::RESET_CONNECTION, b"");
    other.run("EXECUTE s");
    let mut transcript = conn.transcript();
    transcript.extend(other.transcript());
    transcript
}
