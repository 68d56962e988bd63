//! Statements prepared from SQL text move with their session, and no other session sees them.

use std::rc::Rc;

use super::stage::{MARIADB_10, MARIADB_11, MYSQL, Said, Stage, err, ok, rows};
use pilotfish_session::state::{ConnectionState, Needs, Pin, Rules, TextStatement};

/// ER_UNKNOWN_STMT_HANDLER.
const UNKNOWN: u16 = 1243;

fn needs(stage: &Stage, text: &str) -> Needs {
    let facts = sql::facts(text.as_bytes(), stage.session.flags());
    Needs::of(&facts, text.as_bytes())
}

/// The statements that must be prepared on the session's connection before `text` runs.
fn missing(stage: &Stage, text: &str) -> Vec<Rc<TextStatement>> {
    let needs = needs(stage, text);
    stage.session.texts_to_make(&stage.connection, &needs)
}

/// The SQL of the statements that [`missing`] returns.
fn made(stage: &Stage, text: &str) -> Vec<String> {
    let sql = |it: &Rc<TextStatement>| String::from_utf8_lossy(it.make()).into_owned();
    missing(stage, text).iter().map(sql).collect()
}

/// The names of the statements that must be dropped from the connection before `text` runs.
fn hidden(stage: &Stage, text: &str) -> Vec<String> {
    let needs = needs(stage, text);
    let names = stage.session.texts_to_hide(&stage.connection, &needs);
    let name = |name: &Rc<[u8]>| String::from_utf8_lossy(name).into_owned();
    names.iter().map(name).collect()
}

/// Moves the session to a fresh connection.
fn move_on(stage: &mut Stage) {
    assert_eq!(stage.pins(), "", "it is free to move");
    let values = stage.table.fresh();
    stage.connection = ConnectionState::new(Rc::clone(&stage.baseline), values);
}

fn prepared(server: sql::Server, text: &str, said: Said) -> Stage {
    let mut stage = Stage::new(server);
    stage.says(text, said);
    stage
}

#[test]
fn a_statement_is_prepared_again_where_it_is_executed() {
    let make = "PREPARE s FROM 'SELECT ?, ''it'''";
    let mut stage = prepared(MYSQL, make, ok().changed());
    assert_eq!(made(&stage, "EXECUTE s"), [""; 0], "it is here");
    move_on(&mut stage);
    assert_eq!(made(&stage, "SELECT 1"), [""; 0]);
    assert_eq!(made(&stage, "EXECUTE other"), [""; 0]);
    assert_eq!(made(&stage, "EXECUTE S USING @a"), [make]);
    assert_eq!(made(&stage, "CALL may_execute_it()"), [make]);
    for text in missing(&stage, "EXECUTE s") {
        stage.connection.text_is_made(&text);
    }
    assert_eq!(made(&stage, "EXECUTE s"), [""; 0]);
}

#[test]
fn a_text_that_came_from_a_variable_is_quoted_by_the_modes_rules() {
    let mut stage = Stage::new(MARIADB_11);
    stage.says("SET @t = 'SELECT ''\\\\\\\\x'''", ok().changed());
    stage.says("PREPARE `odd name` FROM @t", ok().changed());
    stage.says("SET @t = NULL", ok().changed());
    move_on(&mut stage);
    let make = "PREPARE `odd name` FROM 'SELECT ''\\\\\\\\x'''";
    assert_eq!(made(&stage, "EXECUTE `ODD NAME`"), [make]);
}

#[test]
fn a_name_that_another_session_has_given_is_hidden() {
    let mut stage = prepared(MYSQL, "PREPARE s FROM 'SELECT 1'", ok().changed());
    stage.gives_way();
    assert_eq!(hidden(&stage, "SELECT 1"), [""; 0]);
    assert_eq!(hidden(&stage, "EXECUTE s"), ["s"]);
    assert_eq!(hidden(&stage, "DROP PREPARE s"), ["s"]);
    assert_eq!(hidden(&stage, "CALL any()"), ["s"]);
    assert_eq!(hidden(&stage, "PREPARE s FROM 'SELECT 2'"), [""; 0]);
    stage.connection.text_is_gone(b"s");
    assert_eq!(hidden(&stage, "EXECUTE s"), [""; 0]);
}

#[test]
fn a_statement_of_ones_own_takes_the_place_of_anothers() {
    let make = "PREPARE s FROM 'SELECT 1'";
    let mut stage = prepared(MYSQL, make, ok().changed());
    let first = std::mem::replace(&mut stage, Stage::new(MYSQL));
    stage.says("PREPARE s FROM 'SELECT 2'", ok().changed());
    stage.connection = first.connection;
    assert_eq!(hidden(&stage, "EXECUTE s"), [""; 0]);
    assert_eq!(made(&stage, "EXECUTE s"), ["PREPARE s FROM 'SELECT 2'"]);
}

