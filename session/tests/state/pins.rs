//! Pins: why a session stays on its connection, and until when; one test for each rule.

use super::stage::{MARIADB_10, MARIADB_11, MYSQL, Stage, err, ok, rows};
use pilotfish_session::state::{Hold, Pin, Pins, Ran, Rules};
use sql::Facts;
use wire::StatusFlags;

const IN_TRANS: StatusFlags = StatusFlags::IN_TRANS;

#[test]
fn a_hint_that_sets_a_variable_for_one_statement_pins_nothing() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SELECT /*+ SET_VAR(sort_buffer_size = 5) */ 1",
        rows(1).var("sort_buffer_size", "262144"),
    );
    assert_eq!(stage.pins(), "");
}

#[test]
fn connection_state_pins_until_it_ends() {
    let mut stage = Stage::new(MYSQL);
    for (name, on, off) in [
        ("profiling", "ON", "OFF"),
        (
            "optimizer_trace",
            "enabled=on,one_line=off",
            "enabled=off,one_line=off",
        ),
        ("gtid_next", "uuid:1", "AUTOMATIC"),
    ] {
        stage.says(&format!("SET {name} = @x"), ok().var(name, on));
        assert_eq!(stage.pins(), "variable", "{name}");
        stage.says(&format!("SET {name} = @x"), ok().var(name, off));
        assert_eq!(stage.pins(), "", "{name}");
    }
    stage.says("SET rand_seed1 = 5", ok().var("rand_seed1", "0"));
    assert_eq!(stage.pins(), "variable", "RAND() moves it on");
    stage.session.reset(&stage.table);
    assert_eq!(stage.pins(), "");
}

#[test]
fn names_that_depend_on_the_character_set_keep_the_session() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET character_set_client = latin1",
        ok().var("character_set_client", "latin1"),
    );
    // The bytes of the name are two letters in latin1.
    stage.says("SET @Ã = 1", ok().changed());
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("user_variable".into(), String::new())
    );
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET character_set_client = latin1",
        ok().var("character_set_client", "latin1"),
    );
    stage.says("USE `é`", ok().schema("é"));
    assert_eq!(
        stage.pins(),
        "variable",
        "COM_INIT_DB would mean another one"
    );
}

#[test]
fn temporary_tables_pin_until_all_are_dropped() {
    let mut stage = Stage::new(MYSQL);
    stage.says("USE d", ok().schema("d"));
    stage.says("CREATE TEMPORARY TABLE a (x INT)", ok().changed());
    stage.says("CREATE TEMPORARY TABLE e.b SELECT 1", ok().affected(1));
    stage.says("CREATE TEMPORARY TABLE failed (x INT)", err(1050));
    assert_eq!(stage.pins(), "temporary_table");
    assert_eq!(stage.session.held().temporary_tables().count(), 2);
    stage.says("DROP TEMPORARY TABLE a", ok().changed());
    stage.says("DROP TABLE b", err(1051));
    assert_eq!(stage.pins(), "temporary_table", "that was d.b");
    stage.says("DROP TABLE IF EXISTS e.b, c", ok().warnings(1));
    assert_eq!(stage.pins(), "");
    stage.says("CREATE TEMPORARY TABLE a (x INT)", ok().changed());
    stage.says("ALTER TABLE a RENAME TO c", ok().changed());
    stage.says("DROP TABLE a", ok());
    assert_eq!(
        stage.pins(),
        "temporary_table",
        "which one is which is not known"
    );
}

#[test]
fn statements_prepared_from_text_pin_until_deallocated_and_have_their_effects() {
    let mut stage = Stage::new(MYSQL);
    stage.says("PREPARE a FROM 'SELECT 1'", ok().changed());
    stage.says("PREPARE b FROM @text", ok().changed());
    stage.says("EXECUTE a", rows(1));
    assert_eq!(stage.pins(), "prepared_text", "SELECT 1 leaves nothing");
    stage.says("DEALLOCATE PREPARE A", ok().changed());
    stage.says("EXECUTE b", ok());
    assert_eq!(
        stage.pins(),
        "prepared_text,routine",
        "nobody knows what it says"
    );
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "PREPARE a FROM 'CREATE TEMPORARY TABLE t (x INT)'",
        ok().changed(),
    );
    stage.says("EXECUTE a", ok().changed());
    stage.says("DROP PREPARE a", ok().changed());
    assert_eq!(stage.pins(), "temporary_table");
}

