//! Session state (behaviours 1 to 10): a value that a session sets stays set, on whichever connection the next
//! statement runs, and no other session sees it.

use e2e::Site;
use e2e::raw::{Execute, Login, Param, RawConn, Transcript, capability, command};
use e2e::steps::note_variables;

/// Runs each statement, and ignores errors.
fn say(conn: &mut RawConn, all: &[&str]) {
    for sql in all {
        conn.query(sql);
    }
}

shared!(variables_survive_another_connection on mariadb, mysql);
fn variables_survive_another_connection(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for sql in [
        "SET sql_mode = 'ANSI_QUOTES'",
        "SET time_zone = '+05:30'",
        "SET group_concat_max_len = 5",
        "SET foreign_key_checks = 0",
        "SELECT @@sql_mode, @@time_zone, @@group_concat_max_len, @@foreign_key_checks",
        "SELECT GROUP_CONCAT(n) FROM (SELECT 1000 AS n UNION SELECT 2000) AS t",
        "SHOW WARNINGS",
        "SELECT 1 AS \"quoted\", FROM_UNIXTIME(0)",
    ] {
        conn.run(sql);
    }
    conn.transcript()
}

/// Variables that change by themselves, or that would disturb the statements that follow.
const NOT_TO_BE_CHANGED: &[&str] = &[
    "autocommit",
    "big_tables",
    "binlog_row_event_max_size",
    "completion_type",
    "debug",
    "debug_sync",
    "gtid",
    "idle",
    "in_transaction",
    "innodb_tmpdir",
    "last_gtid",
    "max_execution_time",
    "max_join_size",
    "max_statement_time",
    "profiling",
    "pseudo",
    "rand_seed",
    "require_row_format",
    "resultset_metadata",
    "skip_parallel_replication",
    "skip_replication",
    "slave_skip_counter",
    "sql_big_selects",
    "sql_select_limit",
    "statement_id",
    "timestamp",
    "tmp_table_size",
    "transaction_read_only",
    "tx_read_only",
    "use_secondary_engine",
    "_timeout",
    "wsrep",
];

/// Another value of the same kind, as a literal.
fn another(value: &str) -> Option<String> {
    match value {
        "ON" => Some("OFF".into()),
        "OFF" => Some("ON".into()),
        number if number.len() < 10 => {
            let number: u64 = number.parse().ok()?;
            Some((number + number / 2 + 1).to_string())
        }
        _ => None,
    }
}

shared!(every_session_variable_survives on mariadb, mysql);
fn every_session_variable_survives(site: &Site) -> Transcript {
    let all = site.server.root().run("SHOW SESSION VARIABLES").texts();
    let mut conn = site.connect();
    let mut changed = Vec::new();
    for pair in &all {
        let left_alone = NOT_TO_BE_CHANGED.iter().any(|part| pair[0].contains(part));
        let Some(value) = another(&pair[1]).filter(|_| !left_alone) else {
            continue;
        };
        let reply = conn.query(&format!("SET SESSION {} = {value}", pair[0]));
        if reply.error().is_none() {
            changed.push(pair[0].clone());
        }
    }
    assert!(changed.len() > 60, "{changed:?}");
    for few in changed.chunks(1) {
        let list: Vec<String> = few.iter().map(|name| format!("@@session.{name}")).collect();
        conn.run(&format!("SELECT {}", list.join(", ")));
    }
    note_variables(&mut conn).unwrap();
    conn.transcript()
}

shared!(no_client_sees_anothers_settings on mariadb, mysql);
fn no_client_sees_anothers_settings(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    note_variables(&mut two).unwrap();
    say(
        &mut one,
        &[
            "SET NAMES latin1 COLLATE latin1_german1_ci",
            "SET sql_mode = '', time_zone = '-03:00', auto_increment_increment = 7",
            "SET @a = 'of one', lc_time_names = 'de_DE', default_storage_engine = MEMORY",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
            "USE mysql",
            "SELECT LAST_INSERT_ID(99)",
        ],
    );
    note_variables(&mut two).unwrap();
    two.run("SELECT @a, DATABASE(), LAST_INSERT_ID(), @@collation_connection");
    note_variables(&mut one).unwrap();
    one.quit();
    // The next session begins without variables.
    let mut three = site.connect();
    note_variables(&mut three).unwrap();
    three.run("SELECT @a, DATABASE(), LAST_INSERT_ID(), @@collation_connection");
    let mut transcript = two.transcript();
    transcript.extend(three.transcript());
    transcript
}

