//! What the state model knows, restores, asks and holds; each by a sentence.

#![allow(missing_docs)]

#[path = "state/stage.rs"]
mod stage;

use std::rc::Rc;

use pilotfish_session::state::{Hold, LastInsertId, Pin, Pins, Ran, Rules, distance};
use sql::Facts;
use stage::{MARIADB_10, MARIADB_11, MYSQL, Stage, err, ok, rows};
use wire::StatusFlags;

const IN_TRANS: StatusFlags = StatusFlags::IN_TRANS;

#[test]
fn equal_states_are_one_pointer_and_the_dead_are_forgotten() {
    let mut stage = Stage::new(MYSQL);
    assert_eq!(stage.table.count(), 1);
    for i in 0..1000 {
        let value = i.to_string();
        stage.says(
            "SET sort_buffer_size = @x",
            ok().var("sort_buffer_size", &value),
        );
    }
    let one = Rc::clone(stage.session.values());
    assert!(stage.table.count() <= 2, "the fresh one and the last");
    stage.says(
        "SET sort_buffer_size = 5",
        ok().var("sort_buffer_size", "5"),
    );
    stage.says(
        "SET sort_buffer_size = 999",
        ok().var("sort_buffer_size", "999"),
    );
    assert!(Rc::ptr_eq(&one, stage.session.values()));
    assert!(Rc::ptr_eq(&one, stage.connection.values().expect("known")));
}

#[test]
fn what_the_trackers_say_is_set_on_the_next_connection() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET time_zone = '+03:00', sort_buffer_size = 7 * 5",
        ok().var("time_zone", "+03:00")
            .var("sort_buffer_size", "35"),
    );
    stage.says("CALL nothing()", ok());
    assert_eq!(stage.pins(), "routine");
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET time_zone = '+03:00', sort_buffer_size = 7 * 5",
        ok().var("time_zone", "+03:00")
            .var("sort_buffer_size", "35"),
    );
    assert_eq!(stage.set("SELECT 1"), "", "it is as the session was");
    assert_eq!(
        stage.moves("SELECT 1"),
        "SET SESSION sort_buffer_size=35,SESSION time_zone=0x2B30333A3030"
    );
    assert_eq!(distance(&stage.session, &stage.connection), 2);
    stage.restore("SELECT 1").expect("they are taken");
    assert_eq!(stage.set("SELECT 1"), "");
    assert_eq!(distance(&stage.session, &stage.connection), 0);
    stage.gives_way();
    assert_eq!(
        stage.set("SELECT 1"),
        "SET SESSION sort_buffer_size=DEFAULT,SESSION time_zone=DEFAULT"
    );
}

#[test]
fn a_connection_goes_back_to_what_login_left_where_default_would_not_give_it() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET foreign_key_checks = 0",
        ok().var("foreign_key_checks", "OFF"),
    );
    stage.says(
        "SET character_set_results = NULL",
        ok().var("character_set_results", ""),
    );
    assert_eq!(
        stage.moves("SELECT 1"),
        "SET SESSION character_set_results=NULL,SESSION foreign_key_checks=0x4F4646"
    );
    stage.restore("SELECT 1").expect("they are taken");
    stage.gives_way();
    assert_eq!(
        stage.set("SELECT 1"),
        "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci',SESSION foreign_key_checks=0x4F4E"
    );
}

#[test]
fn a_variable_that_does_not_take_its_value_makes_the_connection_unknown() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET sort_buffer_size = 5, timestamp = 100",
        ok().var("sort_buffer_size", "32768")
            .var("timestamp", "100.000000"),
    );
    stage.moves("SELECT 1");
    let mut told = ok()
        .var("sort_buffer_size", "32768")
        .var("timestamp", "100.000000")
        .changes;
    assert_eq!(
        stage.restore_as("SELECT 1", &told),
        Ok(()),
        "100 is 100.000000"
    );
    stage.moves("SELECT 1");
    told.variable(b"sort_buffer_size", b"65536");
    let mismatch = stage
        .restore_as("SELECT 1", &told)
        .expect_err("another value");
    assert_eq!(&*mismatch.0, b"sort_buffer_size");
    assert!(stage.connection.is_unknown());
    assert_eq!(stage.set("SELECT 1"), "Reset");
    stage.connection.reset(&stage.table);
    assert_eq!(
        stage.set("SELECT 1"),
        "Unfit",
        "nobody knows if it has a schema"
    );
}