#[test]
fn named_locks_end_when_the_server_says_that_they_are_free() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SELECT GET_LOCK('a', 1), GET_LOCK('b', 1)", rows(1));
    stage.says("SELECT GET_LOCK('a', 1)", rows(1));
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("named_lock".into(), String::new())
    );
    stage.says("DO RELEASE_LOCK('a')", ok());
    assert_eq!(
        stage.asks(),
        "SELECT IS_USED_LOCK(_utf8mb4 0x61)<=>CONNECTION_ID(),IS_USED_LOCK(_utf8mb4 0x62)<=>CONNECTION_ID()"
    );
    stage.hears_texts(&["0", "1"]);
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("named_lock".into(), String::new())
    );
    stage
        .says("SELECT RELEASE_LOCK('b')", rows(1))
        .hears_texts(&["0"]);
    assert_eq!(stage.pins(), "");
    stage.says("SELECT GET_LOCK(name, 1) FROM t", rows(1));
    stage.says("SELECT RELEASE_LOCK(name) FROM t", rows(1));
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("named_lock".into(), String::new()),
        "who knows which"
    );
    stage.says("DO RELEASE_ALL_LOCKS()", ok());
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("named_lock".into(), String::new()),
        "a lock without a known name ends with a reset"
    );
    let mut stage = Stage::new(MYSQL);
    stage.says("SELECT GET_LOCK('a', 1), nosuch()", err(1690));
    assert_eq!(
        stage.pins(),
        "transaction,named_lock,routine,state",
        "it may have been taken before the error"
    );
}

#[test]
fn a_lock_release_without_certain_effect_is_checked_on_the_server() {
    let ask = "IS_USED_LOCK(_utf8mb4 0x61)<=>CONNECTION_ID()";
    for release in [
        "SELECT RELEASE_ALL_LOCKS()",
        "SELECT IF(1, 2, RELEASE_ALL_LOCKS())",
        "SELECT RELEASE_ALL_LOCKS() FROM t WHERE 0",
        "SELECT RELEASE_LOCK('a') FROM t WHERE 0",
        "SELECT RELEASE_LOCK('b')",
        "DO RELEASE_LOCK(@name)",
        "SET @released = 1 OR RELEASE_ALL_LOCKS()",
    ] {
        let mut stage = Stage::new(MYSQL);
        stage.says("DO GET_LOCK('a', 1)", ok());
        assert_eq!(
            (stage.pins(), stage.asks()),
            ("named_lock".into(), String::new())
        );
        stage.says(release, ok());
        assert!(stage.asks().contains(ask), "{release}: {}", stage.asks());
    }
    let mut stage = Stage::new(MYSQL);
    stage.says("DO GET_LOCK('a', 1)", ok());
    stage
        .says("SELECT IF(1, 2, RELEASE_ALL_LOCKS())", rows(1))
        .hears_texts(&["1"]);
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("named_lock".into(), String::new())
    );
    stage
        .says("SELECT RELEASE_ALL_LOCKS()", rows(1))
        .hears_texts(&["0"]);
    assert_eq!(stage.pins(), "");
}

#[test]
fn locks_handlers_and_xa_pin_until_they_end() {
    let begin: &[(&str, &str)] = &[
        ("LOCK TABLES t WRITE", "table_lock"),
        ("FLUSH TABLES WITH READ LOCK", "global_lock"),
        ("LOCK INSTANCE FOR BACKUP", "instance_lock"),
        ("HANDLER t OPEN AS h", "handler"),
        ("XA START 'x'", "xa"),
    ];
    let end = [
        "UNLOCK TABLES",
        "UNLOCK TABLES",
        "UNLOCK INSTANCE",
        "HANDLER h CLOSE",
        "XA COMMIT 'x'",
    ];
    for ((begin, pin), end) in begin.iter().zip(end) {
        let mut stage = Stage::new(MYSQL);
        stage.says(begin, ok());
        assert_eq!(stage.pins(), *pin, "{begin}");
        stage.says(end, err(1205));
        assert!(
            stage.session.pins().iter().any(|held| held.name() == *pin),
            "{end} failed"
        );
        stage.says(end, ok());
        assert!(
            !stage.session.pins().iter().any(|held| held.name() == *pin),
            "{end}"
        );
    }
}

