//! The changes of session state that a client is told.

use std::rc::Rc;

use dialogues::pool_scene::POOLED;
use lanes::lane_request::LaneRequest;
use pilotfish_session_parts::tracking::Tracking;
use session::track_settings::SessionTrackSettings;
use sql::{Facts, Flags, Server};
use wire::reply::OkPacket;
use wire::session_track::{Change, OkTail};

const MARIADB: Server = Server::MariaDb(101_114);

/// The tracking settings of a login: these variables, and this setting for transactions.
fn settings(variables: &[u8], transactions: &[u8]) -> Rc<SessionTrackSettings> {
    let row = [
        Some(variables),
        Some(&b"ON"[..]),
        Some(&b"OFF"[..]),
        Some(transactions),
    ];
    Rc::new(SessionTrackSettings::read(&row).unwrap())
}

fn facts(text: &str) -> Facts {
    let mut facts = Facts::default();
    facts.read(text.as_bytes(), Flags::default());
    facts
}

/// Notes that the session has sent this text, and whether it succeeded.
fn send_payload(tracking: &mut Tracking, text: &str, sets: bool, is_ok: bool) {
    tracking.note_settings(&facts(text), text.as_bytes(), sets, is_ok);
}

/// Of the changed variables, returns the names that the client is told.
fn told(tracking: &mut Tracking, changed: &[&str]) -> Vec<String> {
    let changes: Vec<Change<'_>> = changed
        .iter()
        .map(|name| Change::Variable {
            name: name.as_bytes(),
            value: b"1",
        })
        .collect();
    let ok = tracking.ok(&OkPacket::default(), POOLED, &changes);
    let tail = OkTail::decode(&ok, POOLED).unwrap();
    let names = tail.changes().filter_map(|change| match change.unwrap() {
        Change::Variable { name, .. } => Some(String::from_utf8_lossy(name).into_owned()),
        _ => None,
    });
    names.collect()
}

#[test]
fn a_set_of_what_is_tracked_holds_for_its_own_reply() {
    let login = settings(b"autocommit", b"OFF");
    let mut tracking = Tracking::default();
    let text = "SET SESSION session_track_system_variables = 'sql_mode'";
    let before = tracking.apply_set(&login, &facts(text), text.as_bytes());
    assert_eq!(before, Some(Rc::clone(&login)));
    let both = ["autocommit", "sql_mode"];
    assert_eq!(told(&mut tracking, &both), ["sql_mode"]);
    // The server has refused the SET.
    tracking.undo_set(before.unwrap());
    assert_eq!(told(&mut tracking, &both), ["autocommit"]);
}

#[test]
fn a_statement_that_sets_nothing_leaves_the_settings_of_the_login() {
    let login = settings(b"autocommit", b"OFF");
    let mut tracking = Tracking::default();
    let text = "SELECT a FROM t";
    assert!(
        tracking
            .apply_set(&login, &facts(text), text.as_bytes())
            .is_none()
    );
    let (known, _) = tracking.settings_and_changes();
    assert!(
        known
            .as_ref()
            .is_some_and(|known| Rc::ptr_eq(known, &login))
    );
}

#[test]
fn a_value_that_is_no_literal_is_asked_for_and_learned() {
    let login = settings(b"autocommit", b"OFF");
    let mut tracking = Tracking::default();
    tracking.settings_on(&login);
    let text = "SET session_track_system_variables = CONCAT('sql', '_mode')";
    send_payload(&mut tracking, text, true, true);
    assert!(tracking.has_unseen() && tracking.needs_own_connection());
    let names = tracking.take_unseen();
    assert_eq!(names, [Box::from(&b"session_track_system_variables"[..])]);
    assert!(!tracking.has_unseen());
    let row = [
        Some(&b"sql_mode"[..]),
        Some(&b"ON"[..]),
        Some(&b"OFF"[..]),
        Some(&b"OFF"[..]),
    ];
    tracking.learn(MARIADB, &names, &row);
    assert_eq!(
        told(&mut tracking, &["autocommit", "sql_mode"]),
        ["sql_mode"]
    );
    assert_eq!(
        *login,
        *settings(b"autocommit", b"OFF"),
        "the login's are others' as well"
    );
}