#[test]
fn a_session_without_a_schema_needs_a_connection_without_one() {
    let mut stage = Stage::new(MYSQL);
    stage.says("USE shop", ok().schema("shop"));
    assert_eq!(stage.moves("SELECT 1"), "USE shop; ");
    stage.restore("SELECT 1").expect("it is there");
    stage.gives_way();
    assert_eq!(stage.set("SELECT 1"), "Unfit");
    assert_eq!(distance(&stage.session, &stage.connection), u32::MAX);
    stage.connection.reset(&stage.table);
    assert_eq!(stage.set("SELECT 1"), "Unfit", "a reset keeps the schema");
    stage.says("DROP DATABASE shop", ok().schema(""));
    assert_eq!(stage.session.values().schema(), None);
}

#[test]
fn com_init_db_changes_the_schema_if_it_succeeds() {
    let mut stage = Stage::new(MYSQL);
    let facts = Facts::default();
    stage.ran(Ran::InitDb, &facts, "nosuch", &err(1049));
    assert_eq!(stage.session.values().schema(), None);
    stage.ran(Ran::InitDb, &facts, "shop", &ok());
    assert_eq!(stage.session.values().schema(), Some(&b"shop"[..]));
    assert_eq!(stage.pins(), "");
}

#[test]
fn a_collation_is_asked_once_and_then_known() {
    let mut stage = Stage::new(MYSQL);
    let latin1 = || {
        let said = ok()
            .var("character_set_client", "latin1")
            .var("character_set_connection", "latin1");
        said.var("character_set_results", "latin1")
    };
    stage.says("SET NAMES latin1", latin1());
    assert_eq!(stage.pins(), "variable");
    assert_eq!(stage.asks(), "SELECT @@session.collation_connection");
    stage.hears_texts(&["latin1_swedish_ci"]);
    assert_eq!(stage.pins(), "");
    stage.gives_way();
    stage.restore("SET NAMES latin1").expect("it was fresh");
    stage.says("SET NAMES latin1", latin1());
    assert_eq!((stage.asks(), stage.pins()), (String::new(), String::new()));
    let collation = stage.session.values().variable(b"collation_connection");
    assert_eq!(collation, Some(&b"latin1_swedish_ci"[..]));
    stage.says("SET NAMES latin1 COLLATE latin1_bin", latin1());
    let collation = stage.session.values().variable(b"collation_connection");
    assert_eq!(collation, Some(&b"latin1_bin"[..]), "the text says it");
    stage.says(
        "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
        ok().var("default_collation_for_utf8mb4", "utf8mb4_general_ci"),
    );
    stage.says("SET NAMES latin1", latin1());
    assert_eq!(stage.pins(), "variable", "it may be another one now");
}

#[test]
fn statements_are_read_by_the_sessions_own_modes() {
    let mut stage = Stage::new(MYSQL);
    assert!(!stage.session.flags().ansi_quotes);
    stage.says(
        "SET sql_mode = 'ANSI'",
        ok().var(
            "sql_mode",
            "PIPES_AS_CONCAT,ANSI_QUOTES,NO_BACKSLASH_ESCAPES,ANSI",
        ),
    );
    stage.says(
        "SET character_set_client = gbk",
        ok().var("character_set_client", "gbk"),
    );
    let flags = stage.session.flags();
    assert!(flags.ansi_quotes && flags.no_backslash_escapes);
    assert_eq!(flags.charset, sql::Charset::Gbk);
    assert_eq!(flags.server, MYSQL);
}

