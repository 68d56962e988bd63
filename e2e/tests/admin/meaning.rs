//! The SQL of the admin port: SQLite's, and the MySQL statements that client libraries send.

use super::{Watched, columns};

#[test]
fn statements_that_client_libraries_send_at_login_are_answered() {
    let watched = Watched::alone();
    let mut look = watched.look();
    for (sql, expected) in [
        (
            "SELECT `name` FROM `pilotfish`.`settings` WHERE `name` = \"zone\"",
            "zone",
        ),
        (r"SELECT 'it\'s'", "it's"),
        ("SELECT /*!40001 DISTINCT */ 1", "1"),
        ("/* ApplicationName=x */ SELECT 5 FROM DUAL LIMIT 0, 1", "5"),
        (
            "SELECT @@version_comment LIMIT 1",
            "Pilotfish, the admin port",
        ),
        ("SELECT @@limits.sessions_max", "20000"),
        ("SELECT DATABASE()", "pilotfish"),
        ("SELECT CURRENT_USER()", "look@127.0.0.1"),
        ("SHOW VARIABLES LIKE 'sql\\_mode'", "sql_mode"),
        (
            "SHOW SESSION VARIABLES WHERE Variable_name = 'autocommit'",
            "autocommit",
        ),
        (
            "SHOW GLOBAL STATUS LIKE 'Backends\\_usable'",
            "Backends_usable",
        ),
        (
            "SHOW FULL TABLES FROM `stats` LIKE '%processlist'",
            "stats_mysql_processlist",
        ),
        ("SHOW DATABASES LIKE 'main'", "main"),
        ("SHOW FULL COLUMNS FROM sessions LIKE 'id'", "id"),
        ("DESCRIBE sessions user", "user"),
        (
            "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA LIMIT 1",
            "pilotfish",
        ),
    ] {
        assert_eq!(look.run(sql).texts()[0][0], expected, "{sql}");
    }
    let names = columns(&mut look, "SELECT @@session.autocommit, @@license AS l");
    assert_eq!(names, ["@@session.autocommit", "l"]);
    for sql in [
        "SET NAMES utf8mb4",
        "SET autocommit = 1, sql_mode = ''",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET character_set_results = NULL",
        "SHOW WARNINGS",
        "SHOW COUNT(*) WARNINGS",
        "USE stats",
    ] {
        assert!(look.query(sql).error().is_none(), "{sql}");
    }
}

#[test]
fn unsupported_statements_are_refused_with_an_alternative() {
    let watched = Watched::alone();
    let mut root = watched.root();
    for (sql, code, instead) in [
        ("SELECT NOW()", 1305, "datetime('now')"),
        ("SELECT 7 DIV 2", 1064, "SQLite"),
        ("SELECT 'a' REGEXP 'b'", 1305, "LIKE"),
        (
            "UPDATE mysql_servers SET weight = 2",
            1146,
            "UPDATE backends",
        ),
        (
            "INSERT INTO mysql_users (username) VALUES ('x')",
            1146,
            "UPDATE accounts",
        ),
        ("DELETE FROM mysql_query_rules", 1146, "UPDATE rules"),
        ("SELECT * FROM global_variables", 1146, "settings"),
        (
            "SELECT * FROM stats.stats_mysql_query_digest_reset",
            1146,
            "RESET DIGESTS",
        ),
        (
            "SELECT * FROM information_schema.PROCESSLIST",
            1146,
            "sessions",
        ),
        ("LOAD MYSQL SERVERS TO RUNTIME", 1235, "SAVE"),
        ("SAVE MYSQL USERS TO DISK", 1235, "SAVE"),
        ("PROXYSQL FLUSH LOGS", 1235, "FLUSH LOGS"),
        ("SET mysql-max_connections = 5", 1193, "settings"),
        ("SHOW MYSQL USERS", 1235, "accounts"),
        ("SHOW ENGINES", 1235, "help"),
        ("LOCK TABLES backends READ", 1235, "lock"),
    ] {
        let reply = root.query(sql);
        let error = reply.error().unwrap_or_else(|| panic!("{sql} is answered"));
        assert_eq!(error.code, code, "{sql}: {}", error.text);
        assert!(error.text.contains(instead), "{sql}: {}", error.text);
    }
    assert!(root.run("SHOW CHANGES").texts().is_empty());
}