const SPELLINGS: &[&str] = &[
    "SET sql_mode = ''",
    "SET sql_mode = DEFAULT",
    "SET SESSION sql_mode = 'ANSI'",
    "SET LOCAL sql_mode = DEFAULT",
    "SET @@sql_mode = 'ANSI_QUOTES'",
    "SET @@session.sql_mode = @@global.sql_mode",
    "SET @@local.sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')",
    "SET @@SESSION.`sql_mode` = (SELECT 'TRADITIONAL')",
    "SET `sql_mode` := 'IGNORE_SPACE'",
    "set/**/session/**/sql_mode/**/=/**/'' /* that is all */",
    "/*!40101 SET sql_mode = 'ANSI' */",
    "/*!40101 SET @saved = @@sql_mode, sql_mode = '' */;",
    "-- first a comment\nSET sql_mode = @saved",
    "# another\nSET sql_mode = @saved, @saved = 5, group_concat_max_len = @saved",
    "SET group_concat_max_len = (SELECT 10 + @saved), @saved := @saved + 1, NAMES latin1",
    "SET NAMES utf8mb4, time_zone = '+02:00', @x = 'a, b = c', @y = (1, 2) = (1, 2)",
    "SET @z = 'it''s', @w = \"sql_mode = ''\", lc_time_names = 'de_DE'",
    "SET @`quoted name` = 1, @'another' = 2, @\"third\" = 3, @a.b$c = 4",
    "SET time_zone = TRIM(' +03:00 '), time_zone = IF(1, '+04:00', '-04:00')",
    "SET SESSION group_concat_max_len = 20, sql_safe_updates = ON, LOCAL foreign_key_checks = OFF",
    "SET @before = @@group_concat_max_len, group_concat_max_len = 30, @after = @@group_concat_max_len",
    "SET sql_mode = ANSI",
    "SET sql_safe_updates = FALSE, foreign_key_checks = 'on', unique_checks = 0",
    "SET group_concat_max_len = 4 + 4 * 2",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET SESSION TRANSACTION READ WRITE, ISOLATION LEVEL READ COMMITTED",
    "SET CHARACTER SET latin1",
    "SET CHARSET utf8mb4",
    "SET character_set_results = NULL, collation_connection = utf8mb4_bin",
    "SET NAMES DEFAULT; SET sql_mode = ''; SET @last = 'of three'",
];

shared!(every_spelling_of_set_is_understood on mariadb, mysql);
fn every_spelling_of_set_is_understood(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for sql in SPELLINGS {
        conn.query(sql);
        conn.query(
            "SELECT @@sql_mode, @@time_zone, @@group_concat_max_len, @@lc_time_names, \
             @@sql_safe_updates, @@foreign_key_checks, @@unique_checks, @@character_set_client, \
             @@character_set_results, @@collation_connection, @saved, @x, @y, @z, @w, \
             @`quoted name`, @another, @third, @a.b$c, @before, @after, @last",
        );
    }
    note_variables(&mut conn).unwrap();
    conn.transcript()
}

shared!(an_invalid_set_fails_at_once on mariadb, mysql);
fn an_invalid_set_fails_at_once(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for (sql, code) in [
        ("SET sql_mode = 'NONSENSE'", 1231),
        ("SET time_zone = 'nowhere'", 1298),
        ("SET group_concat_max_len = 'many'", 1232),
        ("SET @a = 1, sql_mode = 'NONSENSE', @b = 2", 1231),
        ("SET time_zone = '+01:00', no_such_variable = 1", 1193),
        ("SET max_connections = 5", 1229),
        ("SET version = '5'", 1238),
        ("SET sql_mode = ", 1064),
        ("SET @a = (SELECT missing)", 1054),
        ("SET foreign_key_checks = 7", 1231),
        ("SELECT 1; SET net_buffer_length = 16384", 1621),
        (
            "SET @a = 2; SET max_connections = 5; SET sql_mode = ''",
            1229,
        ),
    ] {
        assert_eq!(conn.query(sql).error().unwrap().code, code, "{sql}");
        conn.run("SHOW WARNINGS");
        conn.run("SELECT @@sql_mode, @@time_zone, @@group_concat_max_len, @a, @b");
    }
    conn.transcript()
}