#[test]
fn a_variable_that_no_tracker_tells_of_is_asked() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET a_component.variable = 5, new_in_the_next_version = 6",
        ok(),
    );
    assert_eq!(stage.pins(), "variable");
    assert_eq!(
        stage.asks(),
        "SELECT @@session.variable,@@session.new_in_the_next_version"
    );
}

#[test]
fn mariadb_reports_one_of_a_word_of_bits_for_another() {
    let mut stage = Stage::new(MARIADB_11);
    stage.says("SET foreign_key_checks = 0", ok().var("autocommit", "ON"));
    assert_eq!(stage.pins(), "", "the text says which");
    let mut stage = Stage::new(MARIADB_11);
    stage.says("SET foreign_key_checks = @x", ok().var("autocommit", "ON"));
    assert_eq!(stage.asks(), "SELECT @@session.foreign_key_checks");
    stage.hears_texts(&["0"]);
    assert_eq!(
        stage.moves("SELECT 1"),
        "SET SESSION foreign_key_checks=0x4F4646"
    );
    let mut stage = Stage::new(MARIADB_11);
    stage.says("INSERT INTO t VALUES (1)", ok().var("autocommit", "ON"));
    assert_eq!(
        stage.pins(),
        "variable,state",
        "a trigger may have set any of them"
    );
    let mut stage = Stage::new(MARIADB_11);
    stage.says("INSERT INTO t VALUES (1)", ok().var("timestamp", "100"));
    assert_eq!(
        stage.pins(),
        "state",
        "what was logged is reported under any name without a place"
    );
}

#[test]
fn set_statement_is_taken_back() {
    let mut stage = Stage::new(MARIADB_10);
    stage.says(
        "SET STATEMENT sort_buffer_size = 44444 FOR SELECT 1",
        rows(1).var("sort_buffer_size", "44444"),
    );
    assert_eq!(
        stage.pins(),
        "state",
        "the server has yet to tell that it is as before"
    );
    assert_eq!(
        stage.asks(),
        "BEGIN NOT ATOMIC START TRANSACTION; COMMIT AND NO CHAIN NO RELEASE; END"
    );
    stage.hears(&ok().var("sort_buffer_size", "2097152"), &[]);
    assert_eq!(stage.pins(), "");
}

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
fn what_lives_on_the_connection_binds_until_it_rests() {
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
fn the_clock_is_set_by_a_literal_and_runs_again_by_default() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET timestamp = 1000.5",
        ok().var("timestamp", "1000.500000"),
    );
    assert_eq!(stage.moves("SELECT 1"), "SET SESSION timestamp=1000.5");
    stage.restore("SELECT 1").expect("it is taken");
    stage.says(
        "SET timestamp = DEFAULT",
        ok().var("timestamp", "1000.500000"),
    );
    assert_eq!(
        (stage.moves("SELECT 1"), stage.pins()),
        (String::new(), String::new())
    );
    stage.says(
        "SET timestamp = 1 - 1",
        ok().var("timestamp", "1000.500000"),
    );
    assert_eq!(stage.pins(), "variable", "it may be running");
}

#[test]
fn user_variables_are_restored_for_statements_that_mention_them() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @a = 5, @B = 'text', @c = NULL", ok().changed());
    assert_eq!(stage.moves("SELECT 1"), "");
    assert_eq!(
        stage.set("SELECT @b"),
        "SET @`b`=_utf8mb4 0x74657874 COLLATE utf8mb4_general_ci"
    );
    assert_eq!(stage.set("SELECT @A, @nothing"), "SET @`a`=5");
    assert_eq!(
        stage.set("CALL p()"),
        "SET @`a`=5,@`b`=_utf8mb4 0x74657874 COLLATE utf8mb4_general_ci,@`c`=_binary'',@`c`=NULL"
    );
    stage.restore("SELECT @a").expect("taken");
    assert_eq!(stage.set("SELECT @a"), "");
    stage.gives_way();
    assert_eq!(stage.set("SELECT 1"), "", "nobody looks");
    assert_eq!(stage.set("SELECT @a"), "SET @`a`=_binary'',@`a`=NULL");
    assert_eq!(
        stage.set("SELECT * FROM information_schema.user_variables"),
        "Reset"
    );
}