#[test]
fn a_statement_that_is_only_dropped_is_prepared_as_a_placeholder() {
    // In a read-only transaction the server would refuse the statement.
    let make = "PREPARE s FROM 'INSERT INTO t VALUES (1)'";
    let mut stage = prepared(MARIADB_10, make, ok().changed());
    move_on(&mut stage);
    let drop = "DEALLOCATE PREPARE s";
    assert_eq!(made(&stage, drop), ["PREPARE `s` FROM 'DO 0'"]);
    for text in missing(&stage, drop) {
        stage.connection.text_is_made(&text);
    }
    stage.says(drop, ok().changed());
    assert_eq!(made(&stage, "EXECUTE s"), [""; 0]);
    assert_eq!(hidden(&stage, "EXECUTE s"), [""; 0]);
}

#[test]
fn a_refused_prepare_leaves_the_name_free() {
    let mut stage = prepared(MYSQL, "PREPARE s FROM 'SELECT 1'", ok().changed());
    stage.says("PREPARE s FROM 'SELEC'", err(1064));
    stage.hears(&ok(), &[]);
    move_on(&mut stage);
    assert_eq!(made(&stage, "EXECUTE s"), [""; 0]);
    stage.says("EXECUTE s", err(UNKNOWN));
    assert!(!stage.pins().contains("routine"), "nothing has run");
}

#[test]
fn an_unreadable_prepare_finds_the_statement_that_it_may_replace() {
    let make = "PREPARE s FROM 'SELECT 1'";
    let mut stage = prepared(MYSQL, make, ok().changed());
    move_on(&mut stage);
    assert_eq!(made(&stage, "PREPARE s FROM 'it''s"), [make]);
    assert_eq!(made(&stage, "PREPARE s FROM 'SELECT 2'"), [""; 0]);
}

#[test]
fn prepared_texts_that_depend_on_their_connection_pin() {
    for text in [
        "PREPARE s FROM 'SELECT ROW_COUNT()'",
        "PREPARE s FROM 'SHOW WARNINGS'",
        "PREPARE s FROM 'SELECT CONNECTION_ID()'",
        "PREPARE s FROM @nobody_knows",
    ] {
        let mut stage = prepared(MYSQL, text, ok().changed());
        assert_eq!(stage.pins(), "prepared_text", "{text}");
        stage.says("DEALLOCATE PREPARE s", ok().changed());
        assert_eq!(stage.pins(), "", "{text}");
    }
    // MySQL takes a statement's types from the variables that exist when it is prepared.
    let reads = "PREPARE s FROM 'SELECT @a + 1'";
    assert_eq!(
        prepared(MYSQL, reads, ok().changed()).pins(),
        "prepared_text"
    );
    assert_eq!(prepared(MARIADB_11, reads, ok().changed()).pins(), "");
}

#[test]
fn effects_of_a_statement_follow_from_its_text() {
    let mut stage = prepared(MYSQL, "PREPARE s FROM 'SELECT 1'", ok().changed());
    stage.says("EXECUTE s", rows(1));
    assert_eq!(stage.pins(), "");
    stage.says(
        "PREPARE s FROM 'CREATE TEMPORARY TABLE t (a INT)'",
        ok().changed(),
    );
    stage.says("EXECUTE s", ok().changed());
    assert_eq!(stage.pins(), "temporary_table");
    stage.says("DROP TABLE t", ok());
    stage.says("PREPARE s FROM 'INSERT INTO t VALUES (1)'", ok().changed());
    stage.says("EXECUTE s", ok());
    assert_eq!(stage.pins(), "");
    stage.says("EXECUTE s", ok().changed());
    assert_eq!(stage.pins(), "state", "a trigger has done something");
}

#[test]
fn a_rule_may_pin_prepared_statements() {
    let rules = Rules {
        lasting: [Pin::PreparedStatement].into_iter().collect(),
        ..Rules::default()
    };
    let mut stage = Stage::with(MYSQL, rules);
    stage.says("PREPARE s FROM 'SELECT 1'", ok().changed());
    assert_eq!(stage.pins(), "prepared_statement");
}

#[test]
fn a_reset_removes_prepared_text_statements() {
    let mut stage = prepared(MYSQL, "PREPARE s FROM 'SELECT 1'", ok().changed());
    stage.session.reset(&stage.table);
    stage.connection.reset(&stage.table);
    assert_eq!(made(&stage, "EXECUTE s"), [""; 0]);
    assert_eq!(hidden(&stage, "EXECUTE s"), [""; 0]);
}

#[test]
fn answers_after_return_to_leave_the_connection_in_the_statements_schema() {
    let mut stage = Stage::new(MYSQL);
    stage.says("USE d1", ok().schema("d1"));
    stage.says("PREPARE s FROM 'SET @a = 1'", ok().changed());
    stage.says("USE d2", ok().schema("d2"));
    let execute = "EXECUTE s";
    let facts = sql::facts(execute.as_bytes(), stage.session.flags());
    let own = stage
        .session
        .visit_text(&stage.table, &facts, execute.as_bytes());
    assert_eq!(stage.set(execute), "USE d1; ");
    stage.restore(execute).expect("it is there");
    stage.says(execute, ok().changed());
    stage
        .session
        .return_to(&stage.table, &own.expect("it was elsewhere"));
    stage.hears_texts(&["31", "binary", "1"]);
    assert_eq!(stage.set("SELECT 1"), "USE d2; ");
}
