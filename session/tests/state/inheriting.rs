//! Global variables that change while a session exists; one test for each rule.

use super::stage::{MARIADB_10, MARIADB_11, MYSQL, Stage, ok};
use pilotfish_session::state::{Former, Heir};
use std::rc::Rc;

fn former<'a>(name: &'a str, before: &'a str, now: &'a str) -> Former<'a> {
    Former {
        name: name.as_bytes(),
        before: before.as_bytes(),
        now: now.as_bytes(),
        is_on_connection: true,
    }
}

fn changes(stage: &mut Stage, former: &[Former<'_>], heir: Heir) {
    let connection = Some(&mut stage.connection);
    stage
        .session
        .keep_inherited(&stage.table, connection, former, heir);
}

fn change(stage: &mut Stage, name: &str, before: &str, now: &str) {
    changes(stage, &[former(name, before, now)], Heir::default());
}

#[test]
fn a_session_keeps_its_inherited_values() {
    let mut stage = Stage::new(MYSQL);
    change(&mut stage, "group_concat_max_len", "1024", "2048");
    assert_eq!(
        stage.set("SELECT 1"),
        "",
        "its connection has inherited it, too"
    );
    let set = "SET SESSION group_concat_max_len=1024";
    assert_eq!(stage.moves("SELECT 1"), set);
    stage.restore("SELECT 1").expect("it takes it");
    stage.gives_way();
    let back = "SET SESSION group_concat_max_len=DEFAULT";
    assert_eq!(stage.set("SELECT 1"), back, "a session that begins now");
}

#[test]
fn a_variable_set_to_default_is_inherited_again() {
    let mut stage = Stage::new(MARIADB_11);
    change(&mut stage, "time_zone", "SYSTEM", "+01:00");
    assert_ne!(stage.moves("SELECT 1"), "");
    change(&mut stage, "time_zone", "+01:00", "SYSTEM");
    assert_eq!(stage.moves("SELECT 1"), "");
    change(&mut stage, "time_zone", "SYSTEM", "SYSTEM");
    assert_eq!(stage.moves("SELECT 1"), "", "it changed twice at once");
}

#[test]
fn a_session_keeps_its_own_assignments() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET sort_buffer_size = 5",
        ok().var("sort_buffer_size", "5"),
    );
    change(&mut stage, "sort_buffer_size", "100", "200");
    assert_eq!(stage.moves("SELECT 1"), "SET SESSION sort_buffer_size=5");
}

#[test]
fn statements_are_read_in_the_inherited_mode() {
    let mut stage = Stage::new(MYSQL);
    change(&mut stage, "sql_mode", "ANSI_QUOTES", "");
    assert!(stage.session.flags().ansi_quotes);
    change(&mut stage, "sql_mode", "", "ANSI_QUOTES");
    let flags = sql::Flags::default().in_mode(b"STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES");
    stage.session.reset(&stage.table);
    stage.session.begins_as(flags);
    assert!(stage.session.flags().no_backslash_escapes);
    assert!(!stage.session.flags().ansi_quotes);
}

#[test]
fn restricted_variables_stay_with_sessions_that_have_set_globals() {
    for (name, server) in [
        ("enforce_storage_engine", MARIADB_10),
        ("binlog_format", MYSQL),
    ] {
        let mut stage = Stage::new(server);
        change(&mut stage, name, "a", "b");
        assert_eq!(stage.moves("SELECT 1"), "", "{name}");
        let heir = Heir {
            is_privileged: true,
            ..Heir::default()
        };
        changes(&mut stage, &[former(name, "a", "b")], heir);
        assert_ne!(stage.moves("SELECT 1"), "", "{name}");
    }
    let mut stage = Stage::new(MARIADB_10);
    change(&mut stage, "default_tmp_storage_engine", "", "Aria");
    let set = "SET SESSION default_tmp_storage_engine=NULL";
    assert_eq!(stage.moves("SELECT 1"), set);
    let mut stage = Stage::new(MARIADB_10);
    change(&mut stage, "max_relay_log_size", "0", "4096");
    assert_eq!(stage.moves("SELECT 1"), "", "it is a replication source's");
    let mut stage = Stage::new(MYSQL);
    change(&mut stage, "max_allowed_packet", "1", "2");
    change(&mut stage, "character_set_client", "latin1", "utf8mb4");
    change(&mut stage, "optimizer_trace", "enabled=off", "enabled=on");
    assert_eq!(
        stage.moves("SELECT 1"),
        "",
        "nothing sets these in a session"
    );
}

#[test]
fn the_time_out_of_an_interactive_client_is_another_variable() {
    for (is_interactive, name, set) in [
        (false, "wait_timeout", "SET SESSION wait_timeout=50"),
        (
            false,
            "interactive_timeout",
            "SET SESSION interactive_timeout=50",
        ),
        (true, "wait_timeout", ""),
        (
            true,
            "interactive_timeout",
            "SET SESSION interactive_timeout=50,SESSION wait_timeout=50",
        ),
    ] {
        let mut stage = Stage::new(MYSQL);
        let heir = Heir {
            is_interactive,
            ..Heir::default()
        };
        changes(&mut stage, &[former(name, "50", "60")], heir);
        assert_eq!(stage.moves("SELECT 1"), set, "{name} {is_interactive}");
    }
}

#[test]
fn variables_that_the_account_may_not_set_are_not_restored() {
    let mut stage = Stage::new(MYSQL);
    stage.says(
        "SET sort_buffer_size = 5",
        ok().var("sort_buffer_size", "5"),
    );
    change(&mut stage, "of_a_plugin", "1", "2");
    stage.session.give_up_refused(&stage.table, Some(1227));
    assert_eq!(stage.moves("SELECT 1"), "SET SESSION sort_buffer_size=5");
    let values = Rc::clone(stage.session.values());
    stage.session.give_up_refused(&stage.table, Some(1227));
    assert!(Rc::ptr_eq(&values, stage.session.values()));
}

#[test]
fn query_cache_type_is_not_restored_after_error_1925() {
    let mut stage = Stage::new(MARIADB_10);
    let set = "SET sort_buffer_size = 5, query_cache_type = ON";
    let reply = ok()
        .var("sort_buffer_size", "5")
        .var("query_cache_type", "ON");
    stage.says(set, reply);
    stage.session.give_up_refused(&stage.table, Some(1227));
    let both = "SET SESSION query_cache_type=0x4F4E,SESSION sort_buffer_size=5";
    assert_eq!(stage.moves("SELECT 1"), both, "another error");
    stage.session.give_up_refused(&stage.table, Some(1925));
    assert_eq!(stage.moves("SELECT 1"), "SET SESSION sort_buffer_size=5");
}
