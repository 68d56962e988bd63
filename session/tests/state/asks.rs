//! State queries to a server, and conclusions from its replies; one test for each rule.

use super::stage::{MARIADB_10, MARIADB_11, MYSQL, Stage, err, ok, rows};
use pilotfish_session::state::LastInsertId;
use wire::StatusFlags;

const IN_TRANS: StatusFlags = StatusFlags::IN_TRANS;

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
fn a_variable_that_mariadb_reports_under_a_wrong_name_is_recognised() {
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
fn effects_of_a_failed_statement_are_fetched_before_the_next_one() {
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
fn no_state_query_is_sent_to_mariadb_if_it_would_end_a_transaction_or_lock() {
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
fn state_changes_that_an_eof_cannot_carry_are_fetched_afterwards() {
    let mut stage = Stage::new(MYSQL);
    let mut said = rows(1).status(StatusFlags::SESSION_STATE_CHANGED);
    said.tally.has_unsent_changes = true;
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
fn late_reports_after_set_statement_are_accepted() {
    let text = "SET STATEMENT sort_buffer_size = 5 FOR SELECT * FROM t";
    for (late, pins) in [
        (ok().var("sort_buffer_size", "2097152"), ""),
        (ok().var("sql_mode", "ANSI"), "state"),
    ] {
        let mut stage = Stage::new(MARIADB_11);
        let mut said = rows(1).status(StatusFlags::SESSION_STATE_CHANGED);
        said.tally.has_unsent_changes = true;
        stage.says(text, said);
        assert_eq!(stage.pins(), "state");
        assert_ne!(stage.asks(), "");
        stage.hears(&late, &[]);
        assert_eq!(stage.pins(), pins);
    }
}

#[test]
fn nothing_is_asked_after_set_statement_while_statements_are_traced() {
    let text = "SET STATEMENT sort_buffer_size = 5 FOR SELECT * FROM t";
    for (variable, off) in [("optimizer_trace", "enabled=off"), ("profiling", "OFF")] {
        let mut stage = Stage::new(MARIADB_10);
        let on = off.replace("off", "on").replace("OFF", "ON");
        let turn = |to: &str| format!("SET {variable} = '{to}'");
        stage.says(&turn(&on), ok().var(variable, &on));
        let mut said = rows(1).status(StatusFlags::SESSION_STATE_CHANGED);
        said.tally.has_unsent_changes = true;
        stage.says(text, said);
        assert_eq!(stage.pins(), "variable,state");
        assert_eq!(stage.asks(), "", "the answer would be traced: {variable}");
        stage.says("SELECT 1", rows(1));
        assert_eq!(stage.asks(), "");
        let mut told = ok().var(variable, off);
        told = told.var("sort_buffer_size", "2097152");
        stage.says(&turn(off), told);
        assert_eq!(stage.pins(), "", "{variable} is off, and all is told");
    }
}

#[test]
fn an_insert_id_is_known_if_no_value_in_the_text_can_equal_it() {
    let known = |text: &str| {
        let mut stage = Stage::new(MYSQL);
        stage.says(text, ok().affected(1).id(7));
        stage.session.diagnostics().last_insert_id == LastInsertId::Known(7)
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
        stage.session.diagnostics().last_insert_id,
        LastInsertId::Known(7)
    );
    stage.session.parameters_are(vec![1, 7]);
    stage.says("INSERT INTO t (a, c) VALUES (?, ?)", ok().id(7));
    assert_eq!(
        stage.session.diagnostics().last_insert_id,
        LastInsertId::OnConnection
    );
}

#[test]
fn last_insert_id_follows_the_session() {
    let mut stage = Stage::new(MYSQL);
    stage.says("INSERT INTO t (b) VALUES (1)", ok().id(7));
    stage.says("INSERT INTO no_counter VALUES ('x')", ok());
    assert_eq!(
        stage.session.diagnostics().last_insert_id,
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
        stage.session.diagnostics().last_insert_id,
        LastInsertId::OnConnection
    );
    assert_eq!(stage.asks(), "SELECT LAST_INSERT_ID()");
    stage.hears_texts(&["3"]);
    assert_eq!(
        stage.session.diagnostics().last_insert_id,
        LastInsertId::Known(3)
    );
    stage.says("SET last_insert_id = 12", ok().var("last_insert_id", "12"));
    assert_eq!(
        stage.session.diagnostics().last_insert_id,
        LastInsertId::Known(12)
    );
    stage.says("SET @x = LAST_INSERT_ID(13)", ok().changed());
    assert_eq!(
        stage.session.diagnostics().last_insert_id,
        LastInsertId::OnConnection
    );
}

#[test]
fn row_count_and_found_rows_equal_the_servers_values() {
    let mut stage = Stage::new(MYSQL);
    let after = |stage: &Stage| {
        (
            stage.session.diagnostics().row_count,
            stage.session.diagnostics().found_rows,
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
fn a_failed_statement_and_those_after_it_in_a_command_set_no_variable() {
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
fn warnings_of_a_lost_connection_are_lost_until_the_next_list() {
    let mut stage = Stage::new(MYSQL);
    stage.says("DROP TABLE IF EXISTS nothing", ok().warnings(1));
    stage.session.answers_lost();
    assert!(stage.session.diagnostics().is_list_lost);
    stage.says("INSERT INTO t VALUES (1)", ok());
    assert!(!stage.session.diagnostics().is_list_lost);
    stage.session.answers_lost();
    assert!(!stage.session.diagnostics().is_list_lost);
}