#[test]
fn ending_the_xa_transaction_of_another_session_does_not_pin() {
    for end in ["XA COMMIT 'x'", "XA ROLLBACK 'x'"] {
        let mut stage = Stage::new(MARIADB_10);
        stage.says(end, ok());
        assert_eq!(stage.pins(), "", "{end}");
        stage.says(end, err(1397));
        let pins: Vec<&str> = stage.session.pins().iter().map(|pin| pin.name()).collect();
        assert!(!pins.contains(&"xa"), "{end} failed: {pins:?}");
        stage.says("XA PREPARE 'y'", ok());
        stage.says(end, err(1399));
        let pins: Vec<&str> = stage.session.pins().iter().map(|pin| pin.name()).collect();
        assert!(pins.contains(&"xa"), "{end} ended nothing: {pins:?}");
    }
}

#[test]
fn the_status_flags_decide_about_a_transaction() {
    let mut stage = Stage::new(MYSQL);
    stage.says("BEGIN", ok().status(IN_TRANS));
    assert_eq!(stage.pins(), "transaction");
    stage.says("UPDATE t SET a = 1", err(1213));
    assert!(
        stage.session.pins().has(Pin::Transaction),
        "an error has no flags"
    );
    stage.says("COMMIT", ok());
    assert_eq!(stage.pins(), "");
    stage.says(
        "SET autocommit = 0",
        ok().var("autocommit", "OFF").without_autocommit(),
    );
    assert_eq!(stage.pins(), "", "nothing is open yet");
    stage.says("UPDATE t SET a = 1 WHERE b = 2", err(1205));
    assert!(
        stage.session.pins().has(Pin::Transaction),
        "one may have begun"
    );
    assert_eq!(stage.asks(), "DO 0");
    stage.hears(&ok().without_autocommit(), &[]);
    assert_eq!(stage.pins(), "");
}

#[test]
fn in_transaction_mode_autocommit_off_holds_from_the_first_statement() {
    let rules = Rules {
        hold: Hold::Transaction,
        ..Rules::default()
    };
    let mut stage = Stage::with(MYSQL, rules);
    stage.says(
        "SET autocommit = 0",
        ok().var("autocommit", "OFF").without_autocommit(),
    );
    assert!(stage.session.is_free());
    stage.says("SELECT 1", rows(1).without_autocommit());
    assert_eq!(stage.pins(), "transaction");
    stage.says("SET @a = 1", ok().changed().without_autocommit());
    assert_eq!(stage.pins(), "transaction");
    stage.says("COMMIT", ok().without_autocommit());
    assert!(stage.session.is_free());
    let mut stage = Stage::with(
        MYSQL,
        Rules {
            hold: Hold::Session,
            ..Rules::default()
        },
    );
    stage.says("SELECT 1", rows(1));
    assert!(!stage.session.is_free());
}

#[test]
fn settings_of_the_next_transaction_hold_until_the_server_reports_their_use() {
    let mut stage = Stage::new(MARIADB_10);
    stage.says(
        "SET TRANSACTION READ ONLY",
        ok().transaction("SET TRANSACTION READ ONLY;"),
    );
    assert_eq!(stage.pins(), "next_transaction");
    stage.says("SET TRANSACTION READ ONLY", ok());
    stage.says("SELECT * FROM t", rows(1).transaction(""));
    assert_eq!(stage.pins(), "");
    stage.says(
        "START TRANSACTION READ ONLY",
        ok().transaction("START TRANSACTION READ ONLY;")
            .status(IN_TRANS),
    );
    stage.says(
        "SET autocommit = 1",
        ok().var("autocommit", "ON")
            .transaction("SET TRANSACTION READ ONLY;"),
    );
    assert_eq!(stage.pins(), "next_transaction", "so does MariaDB");
}

#[test]
fn a_change_of_state_that_no_text_explains_pins() {
    let mut stage = Stage::new(MYSQL);
    stage.says("INSERT INTO t VALUES ('a')", ok().changed());
    assert_eq!(stage.pins(), "state", "a trigger");
    let waived = Rules {
        waived: Pins::from_iter([Pin::State, Pin::Routine]),
        ..Rules::default()
    };
    let mut stage = Stage::with(MYSQL, waived);
    stage.says("INSERT INTO t VALUES ('a')", ok().changed());
    stage.says("CALL p()", ok().changed());
    stage.says("SELECT f()", rows(1).changed());
    assert_eq!(stage.pins(), "");
}

