//! The state that the model knows of a session and restores on another connection; one test for each rule.

use std::rc::Rc;

use super::stage::{MARIADB_10, MARIADB_11, MYSQL, Stage, err, ok, rows};
use pilotfish_session::state::{LastInsertId, Ran, distance};
use sql::Facts;
use wire::StatusFlags;

#[test]
fn equal_session_states_share_memory_and_unused_states_are_freed() {
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
fn tracked_values_are_set_on_the_next_connection() {
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
fn a_connection_returns_to_its_login_values_where_default_differs() {
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
fn a_reset_of_mariadb_loses_the_collation_of_the_schema() {
    for (server, sent) in [
        (MARIADB_10, "USE shop; "),
        (MARIADB_11, "USE shop; "),
        (MYSQL, ""),
    ] {
        let mut stage = Stage::new(server);
        stage.connection.reset(&stage.table);
        assert_eq!(stage.set("SELECT 1"), "", "{server:?}: it has no schema");
        stage.says("USE shop", ok().schema("shop"));
        assert_eq!(stage.set("SELECT 1"), "");
        stage.connection.reset(&stage.table);
        assert_eq!(stage.set("SELECT 1"), sent, "{server:?}");
        stage.restore("SELECT 1").expect("it is there");
        assert_eq!(stage.set("SELECT 1"), "", "{server:?}: once is enough");
    }
}

#[test]
fn statements_that_read_the_schemas_character_set_select_the_schema_again() {
    let mut stage = Stage::new(MARIADB_10);
    stage.says("USE shop", ok().schema("shop"));
    for text in [
        "LOAD DATA INFILE 'f' INTO TABLE t",
        "CREATE TABLE t (s TEXT)",
    ] {
        assert_eq!(
            stage.set(text),
            "USE information_schema; USE shop; ",
            "MariaDB does not look at the schema that it is in: {text}"
        );
    }
    let mut stage = Stage::new(MYSQL);
    let statements = [
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE t",
        "LOAD XML INFILE 'f' INTO TABLE t",
        "SELECT 1; LOAD DATA INFILE 'f' INTO TABLE t",
        "CREATE PROCEDURE p (t TEXT) SELECT t",
        "CREATE FUNCTION f (t TEXT) RETURNS TEXT RETURN t",
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET @a = 1",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
    ];
    let others = [
        "SELECT 1",
        "INSERT INTO t VALUES (1)",
        "CREATE TABLE t (s TEXT)",
    ];
    for text in statements {
        assert_eq!(stage.set(text), "", "no schema: {text}");
    }
    stage.says("USE shop", ok().schema("shop"));
    for text in statements {
        assert_eq!(stage.set(text), "USE shop; ", "{text}");
    }
    for text in others {
        assert_eq!(stage.set(text), "", "{text}");
    }
    let set = "SET collation_database = latin1_bin";
    stage.says(set, ok().var("collation_database", "latin1_bin"));
    assert_eq!(
        stage.set(statements[0]),
        "USE shop; SET SESSION collation_database=0x6C6174696E315F62696E",
        "the session's own choice holds"
    );
    let in_transaction = ok()
        .status(StatusFlags::IN_TRANS)
        .transaction("START TRANSACTION;");
    stage
        .says("USE shop", ok().schema("shop"))
        .says("BEGIN", in_transaction);
    assert_eq!(stage.set(statements[0]), "USE shop; ");
    stage.says("LOCK TABLES t WRITE", ok());
    assert_eq!(stage.set(statements[0]), "", "what is held stays as it is");
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
    assert_eq!(flags.charset, sql::Charset::GBK);
    assert_eq!(flags.server, MYSQL);
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
        stage.session.diagnostics().last_insert_id,
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
fn a_reset_connection_gets_tracking_and_login_values_again() {
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
fn dependent_variables_are_set_after_their_main_variable() {
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
fn tracking_settings_that_the_server_reports_do_not_pin() {
    let told = || ok().var("session_track_schema", "ON");
    for (text, said) in [
        ("SET session_track_schema = 1", told()),
        ("SET session_track_schema = 1, @a = 1", told()),
        ("SET session_track_schema = OFF", ok()),
        ("SET session_track_schema = 0; SET @a = 1", told()),
        ("SET session_track_transaction_info = 'STATE'", ok()),
    ] {
        let mut stage = Stage::new(MARIADB_10);
        stage.says(text, said);
        assert_eq!(stage.pins(), "", "{text}");
    }
    for (text, said) in [
        ("SET session_track_schema = 0; USE d", told()),
        ("CALL p()", told()),
        ("SET session_track_schema = 0, @a = f()", told()),
        ("SET session_track_schema = 0", err(1205)),
        ("SET session_track_gtids = OWN_GTID", ok()),
    ] {
        let mut stage = Stage::new(MARIADB_10);
        stage.says(text, said);
        assert!(
            stage.pins().contains("variable"),
            "{text}: {}",
            stage.pins()
        );
    }
}

#[test]
fn untracked_values_are_queried() {
    let mut stage = Stage::new(MARIADB_10);
    stage.says(
        "SET NAMES latin1, session_track_system_variables = 'tx_isolation', sql_mode = CONCAT(@@sql_mode, '')",
        ok(),
    );
    let asks = stage.asks();
    for name in [
        "@@session.character_set_client",
        "@@session.character_set_results",
        "@@session.collation_connection",
        "@@session.sql_mode",
    ] {
        assert!(asks.contains(name), "{name}: {asks}");
    }
}

#[test]
fn unknown_variable_names_never_appear_in_state_queries() {
    let mut stage = Stage::new(MYSQL);
    stage.says("SET @a = 1; SET `x, SLEEP(9)` = 1", err(1193));
    stage.says("SELECT 1", rows(1).var("x=1,@b", "1"));
    while stage.asks() == "DO 0" {
        stage.hears(&ok(), &[]);
    }
    assert!(!stage.asks().contains("SLEEP"), "{}", stage.asks());
    assert_eq!(stage.session.values().variables().count(), 0);
}
