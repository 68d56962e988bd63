//! The data of random sessions: two schemas for each, with tables, routines and a view.

use e2e::Server;

use super::script::Session;

/// The names of a session's schemas.
pub fn schemas(number: usize) -> [String; 2] {
    ["one", "two"].map(|name| format!("r{number}_{name}"))
}

/// The schema that the sessions of a crowd read.
pub const COMMON: &str = "r_common";

/// The number of rows in its table.
pub const COMMON_ROWS: u64 = 80;

const TABLES: &[&str] = &[
    "CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, n INT, s VARCHAR(50), UNIQUE (n))",
    "INSERT INTO a (n, s) VALUES (10, 'ten'), (20, 'twenty'), (30, 'größer 🐟'), (40, NULL)",
    "CREATE TABLE b (id INT PRIMARY KEY AUTO_INCREMENT, d DECIMAL(10,3), \
     t VARCHAR(20) CHARACTER SET latin1, bl BLOB, dt DATETIME)",
    "INSERT INTO b (d, t, bl, dt) VALUES (1.5, 'née', 0x00FF, '2024-02-29 12:00:00'), \
     (-2, 'x', NULL, NULL)",
    "CREATE TABLE parent (id INT PRIMARY KEY)",
    "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))",
    "CREATE VIEW v AS SELECT id, n * 2 AS twice FROM a",
    "CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)",
    "CREATE TRIGGER counting BEFORE INSERT ON counted FOR EACH ROW SET @counted = NEW.n",
];

const ROUTINES: &[&str] = &[
    // If a value does not fit a parameter, MariaDB's error names a row, and takes the number from the previous
    // statement. So all values fit.
    "CREATE PROCEDURE p_out (IN x BLOB, OUT y INT, INOUT z BLOB) BEGIN SELECT x, z; \
     SET y = LENGTH(x) + LENGTH(z); SET z = LEFT(CONCAT(z, '+'), 40); END",
    "CREATE PROCEDURE p_set (mode_wanted VARCHAR(50)) BEGIN SET SESSION sql_mode = mode_wanted; \
     SET @by_procedure = mode_wanted; SET time_zone = '+03:00'; END",
    "CREATE PROCEDURE p_names () SET NAMES latin1",
    "CREATE PROCEDURE p_temporary (x INT) BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS tp (n INT); \
     INSERT INTO tp VALUES (x); SELECT COUNT(*) FROM tp; END",
    "CREATE PROCEDURE p_no_temporary () DROP TEMPORARY TABLE IF EXISTS tp",
    "CREATE PROCEDURE p_rows () BEGIN SELECT n FROM a ORDER BY id LIMIT 2; SELECT 'second'; \
     SELECT s FROM a WHERE id < 0; END",
    "CREATE PROCEDURE p_fails () BEGIN SELECT 1; SIGNAL SQLSTATE '45000' \
     SET MESSAGE_TEXT = 'as told', MYSQL_ERRNO = 4711; END",
    "CREATE PROCEDURE p_insert (x INT) BEGIN INSERT INTO counted (n) VALUES (x); \
     SELECT LAST_INSERT_ID(); END",
    "CREATE PROCEDURE p_begin () BEGIN START TRANSACTION; INSERT INTO counted (n) VALUES (1); END",
    "CREATE PROCEDURE p_prepare () BEGIN PREPARE in_procedure FROM 'SELECT \"prepared\"'; \
     EXECUTE in_procedure; END",
    "CREATE FUNCTION f_set (x INT) RETURNS INT BEGIN SET @by_function = x; \
     SET SESSION group_concat_max_len = 100 + x; RETURN x; END",
    "CREATE FUNCTION f_insert (x INT) RETURNS INT BEGIN INSERT INTO counted (n) VALUES (x); \
     RETURN LAST_INSERT_ID(); END",
    "CREATE FUNCTION f_lock (name VARCHAR(50)) RETURNS INT RETURN GET_LOCK(name, 5)",
];

/// Makes the sessions' schemas anew.
pub fn fill(server: &Server, sessions: &[Session]) {
    let mut root = server.root();
    // A session that still runs may hold the tables: better an error than a day's wait.
    root.run("SET lock_wait_timeout = 20");
    for row in root.run("XA RECOVER").texts() {
        root.query(&format!("XA ROLLBACK '{}'", row[3]));
    }
    for session in sessions {
        root.run(&format!("DROP DATABASE IF EXISTS r{}_own", session.number));
        for schema in schemas(session.number) {
            root.run(&format!("DROP DATABASE IF EXISTS {schema}"));
            root.run(&format!("CREATE DATABASE {schema}"));
            root.run(&format!("USE {schema}"));
            for sql in TABLES.iter().chain(ROUTINES) {
                root.run(sql);
            }
        }
    }
}

/// Makes the schema that the sessions of a crowd read.
pub fn fill_common(server: &Server) {
    let mut root = server.root();
    root.run(&format!("CREATE DATABASE {COMMON}"));
    root.run(&format!("USE {COMMON}"));
    root.run("CREATE TABLE common (id INT PRIMARY KEY, n INT, s VARCHAR(50), KEY (n))");
    let row = |id: u64| match id % 7 {
        3 => format!("({id}, NULL, NULL)"),
        5 => format!("({id}, {}, '{id}')", id % 11),
        _ => format!("({id}, {}, 'größer {id} 🐟')", id % 11),
    };
    let rows: Vec<_> = (0..COMMON_ROWS).map(row).collect();
    root.run(&format!("INSERT INTO common VALUES {}", rows.join(",")));
}