shared!(character_sets_and_collations_belong_to_their_session on mariadb, mysql);
fn character_sets_and_collations_belong_to_their_session(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for sql in [
        "SET NAMES latin1",
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci'",
        "SET NAMES utf8",
        "SET NAMES utf8mb3 COLLATE utf8mb3_bin",
        "SET CHARACTER SET latin2",
        "SET character_set_results = NULL",
        "SET character_set_results = binary",
        "SET character_set_connection = ucs2",
        "SET collation_connection = 'latin1_german2_ci'",
        "SET NAMES utf8mb4 COLLATE utf8mb4_0900_as_ci",
        "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin",
        "SET NAMES cp1251",
        "SET NAMES binary",
        "SET NAMES DEFAULT",
    ] {
        conn.query(sql);
        conn.run(
            "SELECT @@character_set_client, @@character_set_connection, @@character_set_results, \
             @@collation_connection, COLLATION('x'), 'a' = 'A', HEX('ü')",
        );
    }
    conn.transcript()
}

shared!(a_collation_beyond_255_may_be_asked_for_at_login on mariadb, mysql);
fn a_collation_beyond_255_may_be_asked_for_at_login(site: &Site) -> Transcript {
    let mut transcript = Transcript::default();
    // utf8mb4_0900_ai_ci is 255, utf8mb4_ja_0900_as_cs 303; MariaDB's utf8mb4_nopad_bin is 1070.
    for collation in [8, 33, 46, 63, 224, 255, 303, 1070] {
        let mut conn = site.connect();
        let mut login = Login::app().schema(&site.schema);
        login.collation = collation;
        let changed = conn.change_user(&login).is_ok();
        transcript.note(format!("{collation}: {changed}"));
        conn.query("SELECT @@collation_connection, @@character_set_results, COLLATION('x')");
        conn.query("SELECT @@collation_connection, HEX('é')");
        transcript.extend(conn.transcript());
    }
    transcript
}

shared!(an_unknown_character_set_is_an_error_and_no_more on mariadb, mysql);
fn an_unknown_character_set_is_an_error_and_no_more(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for (sql, code) in [
        ("SET NAMES nonsense", 1115),
        ("SET NAMES utf8mb4 COLLATE nonsense", 1273),
        ("SET NAMES latin1 COLLATE utf8mb4_bin", 1253),
        ("SET NAMES ucs2", 1231),
        ("SET CHARACTER SET nonsense", 1115),
        ("SET collation_connection = nonsense", 1273),
        ("SET character_set_client = utf16", 1231),
        ("SET no_such_variable = 1", 1193),
        ("SELECT @@no_such_variable", 1193),
    ] {
        assert_eq!(conn.query(sql).error().unwrap().code, code, "{sql}");
        conn.run("SELECT @@character_set_client, @@collation_connection, 'größe'");
    }
    conn.transcript()
}

shared!(variables_set_in_routines_are_tracked on mariadb, mysql);
fn variables_set_in_routines_are_tracked(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run(
        "CREATE PROCEDURE p (mode_wanted VARCHAR(50)) BEGIN SET SESSION sql_mode = mode_wanted; \
         SET @p = mode_wanted, time_zone = '+03:00'; SET NAMES latin1; END",
    );
    conn.run(
        "CREATE FUNCTION f (n INT) RETURNS INT BEGIN SET @f = n; \
         SET group_concat_max_len = 100 + n; RETURN n; END",
    );
    conn.run("CREATE TABLE t (n INT)");
    conn.run(
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET @t = NEW.n, foreign_key_checks = 0",
    );
    let look = "SELECT @p, @f, @t, @@sql_mode, @@time_zone, @@group_concat_max_len, \
                @@character_set_client, @@foreign_key_checks";
    for sql in [
        "CALL p('ANSI_QUOTES')",
        "SELECT f(5)",
        "INSERT INTO t VALUES (7)",
        "DO f(6)",
        "SET @x = f(8)",
        "SELECT 1; CALL p(''); SELECT 2",
        "PREPARE s FROM 'CALL p(\"TRADITIONAL\")'",
        "EXECUTE s",
    ] {
        conn.query(sql);
        conn.run(look);
        conn.run(look);
    }
    conn.transcript()
}

shared!(variables_set_by_triggers_are_tracked_in_every_statement on mariadb, mysql);
fn variables_set_by_triggers_are_tracked_in_every_statement(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("CREATE TABLE t (n INT)");
    conn.run("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET @t = NEW.n");
    let mut transcript = conn.transcript();
    drop(conn);
    for sql in [
        "SET sql_notes = 0; INSERT INTO t VALUES (7)",
        "INSERT INTO t VALUES (@x := 8)",
        "SET @x = 1; INSERT INTO t VALUES (9); SELECT 2",
    ] {
        let mut conn = site.connect();
        conn.run(sql);
        conn.run("SELECT @t, @x, @@sql_notes");
        conn.run("SELECT @t, @x, @@sql_notes");
        transcript.extend(conn.transcript());
    }
    transcript
}