#[test]
fn a_user_variable_of_unknown_value_is_read_back() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SELECT @a := b + 1, @`odd name` := 2 FROM t", rows(3));
    assert_eq!(stage.pins(), "user_variable");
    assert_eq!(
        stage.asks(),
        "SELECT HEX(@`a`),COLLATION(@`a`),@`a`,HEX(@`odd name`),COLLATION(@`odd name`),@`odd name`"
    );
    let text = |text| (253, false, Some(text));
    stage.hears(
        &ok(),
        &[
            text("5"),
            text("binary"),
            (8, true, Some("5")),
            text("1"),
            text("binary"),
            (246, false, Some("3")),
        ],
    );
    assert_eq!(
        stage.moves("SELECT @a, @`odd name`"),
        "SET @`a`=CAST(5 AS UNSIGNED),@`odd name`=3."
    );
}

#[test]
fn values_are_read_back_with_type_sign_and_collation() {
    for (cells, set) in [
        ((8, false, Some("-5")), "-5"),
        ((8, true, None), "CAST(0 AS UNSIGNED),@`a`=NULL"),
        ((5, false, Some("1.5")), "1.5e0"),
        ((5, false, Some("1e-10")), "1e-10"),
        ((246, false, Some("1.50")), "1.50"),
        (
            (251, false, Some("ignored")),
            "_latin1 0xE4 COLLATE latin1_bin",
        ),
        (
            (251, false, None),
            "_latin1 0xE4 COLLATE latin1_bin,@`a`=NULL",
        ),
    ] {
        let mut stage = Stage::new(MYSQL);
        stage.says("SET @a = f", ok().changed());
        stage.hears(
            &ok(),
            &[
                (253, false, Some("E4")),
                (253, false, Some("latin1_bin")),
                cells,
            ],
        );
        assert_eq!(stage.moves("SELECT @a"), format!("SET @`a`={set}"));
    }
    for hostile in ["1 OR 1", "1,@b=2", ""] {
        let mut stage = Stage::new(MYSQL);
        stage.says("SET @a = f", ok().changed());
        let text = |text| (253, false, Some(text));
        stage.hears(
            &ok(),
            &[text("31"), text("binary"), (8, false, Some(hostile))],
        );
        assert_eq!(stage.pins(), "user_variable", "{hostile}");
    }
    let mut stage = Stage::new(MARIADB_10);
    stage.says("SET @a = POINT(1, 2)", ok().changed());
    stage.hears(
        &ok(),
        &[
            (253, false, Some("00")),
            (253, false, Some("binary")),
            (255, false, Some("x")),
        ],
    );
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("user_variable".into(), String::new())
    );
}

