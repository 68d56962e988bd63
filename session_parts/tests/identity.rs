//! The account of a session, and where the session is counted.

use std::rc::Rc;
use std::sync::Arc;

use auth::{KnownAccount, Scramble};
use config::ListenerConfig;
use dialogues::environment::{Environment, account, directory};
use dialogues::peer::greeting;
use dialogues::play;
use dialogues::pool_scene::identity;
use link::failure::FailureKind;
use pilotfish_session_parts::identity::{AccountLogin, Identity};
use registry::session_registry::IdOwner;
use route::BackendId;
use wire::Capabilities;

fn known(user: &str) -> Arc<KnownAccount> {
    let directory = directory([account(user)]);
    let first = directory.accounts().next();
    Arc::clone(first.unwrap())
}

fn login_of(user: &str) -> AccountLogin {
    let (key, login) = identity(user);
    AccountLogin {
        account: known(user),
        login,
        key,
    }
}

fn session(environment: &Environment, user: &str) -> Identity {
    let login = &environment.login;
    let person = login.session_registry.register(0);
    let permit = login.shared.enter(usize::MAX).unwrap();
    Identity::new(
        login_of(user),
        Scramble::of_random([7; 20]),
        Rc::new(greeting(1)),
        Arc::new(ListenerConfig::default()),
        (person, permit),
    )
}

#[test]
fn a_session_counts_for_its_account_until_it_leaves_or_ends() {
    play(async {
        let environment = Environment::plain();
        let [mut first, mut second, mut third] = [(); 3].map(|()| session(&environment, "app"));
        first.introduce(Some(2)).unwrap();
        second.introduce(Some(2)).unwrap();
        let refused = third.introduce(Some(2)).err().unwrap();
        assert_eq!(refused.kind, FailureKind::AccountSessionsMax);
        // Introducing a session again does not count it twice.
        first.introduce(Some(2)).unwrap();
        second.leave_account();
        third.introduce(Some(2)).unwrap();
        assert!(second.introduce(Some(2)).is_err());
        drop(first);
        second.introduce(Some(2)).unwrap();
    });
}

#[test]
fn a_session_that_becomes_another_account_is_counted_for_that() {
    play(async {
        let environment = Environment::plain();
        let mut session = session(&environment, "app");
        session.introduce(None).unwrap();
        let before = session.replace_account(login_of("other"));
        assert_eq!(before.account.user, "app");
        session.introduce(None).unwrap();
        let registry = &environment.login.session_registry;
        let owner = registry.find(session.id());
        assert_eq!(owner, IdOwner::Session(b"other"[..].into()));
        assert!(registry.of_user(b"app").is_empty());
        assert_eq!(registry.of_user(b"other"), [session.id()]);
    });
}

#[test]
fn a_session_with_a_connection_of_its_own_is_found_at_its_server() {
    play(async {
        let environment = Environment::plain();
        let mut session = session(&environment, "app");
        session.introduce(None).unwrap();
        session.bind_to_thread(BackendId(3), 77);
        let registry = Arc::clone(&environment.login.session_registry);
        let id = session.id();
        assert_eq!(registry.find(id), IdOwner::Passed(BackendId(3), 77));
        let places = session.into_places();
        assert_eq!(registry.find(id), IdOwner::Passed(BackendId(3), 77));
        drop(places);
        assert_eq!(registry.find(id), IdOwner::Nobody);
    });
}

#[test]
fn a_session_beside_another_is_the_same_account_under_another_id() {
    play(async {
        let environment = Environment::plain();
        let session = session(&environment, "app");
        let login = &environment.login;
        let places = (
            login.session_registry.register(0),
            login.shared.enter(usize::MAX).unwrap(),
        );
        let double = session.double(places);
        assert!(Rc::ptr_eq(double.key(), session.key()));
        assert!(Rc::ptr_eq(double.login(), session.login()));
        assert_eq!(double.account().id(), session.account().id());
        assert_ne!(double.id(), session.id());
    });
}

#[test]
fn connection_settings_of_one_session_do_not_change_another() {
    play(async {
        let environment = Environment::plain();
        let mut one = session(&environment, "app");
        let login = &environment.login;
        let places = (
            login.session_registry.register(0),
            login.shared.enter(usize::MAX).unwrap(),
        );
        let other = one.double(places);
        one.set_collation(255);
        one.set_capability(Capabilities::MULTI_STATEMENTS, true);
        assert_eq!((one.key().collation, other.key().collation), (255, 45));
        let has = |it: &Identity| {
            it.key()
                .capabilities
                .contains(Capabilities::MULTI_STATEMENTS)
        };
        assert!(has(&one) && !has(&other));
        assert_ne!(
            one.key(),
            other.key(),
            "they do not share connections any more"
        );
    });
}

#[test]
fn refused_changes_of_the_user_are_counted_without_an_end() {
    play(async {
        let environment = Environment::plain();
        let mut session = session(&environment, "app");
        for _ in 0..300 {
            session.note_refused_change();
        }
        assert_eq!(session.refused_changes(), u8::MAX);
    });
}

#[test]
fn statements_are_attributed_to_the_account_and_the_schema_of_the_moment() {
    play(async {
        let environment = Environment::plain();
        let mut session = session(&environment, "app");
        let pool = &environment.pool;
        let (keys, values) = (pool.system.entropy.hash_keys().unwrap(), &pool.store.values);
        let shop = values.in_schema(b"shop");
        let first = Arc::clone(session.attribution(&keys, &shop));
        assert_eq!((&*first.user, &*first.schema), ("app", "shop"));
        let same = values.with(&shop, b"sql_mode", b"ANSI");
        let again = Arc::clone(session.attribution(&keys, &same));
        assert!(Arc::ptr_eq(&again, &first), "a variable is no other schema");
        let elsewhere = values.in_schema(b"ledger");
        let other = Arc::clone(session.attribution(&keys, &elsewhere));
        assert_eq!(&*other.schema, "ledger");
        assert_ne!(other.hash(), first.hash());
        session.replace_account(login_of("other"));
        let changed = session.attribution(&keys, &elsewhere);
        assert_eq!((&*changed.user, &*changed.schema), ("other", "ledger"));
    });
}