#[test]
fn statements_with_lasting_effects_pin_with_their_reason() {
    for (text, pins) in [
        ("SET SOMETHING NEW", "opaque_set"),
        ("FROBNICATE", "routine"),
        ("CALL p()", "routine"),
        ("SELECT my_function(1)", "routine"),
        ("SET ROLE NONE", "role"),
        ("SET RESOURCE GROUP g", "resource_group"),
        ("SELECT NEXTVAL(s)", "sequence"),
    ] {
        let mut stage = Stage::new(if text.contains("NEXTVAL") {
            MARIADB_10
        } else {
            MYSQL
        });
        stage.says(text, ok());
        assert_eq!(stage.pins(), pins, "{text}");
        stage.session.reset(&stage.table);
        assert_eq!(stage.pins(), "", "{text}");
    }
    let mut stage = Stage::new(MYSQL);
    stage.ran(Ran::Unknown, &Facts::default(), "", &ok());
    stage.session.pin(Pin::LargeStatement);
    assert_eq!(stage.pins(), "large_statement,protocol");
}

#[test]
fn rules_pin_sessions_with_restorable_state() {
    let all = [
        Pin::UserVariable,
        Pin::Variable,
        Pin::PreparedStatement,
        Pin::Warnings,
    ];
    let rules = Rules {
        lasting: all.into_iter().collect(),
        ..Rules::default()
    };
    let mut stage = Stage::with(MYSQL, rules);
    stage.says(
        "SET NAMES latin1 COLLATE latin1_bin",
        ok().var("character_set_client", "latin1")
            .var("character_set_connection", "latin1")
            .var("character_set_results", "latin1"),
    );
    stage.says("USE d", ok().schema("d"));
    stage.says("SET autocommit = 1", ok().var("autocommit", "ON"));
    assert_eq!(stage.pins(), "", "they do not count");
    stage.says("INSERT INTO t VALUES ('a')", ok().warnings(2));
    assert_eq!(stage.pins(), "warnings");
    stage.says("SHOW WARNINGS", rows(2));
    assert_eq!(stage.pins(), "warnings");
    stage.says("SELECT 1", rows(1));
    assert_eq!(stage.pins(), "");
    stage.ran(Ran::Prepare, &Facts::default(), "SELECT 1", &ok());
    assert_eq!(stage.pins(), "prepared_statement");
    stage.says("SET @a = 1", ok().changed());
    stage.says("SET time_zone = '+00:00'", ok().var("time_zone", "+00:00"));
    assert_eq!(stage.pins(), "user_variable,variable,prepared_statement");
}

#[test]
fn several_statements_in_one_command_count_in_order() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "CREATE TEMPORARY TABLE a (x INT); DROP TEMPORARY TABLE a",
        ok().changed(),
    );
    assert_eq!(stage.pins(), "");
    stage.says("LOCK TABLES t READ; SELECT 1; UNLOCK TABLES", ok());
    assert_eq!(stage.pins(), "");
    stage.says(
        "CREATE TEMPORARY TABLE a (x INT); SELECT nosuch; DROP TEMPORARY TABLE a",
        err(1054),
    );
    assert!(
        stage.session.pins().has(Pin::TemporaryTable),
        "the error was somewhere in between"
    );
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @a = 1; SET @b = 2", ok().changed());
    assert_eq!(stage.pins(), "");
    stage.says("SET @a = 3; SELECT nosuch; SET @b = 4", err(1054));
    assert!(
        stage.session.pins().has(Pin::UserVariable),
        "who knows which ran"
    );
}

#[test]
fn a_held_connection_is_never_reset() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @a = 5", ok().changed());
    stage.gives_way();
    stage.says("DO GET_LOCK('a', 1)", ok());
    let listing = "SELECT * FROM information_schema.user_variables";
    assert_eq!(stage.set(listing), "SET @`a`=_binary'',@`a`=NULL");
    stage.connection.forget();
    assert_eq!(stage.set("SELECT 1"), "");
}

#[test]
fn cursors_pin_until_the_last_is_closed() {
    let mut stage = Stage::new(MYSQL);
    stage.session.cursors_open(2);
    assert_eq!(stage.pins(), "cursor");
    stage.session.cursors_open(0);
    assert_eq!(stage.pins(), "");
}

#[test]
fn assignments_of_a_trigger_are_not_explained_by_neighbouring_statements() {
    let sql = "SET sql_notes = 0; INSERT INTO t VALUES (1)";
    for (result, pins) in [(0, ""), (1, "state")] {
        let mut stage = Stage::new(MARIADB_11);
        stage.says(sql, ok().with(result).var("sql_notes", "OFF"));
        assert_eq!(stage.pins(), pins);
    }
    let mut stage = Stage::new(MARIADB_11);
    stage.says("INSERT INTO t VALUES (@a := 1)", ok().with(0).changed());
    assert!(stage.pins().contains("state"), "{}", stage.pins());
}
