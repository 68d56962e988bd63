//! How old the proxy's knowledge may be: of accounts, and of whether the servers resolve host names.

use std::sync::Arc;
use std::time::Duration;

use auth::{Account, Accounts, Learned, Names, Origin, Source};
use config::{Config, ListenerConfig, ReplicaUse};
use dialogues::backends::{backend, topology};
use dialogues::environment::{Environment, account, directory};
use dialogues::play;
use pilotfish_login::destination::Destination;
use pilotfish_login::known_accounts::AccountLookup;
use pilotfish_login::known_host_names::HostNames;
use route::{Cluster, ClusterId, Report, Roles};
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// An environment whose accounts were learned when the process began.
fn learned() -> Environment {
    let known = Learned::Known(Arc::new(directory([learned_account("app")])));
    let accounts = Accounts::new(directory([]), known).taught(None, Duration::ZERO);
    Environment::new(Config::default(), vec![backend(1)], accounts)
}

fn learned_account(user: &str) -> Account {
    Account {
        source: Source::Learned,
        ..account(user)
    }
}

async fn find(environment: &Environment, user: &str) -> AccountLookup {
    let origin = Origin::tcp([10, 0, 9, 9].into(), None);
    AccountLookup::find(&environment.login, user.as_bytes(), &origin).await
}

fn check_of(user: &str) -> Report {
    Report::CheckAccount {
        user: user.to_owned(),
    }
}

#[test]
fn an_account_learned_within_a_second_is_not_checked_again() {
    play(async {
        let environment = learned();
        sleep(SECOND / 2).await;
        let found = find(&environment, "app").await;
        assert!(matches!(found, AccountLookup::Account(_)));
        assert!(environment.reports().is_empty());
    });
}

#[test]
fn an_account_older_than_a_second_is_checked_and_used_without_waiting() {
    play(async {
        let environment = learned();
        sleep(SECOND * 3 / 2).await;
        let found = timeout(Duration::ZERO, find(&environment, "app")).await;
        assert!(
            matches!(found, Ok(AccountLookup::Account(_))),
            "nobody has waited"
        );
        assert_eq!(environment.reports(), [check_of("app")]);
    });
}

#[test]
fn a_login_waits_for_the_check_of_an_account_older_than_two_seconds() {
    play(async {
        let environment = learned();
        sleep(3 * SECOND).await;
        let before = Arc::clone(&environment.login.accounts.borrow());
        let answer = async {
            sleep(SECOND / 2).await;
            let now = environment.pool.now().0;
            let gone = before.checked(&["app".to_owned()], Some(Vec::new()), now);
            environment.accounts.send_replace(Arc::new(gone));
        };
        let (found, ()) = tokio::join!(find(&environment, "app"), answer);
        assert!(matches!(found, AccountLookup::Nobody(_)), "it was dropped");
        assert_eq!(environment.reports(), [check_of("app")]);
    });
}

#[test]
fn a_user_that_is_not_known_waits_for_an_answer_even_if_all_were_learned_lately() {
    play(async {
        let environment = learned();
        sleep(SECOND * 3 / 2).await;
        let before = Arc::clone(&environment.login.accounts.borrow());
        let answer = async {
            sleep(SECOND / 2).await;
            let now = environment.pool.now().0;
            let users = ["new".to_owned()];
            let created = before.checked(&users, Some(vec![learned_account("new")]), now);
            environment.accounts.send_replace(Arc::new(created));
        };
        let (found, ()) = tokio::join!(find(&environment, "new"), answer);
        assert!(matches!(found, AccountLookup::Account(_)), "it was created");
    });
}

#[test]
fn a_server_is_asked_again_how_it_calls_hosts_after_ten_minutes() {
    play(async {
        let known = HostNames::default();
        let accounts = Accounts::default();
        assert_eq!(
            (known.answer(), known.names(&accounts)),
            (None, Names::Skipped)
        );
        known.note(Names::Resolved);
        sleep(599 * SECOND).await;
        assert_eq!(known.answer(), Some(Names::Resolved));
        sleep(SECOND).await;
        assert_eq!(known.answer(), None);
        // The error of a denied login uses the old answer meanwhile.
        assert_eq!(known.names(&accounts), Names::Resolved);
    });
}

#[test]
fn the_cluster_and_the_roles_of_an_account_go_before_those_of_its_listener() {
    let mut known = topology(vec![backend(1)]);
    for (id, name) in [(1, "archive"), (2, "reports")] {
        known.clusters.push(Cluster {
            id: ClusterId(id),
            name: name.to_owned(),
            written: Arc::default(),
        });
    }
    let mut config = Config::default();
    config.routing.replicas = ReplicaUse::Any;
    let mut listener = ListenerConfig::default();
    let mut own = account("app");
    let of = |listener: &ListenerConfig, own: Option<&auth::Account>| {
        let found = Destination::of(&known, &config, listener, own);
        (found.cluster, found.roles)
    };
    assert_eq!(of(&listener, Some(&own)), (ClusterId(0), Roles::Any));
    listener.routing.cluster = Some("archive".to_owned());
    listener.routing.replicas = Some(ReplicaUse::Replica);
    assert_eq!(of(&listener, Some(&own)), (ClusterId(1), Roles::Replica));
    own.routing.cluster = Some("reports".to_owned());
    own.routing.replicas = Some(ReplicaUse::Primary);
    assert_eq!(of(&listener, Some(&own)), (ClusterId(2), Roles::Primary));
    assert_eq!(of(&listener, None), (ClusterId(1), Roles::Replica));
    // A cluster to which no backend belongs any more.
    own.routing.cluster = Some("gone".to_owned());
    assert_eq!(of(&listener, Some(&own)).0, ClusterId(0));
}
