//! The state of a session that results from the client's statements.

use std::rc::Rc;

use backend::prepared_statement::StatementKey;
use backend::shared_store::Store;
use dialogues::play;
use dialogues::pool_scene::identity;
use pilotfish_session_parts::sql_state::SqlState;
use pool::{ClientStatementId, ClientStatements};
use route::ClusterId;
use session::state::{Pin, Rules, SessionState};
use sql::{Facts, Flags};
use system::Entropy;

const FILES_MAX: usize = 4;

fn store() -> Store {
    Store::new(Entropy::seeded(7).hash_keys().unwrap())
}

fn statements() -> ClientStatements<StatementKey> {
    ClientStatements::new(16, 1 << 16)
}

fn session_in(store: &Store, schema: &[u8]) -> SessionState {
    let values = store.values.in_schema(schema);
    SessionState::new(Rules::default(), values, Flags::default())
}

fn state(store: &Store) -> SqlState {
    SqlState::new(session_in(store, b"shop"), statements(), 5)
}

fn key(store: &Store, text: &str) -> StatementKey {
    let (kind, _) = identity("app");
    StatementKey {
        text: store.texts.borrow_mut().intern(text.as_bytes()),
        values: store.values.in_schema(b"shop"),
        kind,
        cursor: None,
        cluster: ClusterId(0),
        facts: Rc::new(Facts::default()),
        digest: 0,
        original: None,
    }
}

fn prepare(state: &mut SqlState, key: &StatementKey) -> ClientStatementId {
    let statements = state.statements_mut();
    let prepared = statements.prepare(key.clone(), 0, 1, Rc::default());
    prepared.unwrap()
}

fn is_pinned(state: &SqlState) -> bool {
    state.session().pins().has(Pin::Cursor)
}

#[test]
fn open_cursors_pin_a_session_until_the_last_is_closed() {
    play(async {
        let store = store();
        let mut state = state(&store);
        let [first, second] = ["SELECT 1", "SELECT 2"].map(|text| key(&store, text));
        let ids = [&first, &second].map(|key| prepare(&mut state, key));
        assert!(!is_pinned(&state));
        state.open_cursor(ids[0], first.clone());
        state.open_cursor(ids[1], second.clone());
        assert_eq!((state.cursor_count(), is_pinned(&state)), (2, true));
        assert!(state.cursor(ids[1]) == Some(&second));
        assert!(state.close_cursor(ids[0]) == Some(first));
        assert!(state.close_cursor(ids[0]).is_none(), "it is closed");
        assert!(is_pinned(&state));
        assert!(state.close_cursor(ids[1]).is_some());
        assert!(!state.has_cursors() && !is_pinned(&state));
    });
}

#[test]
fn a_session_that_forgets_its_statements_has_neither_them_nor_cursors() {
    play(async {
        let store = store();
        let mut state = state(&store);
        let key = key(&store, "SELECT 1");
        let id = prepare(&mut state, &key);
        state.open_cursor(id, key);
        state.forget_statements();
        assert!(!state.has_cursors());
        assert!(state.cursor(id).is_none());
        assert!(state.statements_mut().all_mut().next().is_none());
    });
}

#[test]
fn a_failed_change_of_the_account_leaves_the_session_as_it_was() {
    play(async {
        let store = store();
        let mut state = state(&store);
        state.note_globals(true);
        let schema = |state: &SqlState| state.session().values().schema().map(<[u8]>::to_vec);
        let before = state.enter_account(session_in(&store, b"ledger"), 9);
        assert_eq!(schema(&state).as_deref(), Some(&b"ledger"[..]));
        assert_eq!(state.inherits_at(), 9);
        state.return_to(before);
        assert_eq!(schema(&state).as_deref(), Some(&b"shop"[..]));
        assert_eq!(state.inherits_at(), 5);
    });
}

#[test]
fn a_statement_that_may_have_changed_global_variables_is_looked_at_once() {
    play(async {
        let store = store();
        let mut state = state(&store);
        assert!(!state.sets_globals());
        // A failed statement counts as well, because a part of it may have run.
        state.note_globals(false);
        assert!(state.sets_globals());
        state.globals_read();
        assert!(!state.sets_globals());
        assert_eq!(state.inherit_at(8), 5);
        assert_eq!(state.inherits_at(), 8);
    });
}

#[test]
fn files_that_prepared_texts_name_are_kept_up_to_a_bound() {
    play(async {
        let store = store();
        let mut state = state(&store);
        let names = |numbers: std::ops::Range<u8>| -> Vec<Vec<u8>> {
            numbers.map(|number| vec![b'f', number]).collect()
        };
        state.note_prepared_files(&names(0..3), FILES_MAX);
        assert_eq!(state.prepared_files(), names(0..3));
        state.note_prepared_files(&names(3..9), FILES_MAX);
        assert_eq!(state.prepared_files(), names(0..4));
        state.note_prepared_files(&names(9..10), FILES_MAX);
        assert_eq!(state.prepared_files().len(), FILES_MAX);
        // After a reload has lowered the bound, known files stay and no file is added.
        state.note_prepared_files(&names(9..10), 1);
        assert_eq!(state.prepared_files(), names(0..4));
    });
}

#[test]
fn a_session_may_ask_nothing_about_a_statement_that_is_forgotten() {
    play(async {
        let store = store();
        let mut state = state(&store);
        let before = Rc::clone(state.pending_answers());
        state.forget_answers();
        assert!(!Rc::ptr_eq(&before, state.pending_answers()));
        assert!(!state.pending_answers().is_pending());
    });
}

#[test]
fn a_session_beside_another_inherits_from_the_same_time_and_has_no_statements() {
    play(async {
        let store = store();
        let mut state = state(&store);
        prepare(&mut state, &key(&store, "SELECT 1"));
        state.note_prepared_files(&[b"f".to_vec()], FILES_MAX);
        let mut double = state.double(session_in(&store, b"shop"), statements());
        assert_eq!(double.inherits_at(), state.inherits_at());
        assert!(double.statements_mut().all_mut().next().is_none());
        assert!(double.prepared_files().is_empty());
    });
}