shared!(variables_set_by_prepared_statements_are_tracked on mariadb, mysql);
fn variables_set_by_prepared_statements_are_tracked(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let look = "SELECT @@time_zone, @@sql_mode, @u, @@character_set_client, @@group_concat_max_len";
    let zone = conn.prepare("SET time_zone = ?, @u = ?").statement();
    let names = conn.prepare("SET NAMES latin1").statement();
    for value in ["+01:00", "-02:00", "nowhere"] {
        conn.execute(&Execute::new(zone, &[Param::Text(value), Param::Int(5)]));
        conn.run(look);
    }
    conn.execute(&Execute::new(names, &[]));
    conn.run(look);
    say(
        &mut conn,
        &[
            "PREPARE s FROM 'SET sql_mode = \"ANSI\", @u = ?'",
            "SET @v = 'by text'",
            "EXECUTE s USING @v",
            look,
            "SET @sql = 'SET group_concat_max_len = 40'",
            "PREPARE s FROM @sql",
            "EXECUTE s",
            "DEALLOCATE PREPARE s",
            look,
            "EXECUTE s",
        ],
    );
    conn.transcript()
}

shared!(an_idle_session_ends_by_its_own_wait_timeout on mariadb, mysql);
fn an_idle_session_ends_by_its_own_wait_timeout(site: &Site) -> Transcript {
    let mut conn = site.connect();
    conn.run("SET wait_timeout = 1, net_read_timeout = 31, net_write_timeout = 61");
    // MySQL sends an error with the reason, MariaDB only closes the connection.
    while conn.unrecorded(|conn| conn.packet_of_any_order()).is_ok() {}
    assert!(conn.unrecorded(RawConn::is_closed_by_server));
    let mut transcript = conn.transcript();
    transcript.note("closed");
    let mut other = site.connect();
    other.run("SELECT @@wait_timeout, @@net_read_timeout, @@net_write_timeout");
    other.run("SET wait_timeout = 1000, net_read_timeout = 32");
    other.run("SELECT @@wait_timeout, @@net_read_timeout, @@net_write_timeout");
    transcript.extend(other.transcript());
    transcript
}

shared!(user_variables_belong_to_their_session on mariadb, mysql);
fn user_variables_belong_to_their_session(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    one.run("CREATE TABLE t (n INT, s VARCHAR(20) CHARACTER SET latin1)");
    one.run("INSERT INTO t VALUES (1, 'née'), (2, 'b'), (3, NULL)");
    for sql in [
        "SET @a = 1, @b = 'text', @c = NULL, @d = 1.50, @e = 2e0, @f = x'00FF27'",
        "SET @g = _latin1 0xE9 COLLATE latin1_german1_ci, @h = 18446744073709551615, @i = -5",
        "SELECT @a := @a + n AS sum FROM t ORDER BY n",
        "SELECT n, s FROM t ORDER BY n DESC LIMIT 1, 1 INTO @j, @k",
        "SELECT s INTO @l FROM t WHERE n = 1",
        "SET @`a b` = 'quoted', @ü = 'ü', @A = @a * 2",
        "SET @n = DATE '2024-02-29', @o = TIME '11:22:33', @p = b'101', @q = TRUE",
        "SET @r = REPEAT('long ', 2000)",
        "SET @s = JSON_OBJECT('a', 1)",
        // From here on the session is pinned, because the table might have a trigger.
        "UPDATE t SET n = (@m := n + 10)",
    ] {
        one.query(sql);
        two.query("SELECT @a, @b, @c, @d, @e, @f, @g, @j, @m, @`a b`");
        one.run("SELECT @a, @b, @c, @d, @e, @f, @g, @h, @i, @j, @k, @l, @m, @n, @o, @p, @q, @s");
        one.run(
            "SELECT @A, @`a b`, @ü, LENGTH(@r), COLLATION(@g), COLLATION(@k), CHARSET(@f), \
             COERCIBILITY(@b), @never",
        );
    }
    two.run("SET @a = 'of two'");
    one.run("SELECT @a");
    let mut transcript = one.transcript();
    transcript.extend(two.transcript());
    transcript
}