#[test]
fn names_that_depend_on_the_character_set_keep_the_session() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET character_set_client = latin1",
        ok().var("character_set_client", "latin1"),
    );
    stage.says("SET @é = 1", ok().changed());
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
fn statements_prepared_from_text_pin_until_deallocated_and_do_what_they_say() {
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
    assert_eq!(stage.pins(), "");
    stage.says("SELECT GET_LOCK('a', 1), nosuch()", err(1690));
    assert_eq!(
        stage.pins(),
        "transaction,named_lock,routine,state",
        "it may have been taken before the error"
    );
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
fn a_transaction_is_what_the_flags_say() {
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
fn what_is_set_for_the_next_transaction_holds_until_the_server_says_it_is_used_up() {
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
fn what_a_failed_statement_did_is_told_before_the_next_hides_it() {
    let mut stage = Stage::new(MYSQL);
    stage.says("INSERT INTO t VALUES ('a')", err(1062));
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("state".into(), "DO 0".into())
    );
    stage.hears(&ok(), &[]);
    assert_eq!(stage.pins(), "");
    stage
        .says("INSERT INTO t VALUES ('a')", err(1062))
        .hears(&ok().changed(), &[]);
    assert_eq!(stage.pins(), "state", "its trigger ran");
    let mut stage = Stage::new(MYSQL);
    for (text, error) in [
        ("INSERT INTO nosuch VALUES (1)", 1146),
        ("SELEC", 1064),
        ("SET nosuch = 1", 1193),
        ("SELECT nosuch()", 1305),
    ] {
        stage.says(text, err(error));
        assert_eq!(
            (stage.pins(), stage.asks()),
            (String::new(), String::new()),
            "{text}"
        );
    }
    stage.says("CALL p()", err(1064));
    assert_eq!(
        stage.pins(),
        "transaction,state,routine".replace("state,routine", "routine,state")
    );
}

#[test]
fn mariadb_is_not_made_to_tell_where_that_would_end_something() {
    let mut stage = Stage::new(MARIADB_10);
    stage.says("BEGIN", ok().status(IN_TRANS));
    stage.says("INSERT INTO t VALUES ('a')", err(1062));
    assert_eq!(stage.asks(), "DO 0", "is it open still?");
    stage.hears(&ok().status(IN_TRANS), &[]);
    assert_eq!(stage.asks(), "");
    stage.says("ROLLBACK", ok().transaction(""));
    assert_eq!(
        stage.pins(),
        "",
        "the end of a transaction is something to tell"
    );
    stage.says("LOCK TABLES t WRITE", ok());
    stage.says("INSERT INTO t VALUES ('a')", err(1062));
    assert_eq!(stage.asks(), "", "BEGIN would unlock them");
}

#[test]
fn an_eof_that_cannot_tell_of_changes_owes_them() {
    let mut stage = Stage::new(MYSQL);
    let mut said = rows(1).status(StatusFlags::SESSION_STATE_CHANGED);
    said.tally.owes_changes = true;
    stage.says("SELECT * FROM a_view", said);
    assert_eq!(
        (stage.pins(), stage.asks()),
        ("state".into(), "DO 0".into())
    );
    stage.hears(&ok().var("sort_buffer_size", "5"), &[]);
    assert_eq!(
        stage.session.values().variable(b"sort_buffer_size"),
        Some(&b"5"[..])
    );
    assert_eq!(stage.pins(), "state");
}

#[test]
fn what_set_statement_has_taken_back_may_be_told_late() {
    let text = "SET STATEMENT sort_buffer_size = 5 FOR SELECT * FROM t";
    for (late, pins) in [
        (ok().var("sort_buffer_size", "2097152"), ""),
        (ok().var("sql_mode", "ANSI"), "state"),
    ] {
        let mut stage = Stage::new(MARIADB_11);
        let mut said = rows(1).status(StatusFlags::SESSION_STATE_CHANGED);
        said.tally.owes_changes = true;
        stage.says(text, said);
        assert_eq!(stage.pins(), "state");
        assert_ne!(stage.asks(), "");
        stage.hears(&late, &[]);
        assert_eq!(stage.pins(), pins);
    }
}

#[test]
fn what_is_not_understood_pins_by_name() {
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
fn rules_pin_what_could_be_restored() {
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
fn an_insert_id_is_known_where_nothing_in_the_text_could_have_been_it() {
    let known = |text: &str| {
        let mut stage = Stage::new(MYSQL);
        stage.says(text, ok().affected(1).id(7));
        stage.session.aftermath().last_insert_id == LastInsertId::Known(7)
    };
    for text in [
        "INSERT INTO t (b) VALUES (1), (2)",
        "INSERT INTO t VALUES (NULL, 'a', -7, \"77\", DEFAULT)",
        "INSERT INTO t SET b = 'x', c = NOW(6)",
        "REPLACE INTO t (a, b) VALUE (8, TRUE)",
    ] {
        assert!(known(text), "{text}");
    }
    for text in [
        "INSERT INTO t VALUES (7, 1)",
        "INSERT INTO t VALUES ('7th', 1)",
        "INSERT INTO t VALUES (' +7', 1)",
        "INSERT INTO t VALUES (6 + 1, 1)",
        "INSERT INTO t VALUES (7.2, 1)",
        "INSERT INTO t VALUES (0x07, 1)",
        "INSERT INTO t VALUES (f(), 1)",
        "INSERT INTO t VALUES (b, 1)",
        "INSERT INTO t VALUES (?, 1)",
        "INSERT INTO t VALUES (@a, 1)",
        "INSERT INTO t SELECT * FROM u",
        "INSERT INTO t (b) VALUES (1) ON DUPLICATE KEY UPDATE b = 2",
        "INSERT INTO t (b) VALUES (LAST_INSERT_ID(7))",
        "UPDATE t SET a = LAST_INSERT_ID(7)",
        "INSERT INTO t (b) VALUES (1); SELECT 1",
    ] {
        assert!(!known(text), "{text}");
    }
    let mut stage = Stage::new(MYSQL);
    stage.session.parameters_are(vec![1, 2]);
    stage.says("INSERT INTO t (b, c) VALUES (?, ?)", ok().id(7));
    assert_eq!(
        stage.session.aftermath().last_insert_id,
        LastInsertId::Known(7)
    );
    stage.session.parameters_are(vec![1, 7]);
    stage.says("INSERT INTO t (a, c) VALUES (?, ?)", ok().id(7));
    assert_eq!(
        stage.session.aftermath().last_insert_id,
        LastInsertId::OnConnection
    );
}

#[test]
fn last_insert_id_follows_the_session() {
    let mut stage = Stage::new(MYSQL);
    stage.says("INSERT INTO t (b) VALUES (1)", ok().id(7));
    stage.says("INSERT INTO no_counter VALUES ('x')", ok());
    assert_eq!(
        stage.session.aftermath().last_insert_id,
        LastInsertId::Known(7)
    );
    assert_eq!(stage.moves("SELECT 1"), "");
    assert_eq!(
        stage.set("SELECT LAST_INSERT_ID()"),
        "SET SESSION last_insert_id=7"
    );
    assert_eq!(
        stage.set("INSERT INTO t VALUES (1)"),
        "SET SESSION last_insert_id=7",
        "it may leave it"
    );
    stage.restore("SELECT LAST_INSERT_ID()").expect("taken");
    assert_eq!(stage.set("SELECT LAST_INSERT_ID()"), "");
    stage.gives_way();
    assert_eq!(
        stage.set("SELECT @@identity"),
        "SET SESSION last_insert_id=0"
    );
    stage.says("INSERT INTO t SELECT * FROM u", ok().id(9));
    assert_eq!(
        stage.session.aftermath().last_insert_id,
        LastInsertId::OnConnection
    );
    assert_eq!(stage.asks(), "SELECT LAST_INSERT_ID()");
    stage.hears_texts(&["3"]);
    assert_eq!(
        stage.session.aftermath().last_insert_id,
        LastInsertId::Known(3)
    );
    stage.says("SET last_insert_id = 12", ok().var("last_insert_id", "12"));
    assert_eq!(
        stage.session.aftermath().last_insert_id,
        LastInsertId::Known(12)
    );
    stage.says("SET @x = LAST_INSERT_ID(13)", ok().changed());
    assert_eq!(
        stage.session.aftermath().last_insert_id,
        LastInsertId::OnConnection
    );
}

#[test]
fn row_count_and_found_rows_are_what_the_servers_say() {
    let mut stage = Stage::new(MYSQL);
    let after = |stage: &Stage| {
        (
            stage.session.aftermath().row_count,
            stage.session.aftermath().found_rows,
        )
    };
    stage.says("SELECT a FROM t", rows(5));
    assert_eq!(after(&stage), (-1, Some(5)));
    stage.says("SET @a = 1", ok().changed());
    assert_eq!(after(&stage), (0, Some(5)));
    stage.says("INSERT INTO t SELECT * FROM u", ok().affected(3));
    assert_eq!(after(&stage), (3, None));
    stage.says("SHOW TABLES", rows(2));
    assert_eq!(after(&stage), (-1, Some(2)));
    stage.says("COMMIT", ok());
    assert_eq!(after(&stage), (0, Some(2)));
    stage.says("SELECT a FROM t LIMIT 1", rows(1));
    assert_eq!((after(&stage), stage.pins()), ((-1, None), String::new()));
    stage.says("SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1", rows(1));
    assert_eq!((after(&stage).1, stage.pins()), (None, "found_rows".into()));
    stage.says("SELECT FOUND_ROWS()", rows(1));
    assert_eq!(stage.pins(), "");
    stage.says("UPDATE t SET a = 1", err(1205));
    assert_eq!(after(&stage), (-1, Some(1)), "MySQL's errors leave it");
    stage.says("UPDATE t SET a = 1", ok().affected(2));
    assert_eq!(after(&stage), (2, None));
    stage.says("DO SLEEP(0)", ok());
    assert_eq!(after(&stage), (0, Some(1)));
    let mut stage = Stage::new(MARIADB_11);
    stage.says("SELECT a FROM t", rows(5));
    stage.says("CREATE TEMPORARY TABLE u (a INT)", ok());
    assert_eq!(after(&stage).1, Some(5));
    stage.says("CREATE TEMPORARY TABLE v SELECT 1 AS a", ok());
    assert_eq!(after(&stage).1, None, "it has counted");
}

#[test]
fn names_of_transaction_variables_are_spelled_as_the_server_knows_them() {
    let mut stage = Stage::new(MARIADB_10);
    stage.says(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        ok().var("tx_isolation", "READ-COMMITTED"),
    );
    assert_eq!(
        stage.moves("SELECT 1"),
        "SET SESSION tx_isolation=0x524541442D434F4D4D4954544544"
    );
    let mut stage = Stage::new(MARIADB_11);
    stage.says(
        "SET SESSION tx_isolation = 'READ-COMMITTED'",
        ok().var("tx_isolation", "READ-COMMITTED"),
    );
    assert_eq!(
        stage.moves("SELECT 1"),
        "SET SESSION transaction_isolation=0x524541442D434F4D4D4954544544"
    );
}

#[test]
fn a_reset_session_is_fresh_but_for_its_schema() {
    let mut stage = Stage::new(MYSQL);
    stage.says("USE d", ok().schema("d"));
    stage.says(
        "SET sql_mode = 'ANSI_QUOTES', @a = 1",
        ok().var("sql_mode", "ANSI_QUOTES"),
    );
    stage.says("INSERT INTO t (b) VALUES (1)", ok().id(7).warnings(1));
    stage.session.reset(&stage.table);
    assert!(!stage.session.flags().ansi_quotes);
    assert_eq!(stage.session.values().schema(), Some(&b"d"[..]));
    assert_eq!(stage.session.values().variables().count(), 0);
    assert_eq!(
        stage.session.aftermath().last_insert_id,
        LastInsertId::Known(0)
    );
    assert_eq!(
        stage.set("SELECT @a"),
        "SET SESSION sql_mode=0x535452494354,@`a`=_binary'',@`a`=NULL"
    );
    stage.session.change_user(stage.table.fresh());
    assert_eq!(stage.session.values().schema(), None);
}

#[test]
fn a_reset_connection_is_told_to_track_again_and_gets_what_login_left() {
    let mut stage = Stage::new(MYSQL);
    stage.says("USE d", ok().schema("d"));
    stage.says(
        "SET @a = 1, time_zone = '+01:00'",
        ok().var("time_zone", "+01:00"),
    );
    let text = String::from_utf8(stage.connection.after_reset()).expect("ASCII");
    assert!(text.starts_with("SET session_track_schema=ON,"), "{text}");
    assert!(
        text.contains(",collation_connection=0x757466386D62345F67656E6572616C5F6369,"),
        "{text}"
    );
    stage.connection.reset(&stage.table);
    assert_eq!(
        stage.set("SELECT @a"),
        "SET SESSION time_zone=0x2B30313A3030,@`a`=1"
    );
}

#[test]
fn the_schemas_collation_goes_with_the_schema() {
    let mut stage = Stage::new(MYSQL);
    let set = "SET collation_database = latin1_bin";
    stage.says("USE one", ok().schema("one"));
    stage.says(set, ok().var("collation_database", "latin1_bin"));
    assert_eq!(
        stage.moves("SELECT 1"),
        "USE one; SET SESSION collation_database=0x6C6174696E315F62696E"
    );
    stage.restore("SELECT 1").expect("taken");
    stage.says("USE one", ok().schema("one"));
    assert_eq!(
        stage.moves("SELECT 1"),
        "USE one; ",
        "USE has taken it back"
    );
    stage.restore("SELECT 1").expect("taken");
    stage.says(set, ok().var("collation_database", "latin1_bin"));
    stage.gives_way();
    stage.says("USE two", ok().schema("two"));
    assert_eq!(stage.set("SELECT 1"), "");
    assert_eq!(stage.session.values().variables().count(), 0);
}

#[test]
fn what_one_variable_sets_along_with_itself_is_set_behind_it() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET max_join_size = 5", ok().var("max_join_size", "5"));
    stage.says("SET sql_big_selects = 1", ok().var("sql_big_selects", "ON"));
    assert_eq!(
        stage.moves("SELECT 1"),
        "SET SESSION max_join_size=5,SESSION sql_big_selects=0x4F4E,SESSION sql_big_selects=0x4F4E"
    );
    stage.restore("SELECT 1").expect("taken");
    stage.says("SET max_join_size = 6", ok().var("max_join_size", "6"));
    let big = stage.session.values().variable(b"sql_big_selects");
    assert_eq!(big, Some(&b"OFF"[..]));
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
fn what_a_trigger_has_set_is_not_explained_by_the_statements_beside_it() {
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

#[test]
fn of_several_statements_what_failed_and_what_did_not_run_set_nothing() {
    let mut stage = Stage::new(MYSQL);
    let sql = "SELECT 1; SET net_buffer_length = 16384; SET sql_mode = ''";
    stage.says(sql, err(1621).results(1));
    while stage.asks() == "DO 0" {
        stage.hears(&ok(), &[]);
    }
    assert_eq!((stage.pins(), stage.asks()), (String::new(), String::new()));
}

#[test]
fn a_variable_that_cannot_be_read_was_not_set() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET group_concat_max_len = 5; SET nosuch = 1; SELECT 1",
        err(1193).results(2).var("group_concat_max_len", "5"),
    );
    let known = ["DO 0", "DO 0", "SELECT @@session.nosuch,LAST_INSERT_ID()"];
    assert!(known.contains(&&*stage.asks()), "{}", stage.asks());
    while stage.asks() == "DO 0" {
        stage.hears(&ok(), &[]);
    }
    assert_eq!(stage.asks(), "SELECT @@session.nosuch");
    stage.refused();
    assert_eq!((stage.pins(), stage.asks()), (String::new(), String::new()));
    stage.says("SET nosuch = 1; SET @a = f; SELECT 1", err(1193).results(1));
    while stage.asks() == "DO 0" {
        stage.hears(&ok(), &[]);
    }
    stage.refused();
    assert_eq!(stage.asks(), "SELECT @@session.nosuch", "one by one");
    stage.refused();
    assert!(
        stage.asks().starts_with("SELECT HEX(@`a`)"),
        "{}",
        stage.asks()
    );
    let text = |text| (253, false, Some(text));
    stage.hears(&ok(), &[text("61"), text("binary"), text("a")]);
    assert_eq!(stage.pins(), "");
}

#[test]
fn names_that_no_variable_has_never_stand_in_a_statement() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @a = 1; SET `x, SLEEP(9)` = 1", err(1193));
    stage.says("SELECT 1", rows(1).var("x=1,@b", "1"));
    while stage.asks() == "DO 0" {
        stage.hears(&ok(), &[]);
    }
    assert!(!stage.asks().contains("SLEEP"), "{}", stage.asks());
    assert_eq!(stage.session.values().variables().count(), 0);
}