#[test]
fn a_set_that_failed_is_not_asked_for() {
    let mut tracking = Tracking::default();
    let text = "SET session_track_schema = @a";
    send_payload(&mut tracking, text, true, false);
    send_payload(&mut tracking, text, false, true);
    assert!(!tracking.has_unseen());
}

#[test]
fn a_client_that_looks_at_its_settings_sees_its_own_and_not_the_proxys() {
    for (text, shows) in [
        ("SHOW VARIABLES LIKE 'session_track%'", true),
        ("SELECT @@session_track_schema", true),
        ("SELECT @@sql_mode", false),
    ] {
        let login = settings(b"autocommit", b"OFF");
        let mut tracking = Tracking::default();
        tracking.apply_set(&login, &facts(text), text.as_bytes());
        assert_eq!(tracking.needs_own_connection(), shows, "{text}");
        assert_eq!(tracking.take_shown().is_some(), shows, "{text}");
        assert_eq!(tracking.has_shown(), shows, "{text}");
        assert!(tracking.take_shown().is_none(), "for one statement: {text}");
        tracking.note_shown();
        // After that, the connection must report all changes to the proxy again.
        assert_eq!(tracking.has_unseen(), shows, "{text}");
        assert!(!tracking.has_shown());
    }
}

#[test]
fn a_prepared_text_that_sets_what_is_tracked_is_followed_by_a_look() {
    let mut tracking = Tracking::default();
    send_payload(&mut tracking, "EXECUTE s", false, true);
    assert!(!tracking.has_unseen(), "nothing of the kind is prepared");
    let text = "PREPARE s FROM 'SET SESSION_TRACK_SCHEMA = 0'";
    send_payload(&mut tracking, text, false, true);
    assert!(tracking.needs_own_connection());
    send_payload(&mut tracking, "EXECUTE s", false, false);
    assert!(!tracking.has_unseen(), "it has failed");
    send_payload(&mut tracking, "EXECUTE s", false, true);
    assert_eq!(tracking.take_unseen(), [Box::from(&b"*"[..])]);
    tracking.reset();
    assert!(!tracking.needs_own_connection());
}

#[test]
fn whether_a_client_hears_of_transactions_is_certain_only_when_all_is_known() {
    let mut tracking = Tracking::default();
    assert!(!tracking.reports_no_transactions(), "nothing is known yet");
    tracking.settings_on(&settings(b"", b"OFF"));
    assert!(tracking.reports_no_transactions());
    send_payload(
        &mut tracking,
        "SET session_track_transaction_info = @a",
        true,
        true,
    );
    assert!(!tracking.reports_no_transactions());
    tracking.reset();
    tracking.settings_on(&settings(b"", b"CHARACTERISTICS"));
    assert!(!tracking.reports_no_transactions());
}

#[test]
fn a_variable_that_the_proxy_sets_is_all_that_has_changed() {
    let mut tracking = Tracking::default();
    tracking.note_variable(b"sql_mode", b"ANSI");
    tracking.note_variable(b"autocommit", b"OFF");
    assert!(tracking.changes().value_of(b"sql_mode").is_none());
    assert_eq!(
        tracking.changes().value_of(b"autocommit"),
        Some(&b"OFF"[..])
    );
    tracking.forget_changes();
    assert!(tracking.changes().is_empty());
}

#[test]
fn a_lane_has_the_settings_and_changes_of_a_session_while_it_runs_its_statement() {
    let mut tracking = Tracking::default();
    let login = settings(b"autocommit", b"OFF");
    tracking.settings_on(&login);
    let request = LaneRequest::new(POOLED);
    tracking.swap_with(&request);
    assert!(tracking.settings_and_changes().0.is_none());
    assert!(request.track_settings.borrow().as_ref() == Some(&login));
    request.changes.borrow_mut().variable(b"autocommit", b"OFF");
    tracking.swap_with(&request);
    assert!(tracking.settings_and_changes().0.as_ref() == Some(&login));
    assert_eq!(
        tracking.changes().value_of(b"autocommit"),
        Some(&b"OFF"[..])
    );
    assert!(request.changes.borrow().is_empty());
}
