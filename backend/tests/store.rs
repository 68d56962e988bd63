//! Values that a worker's sessions share besides connections: each is stored once, and their number is bounded.

use std::rc::Rc;

use auth::{Credential, Password};
use dialogues::pool_scene::identity;
use pilotfish_backend::prepared_statement::Definitions;
use pilotfish_backend::shared_store::Store;
use pilotfish_backend::sub_pool::{BackendLogin, PoolKey};
use route::ClusterId;
use sql::{Analysis, Flags, TrustedFunctions};
use system::Entropy;

fn store() -> Store {
    Store::new(Entropy::seeded(7).hash_keys().unwrap())
}

fn login(password: &str) -> BackendLogin {
    BackendLogin {
        user: b"app".to_vec(),
        credential: Credential::Password(Password::new(password)),
    }
}

#[test]
fn sessions_of_one_kind_share_their_identity_until_the_password_changes() {
    let store = store();
    let key = PoolKey::clone(&identity("app").0);
    let (first, login_of_first) = store.identity(key.clone(), login("old"));
    let (second, login_of_second) = store.identity(key.clone(), login("old"));
    assert!(Rc::ptr_eq(&first, &second));
    assert!(Rc::ptr_eq(&login_of_first, &login_of_second));
    let (third, changed) = store.identity(key.clone(), login("new"));
    assert!(Rc::ptr_eq(&first, &third));
    assert!(!Rc::ptr_eq(&login_of_first, &changed));
    let other = PoolKey {
        collation: 8,
        ..key
    };
    let (other, _) = store.identity(other, login("new"));
    assert!(!Rc::ptr_eq(&first, &other));
}

#[test]
fn spare_memory_is_kept_in_small_pieces_and_few_of_them() {
    let store = store();
    store.return_bytes(Vec::with_capacity(1 << 20));
    assert_eq!(
        store.take_bytes().capacity(),
        0,
        "a large piece is given back to the system"
    );
    for _ in 0..1_000 {
        store.return_bytes(Vec::with_capacity(1 << 10));
    }
    let kept = (0..1_000).filter(|_| store.take_bytes().capacity() > 0);
    assert_eq!(kept.count(), 64);
    let mut used = Vec::with_capacity(1 << 10);
    used.extend_from_slice(b"a statement of another session");
    store.return_bytes(used);
    assert!(
        store.take_bytes().is_empty(),
        "nothing of another session is in it"
    );
}

#[test]
fn assignments_that_have_worked_are_remembered_up_to_a_bound() {
    let store = store();
    for key in 0..65_536 {
        store.prove(key);
    }
    assert!(store.is_proven(0));
    store.disprove(7);
    assert!(!store.is_proven(7));
    store.prove(7);
    store.prove(65_536);
    assert!(store.is_proven(65_536));
    assert!(!store.is_proven(0), "all are tried anew");
}

#[test]
fn definitions_hold_until_any_definition_changes() {
    let store = store();
    let (kind, _) = identity("app");
    let values = store.values.fresh();
    let trusted = TrustedFunctions::default();
    let statement = |text: &str| {
        let read = |text: &[u8]| Analysis::of(text, Flags::default());
        store.statement(
            text.as_bytes(),
            &values,
            &kind,
            ClusterId(0),
            read,
            &trusted,
        )
    };
    let key = statement("SELECT a FROM t WHERE id = ?");
    assert!(store.definitions(&key, 3).is_none());
    let definitions = Rc::new(Definitions {
        parameter_count: 1,
        column_count: 1,
        packets: Rc::default(),
        epoch: 3,
    });
    store.define(&key, &definitions);
    let again = statement("SELECT a FROM t WHERE id = ?");
    assert_eq!(again.digest, key.digest);
    assert!(
        Rc::ptr_eq(&again.facts, &key.facts),
        "its text is read once"
    );
    assert!(store.definitions(&again, 3).is_some());
    assert!(
        store.definitions(&again, 4).is_none(),
        "a table may be another one"
    );
    assert!(store.definitions(&statement("SELECT 1"), 3).is_none());
    store.forget_definitions();
    assert!(store.definitions(&key, 3).is_none());
}

#[test]
fn schemas_that_an_account_has_entered_are_remembered_up_to_a_bound() {
    let store = store();
    let account = identity("app").0.account.clone();
    let key = |number: u32| (account.clone(), number.to_be_bytes().to_vec());
    for number in 0..4_097 {
        store.learn_schema(key(number));
    }
    assert!(!store.knows_schema(&key(0)), "the oldest has made room");
    assert!(store.knows_schema(&key(4_096)));
    store.forget_schema(&key(4_096));
    assert!(!store.knows_schema(&key(4_096)), "it is not there any more");
}