shared!(a_user_variable_that_its_character_set_does_not_allow_is_kept on mariadb, mysql);
fn a_user_variable_that_its_character_set_does_not_allow_is_kept(site: &Site) -> Transcript {
    let mut conn = site.connect();
    for names in ["utf8mb3", "utf8mb4"] {
        conn.run(&format!("SET NAMES {names}"));
        conn.query("SET @fish = 'größe 🐟', @torn = CONCAT('a', _binary 0xC3)");
        conn.query("SELECT HEX(@fish), COLLATION(@fish), HEX(@torn), COLLATION(@torn)");
        conn.run("SELECT HEX(@fish), HEX(@torn), @@collation_connection");
    }
    conn.transcript()
}

shared!(user_variables_of_a_disconnected_client_are_cleared on mariadb, mysql);
fn user_variables_of_a_disconnected_client_are_cleared(site: &Site) -> Transcript {
    let mut one = site.connect();
    one.run("SET @a = 'secret', @b = 2");
    one.quit();
    let mut two = site.connect_as(&site.login().and(capability::SESSION_TRACK));
    two.run("SELECT @a, @b");
    two.transcript()
}

shared!(use_is_understood_in_every_spelling on mariadb, mysql);
fn use_is_understood_in_every_spelling(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let schema = &site.schema;
    conn.run("CREATE TABLE here (n INT)");
    for sql in [
        "USE mysql".to_owned(),
        format!("use `{schema}`"),
        "/* to */ USE /* another */ mysql -- now".to_owned(),
        format!("USE {schema};"),
        "USE no_such_schema".to_owned(),
        "USE".to_owned(),
        "USE `no``such`".to_owned(),
        format!("SELECT 1; USE mysql; USE {schema}"),
        "USE information_schema; SELECT nonsense".to_owned(),
        format!("USE {schema}"),
    ] {
        conn.query(&sql);
        conn.run("SELECT DATABASE()");
        conn.query("SELECT * FROM here");
    }
    conn.run(&format!("CREATE DATABASE {schema}x"));
    conn.run(&format!("USE {schema}x"));
    conn.run("SELECT DATABASE()");
    conn.run(&format!("DROP DATABASE {schema}x"));
    conn.run("SELECT DATABASE()");
    conn.query("SELECT * FROM here");
    conn.transcript()
}

shared!(a_time_is_read_in_its_zone on mariadb);
/// The time of system versioning is the same moment in another time zone, but its text differs.
fn a_time_is_read_in_its_zone(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let ask = "SELECT @@system_versioning_asof, @@time_zone";
    for set in [
        "SET time_zone = '+02:00'",
        "SET system_versioning_asof = '2020-01-01'",
        "SET time_zone = '+05:45'",
        "SET system_versioning_asof = '2020-02-02', time_zone = '-03:00'",
        "SET time_zone = '+01:00', system_versioning_asof = '2020-03-03'",
        "SET sql_mode = ''",
        "SET time_zone = DEFAULT",
        "SET system_versioning_asof = DEFAULT",
    ] {
        conn.run(set);
        conn.run(ask);
        conn.run(ask);
    }
    conn.transcript()
}

shared!(user_variables_move_up_to_64_kib_and_pin_beyond on mariadb, mysql);
fn user_variables_move_up_to_64_kib_and_pin_beyond(site: &Site) -> Transcript {
    let mut one = site.connect();
    let mut two = site.connect();
    let mut check = |sql: &str, is_pinned: bool| {
        one.run(sql);
        match is_pinned {
            true => site.assert_pinned(),
            false => site.assert_unpinned(),
        }
        if !is_pinned {
            two.run("SELECT @a");
        }
        one.run("SELECT CRC32(@a), LENGTH(@a), CRC32(@b)");
    };
    let literal = |length: usize| format!("SET @a = '{}'", "l".repeat(length));
    check(&literal(40_000), false);
    check("SET @a = REPEAT('x', 40000)", false);
    check("SET @b = REPEAT('y', 25000)", false);
    check("SET @b = REPEAT('y', 26000)", true);
    check("SET @b = 'short'", false);
    check("SET @a = REPEAT('x', 66000)", true);
    check("SET @a = 'short'", false);
    check(&literal(70_000), true);
    check("SET @a = 'short'", false);
    // A value that is too long for the proxy to fetch pins the session until the reset.
    for length in [600_000, 3_000_000] {
        check(&format!("SET @a = REPEAT('x', {length})"), true);
    }
    one.command(command::RESET_CONNECTION, b"");
    site.assert_unpinned();
    one.transcript()
}
