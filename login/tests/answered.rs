//! Logins that the proxy answers itself: which clients are admitted, which are refused, and with which error.

use std::sync::Arc;
use std::time::Duration;

use auth::{
    Account, Accounts, Conditions, Credential, Dialect, Directory, Learned, Names, NativeHash,
    Password, Plugin, Rules, Source, Verifier,
};
use config::{Config, ListenerConfig};
use dialogues::backends::backend;
use dialogues::environment::{Environment, account, accounts, client_address, directory};
use dialogues::peer::{CAPABILITIES, OK, PeerEnd, SCRAMBLE, greeting};
use dialogues::{play, settle};
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use net::proxy_protocol::Header;
use pilotfish_login::relayed_login::ClientLogin;
use pilotfish_login::server_login::{AdmittedLogin, LoginOutcome, ServerLogin};
use registry::session_registry::{FIRST_ID, IdOwner};
use route::{BackendId, Report};
use wire::auth::{CACHING_SHA2_PASSWORD, put_auth_switch};
use wire::{Capabilities, Greeting, HandshakeResponse, errors};

use crate::support::{claim, encoded, handshake, proof, switched_proof, told};

/// Runs a login to its end.
async fn enter(
    environment: &Environment,
    client: &mut PacketStream,
) -> Result<LoginOutcome, Failure> {
    let listener = Arc::new(ListenerConfig::default());
    ServerLogin {
        env: &environment.login,
        settings: &environment.current(),
        header: &Header::Own,
        client,
        remote: &client_address(),
        listener: &listener,
        client_login: &mut ClientLogin::default(),
        hooks: None,
    }
    .run()
    .await
}

fn admitted(entered: Result<LoginOutcome, Failure>) -> Box<AdmittedLogin> {
    match entered.unwrap() {
        LoginOutcome::Examined(admitted) => admitted,
        LoginOutcome::Passed(_) | LoginOutcome::LetIn(..) => panic!("the proxy has answered it"),
    }
}

/// An environment whose servers have greeted before, and whose use of host names is known.
fn acquainted(accounts: Accounts) -> Environment {
    let environment = Environment::new(Config::default(), vec![backend(1)], accounts);
    environment.pool.greeting.learn(&greeting(1));
    environment.login.host_names.note(Names::Skipped);
    environment
}

/// The outcome of the login of a user with a password.
async fn claimed(
    environment: &Environment,
    user: &str,
    password: &str,
) -> Result<LoginOutcome, Failure> {
    let (mut client, mut app) = environment.client();
    let script = claim(&mut app, user, password);
    let (entered, ()) = tokio::join!(enter(environment, &mut client), script);
    entered
}

fn with_conditions(conditions: Conditions) -> Accounts {
    let account = Account {
        conditions,
        ..account("app")
    };
    Accounts::new(directory([account]), Learned::Off)
}

const ACCESS_DENIED: &str = "Access denied for user 'app'@'10.0.9.9' (using password: YES)";

#[test]
fn a_client_with_the_right_password_is_admitted_without_a_backend() {
    play(async {
        let environment = acquainted(accounts(&["app"]));
        let server = environment.serve(1);
        let admitted = admitted(claimed(&environment, "app", "app").await);
        assert_eq!(&*admitted.user, b"app");
        assert_eq!(admitted.schema.as_deref(), Some(&b"shop"[..]));
        assert_eq!(admitted.login_capabilities, CAPABILITIES);
        // CONNECT_WITH_DB and similar capabilities do not describe the session.
        let of_login = Capabilities::CONNECT_WITH_DB | Capabilities::PLUGIN_AUTH;
        assert_eq!(admitted.capabilities().0 & of_login.0, 0);
        let id = admitted.registration.id();
        let owner = environment.login.session_registry.find(id);
        assert_eq!(owner, IdOwner::Session(b"app"[..].into()));
        assert!(!server.has_connection());
    });
}

#[test]
fn a_wrong_password_a_missing_one_and_a_user_that_is_not_there_are_refused_alike() {
    play(async {
        let environment = acquainted(accounts(&["app"]));
        let denied = |entered: Result<LoginOutcome, Failure>| {
            let failure = entered.err().unwrap();
            assert_eq!(failure.kind, FailureKind::LoginDenied);
            told(&failure)
        };
        let wrong = denied(claimed(&environment, "app", "wrong").await);
        assert_eq!(wrong, (1045, ACCESS_DENIED.to_owned()));
        let missing = denied(claimed(&environment, "app", "").await);
        let text = ACCESS_DENIED.replace("YES", "NO");
        assert_eq!(missing, (1045, text));
        let stranger = denied(claimed(&environment, "nobody", "wrong").await);
        let text = ACCESS_DENIED.replace("app", "nobody");
        assert_eq!(stranger, (1045, text));
    });
}

#[test]
fn the_first_client_waits_until_a_backend_has_greeted_and_that_backend_is_left_politely() {
    play(async {
        let environment = Environment::new(Config::default(), vec![backend(1)], accounts(&["app"]));
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let (mut other_client, mut other_app) = environment.client();
        let mut there = greeting(17);
        there.capabilities |= Capabilities::MARIADB_CACHE_METADATA | Capabilities::LOCAL_FILES;
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&there).await;
            let hung_up = db.receive().await;
            let goodbye = HandshakeResponse::decode(&hung_up).unwrap();
            assert_eq!(goodbye.user, b"pilotfish says goodbye");
            let offered = app.receive_greeting().await;
            assert!(offered.thread_id >= FIRST_ID, "the id is the proxy's");
            assert_ne!(offered.scramble, SCRAMBLE, "so is the scramble");
            let has = |flag| offered.capabilities.contains(flag);
            assert!(has(Capabilities::LOCAL_FILES));
            assert!(has(Capabilities::COMPRESS));
            assert!(!has(Capabilities::MARIADB_CACHE_METADATA));
            let proof = proof(&offered, "app");
            app.send_payload(&encoded(&handshake(b"app", &proof))).await;
        };
        let (entered, other, (), ()) = tokio::join!(
            enter(&environment, &mut client),
            enter(&environment, &mut other_client),
            script,
            claim(&mut other_app, "app", "app"),
        );
        assert_ne!(
            admitted(entered).registration.id(),
            admitted(other).registration.id()
        );
        assert!(!server.has_connection(), "one client has asked for both");
    });
}

#[test]
fn a_client_of_another_plugin_is_asked_by_the_accounts_own() {
    play(async {
        let hash = Verifier::Native(NativeHash::of(b"secret"));
        let account = Account::new("app", auth::HostPattern::any(Dialect::MariaDb), vec![hash]);
        let environment = acquainted(Accounts::new(directory([account]), Learned::Off));
        let (mut client, mut app) = environment.client();
        let script = async {
            app.receive_greeting().await;
            let response = HandshakeResponse {
                plugin: Some(CACHING_SHA2_PASSWORD),
                ..handshake(b"app", &[7; 32])
            };
            app.send_payload(&encoded(&response)).await;
            let request = app.receive().await;
            app.send_payload(&switched_proof(&request, "secret")).await;
        };
        let (entered, ()) = tokio::join!(enter(&environment, &mut client), script);
        // The hash and the client's answer give the proof that logs in to a backend.
        let credential = admitted(entered).credential;
        assert!(matches!(credential, Credential::NativeStage1(_)));
    });
}

#[test]
fn a_client_that_does_not_support_the_accounts_plugin_gets_an_error() {
    play(async {
        let empty = Verifier::Empty(Plugin::CachingSha2);
        let account = Account::new("app", auth::HostPattern::any(Dialect::MariaDb), vec![empty]);
        let environment = acquainted(Accounts::new(directory([account]), Learned::Off));
        let (mut client, mut app) = environment.client();
        let script = async {
            app.receive_greeting().await;
            let mut response = handshake(b"app", b"");
            response.head.capabilities = CAPABILITIES.with(Capabilities::PLUGIN_AUTH, false);
            response.plugin = None;
            app.send_payload(&encoded(&response)).await;
        };
        let (entered, ()) = tokio::join!(enter(&environment, &mut client), script);
        let failure = entered.err().unwrap();
        assert_eq!(told(&failure).0, 1251);
    });
}

#[test]
fn an_answer_of_a_length_that_no_plugin_gives_is_a_broken_handshake() {
    play(async {
        let environment = acquainted(accounts(&["app"]));
        for length in [1, 19, 21, 250] {
            let (mut client, mut app) = environment.client();
            let script = async {
                app.receive_greeting().await;
                let proof = vec![7; length];
                app.send_payload(&encoded(&handshake(b"app", &proof))).await;
            };
            let (entered, ()) = tokio::join!(enter(&environment, &mut client), script);
            let failure = entered.err().unwrap();
            assert_eq!(
                told(&failure),
                (1043, "Bad handshake".to_owned()),
                "{length}"
            );
        }
    });
}

#[test]
fn a_client_that_leaves_while_it_is_asked_by_another_plugin_has_abandoned_its_login() {
    play(async {
        let environment = acquainted(accounts(&["app"]));
        let (mut client, mut app) = environment.client();
        let script = async {
            app.receive_greeting().await;
            let response = HandshakeResponse {
                plugin: Some(b"a_plugin_that_nobody_knows"),
                ..handshake(b"app", b"")
            };
            app.send_payload(&encoded(&response)).await;
            app.receive().await;
            drop(app);
        };
        let (entered, ()) = tokio::join!(enter(&environment, &mut client), script);
        assert_eq!(entered.err().unwrap().kind, FailureKind::LoginAbandoned);
    });
}

#[test]
fn an_account_lock_is_reported_only_after_the_right_password() {
    play(async {
        let environment = acquainted(with_conditions(Conditions {
            locked: true,
            ..Conditions::default()
        }));
        let owner = claimed(&environment, "app", "app").await.err().unwrap();
        assert_eq!(told(&owner), (4151, errors::this_account_locked().into()));
        let stranger = claimed(&environment, "app", "wrong").await.err().unwrap();
        assert_eq!(told(&stranger), (1045, ACCESS_DENIED.to_owned()));
    });
}

#[test]
fn the_right_password_from_another_network_is_refused_as_a_wrong_one() {
    play(async {
        let environment = acquainted(with_conditions(Conditions {
            networks: vec!["192.168.0.0/16".parse().unwrap()],
            ..Conditions::default()
        }));
        let failure = claimed(&environment, "app", "app").await.err().unwrap();
        assert_eq!(told(&failure), (1045, ACCESS_DENIED.to_owned()));
    });
}

#[test]
fn a_session_above_the_account_limit_is_refused_until_another_ends() {
    play(async {
        let environment = acquainted(with_conditions(Conditions {
            user_connections_max: Some(1),
            ..Conditions::default()
        }));
        let first = admitted(claimed(&environment, "app", "app").await);
        let second = claimed(&environment, "app", "app").await.err().unwrap();
        assert_eq!(second.kind, FailureKind::AccountSessionsMax);
        assert_eq!(told(&second).0, 1203);
        drop(first);
        assert!(claimed(&environment, "app", "app").await.is_ok());
    });
}

#[test]
fn a_client_that_names_no_schema_begins_in_that_of_its_account() {
    play(async {
        let own = Account {
            schema: Some("ledger".to_owned()),
            ..account("app")
        };
        let environment = acquainted(Accounts::new(directory([own]), Learned::Off));
        let (mut client, mut app) = environment.client();
        let script = async {
            let greeting = app.receive_greeting().await;
            let proof = proof(&greeting, "app");
            let response = HandshakeResponse {
                schema: Some(b""),
                ..handshake(b"app", &proof)
            };
            app.send_payload(&encoded(&response)).await;
        };
        let (entered, ()) = tokio::join!(enter(&environment, &mut client), script);
        assert_eq!(admitted(entered).schema.as_deref(), Some(&b"ledger"[..]));
        let named = admitted(claimed(&environment, "app", "app").await);
        assert_eq!(named.schema.as_deref(), Some(&b"shop"[..]));
    });
}

#[test]
fn failures_of_one_user_delay_that_user_and_no_other() {
    play(async {
        let environment = acquainted(accounts(&["app", "other"]));
        for _ in 0..6 {
            assert!(claimed(&environment, "app", "wrong").await.is_err());
        }
        let now = net::clock::now;
        let before = now();
        assert!(claimed(&environment, "other", "other").await.is_ok());
        assert_eq!(
            now(),
            before,
            "the clock stands still while nobody is delayed"
        );
        assert!(claimed(&environment, "app", "app").await.is_ok());
        assert!(now() > before, "a right guess is not told by its speed");
        let forgiven = now();
        assert!(claimed(&environment, "app", "app").await.is_ok());
        assert_eq!(now(), forgiven);
    });
}

/// Accounts with which the logins of unknown users are relayed.
fn open_accounts(accounts: impl IntoIterator<Item = Account>) -> Accounts {
    let rules = Rules {
        dialect: Dialect::MariaDb,
        names: Names::Skipped,
    };
    Accounts::new(Directory::new(rules, accounts, [7; 32]), Learned::Off)
}

#[test]
fn a_user_that_only_a_backend_may_know_is_judged_there() {
    play(async {
        let environment = acquainted(open_accounts([account("app")]));
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let script = async {
            claim(&mut app, "stranger", "secret").await;
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            let forwarded = db.receive().await;
            let forwarded = HandshakeResponse::decode(&forwarded).unwrap();
            assert_eq!(forwarded.user, b"stranger");
            let mut request = Vec::new();
            put_auth_switch(&mut request, b"mysql_native_password", SCRAMBLE);
            request.push(0);
            db.send_payload(&request).await;
            let request = app.receive().await;
            app.send_payload(&switched_proof(&request, "secret")).await;
            assert_eq!(db.receive().await, proof(&greeting(17), "secret"));
            db.send_payload(OK).await;
            assert_eq!(app.receive().await, OK);
        };
        let (entered, ()) = tokio::join!(enter(&environment, &mut client), script);
        let LoginOutcome::Passed(passed) = entered.unwrap() else {
            panic!("a backend has let it in");
        };
        let id = passed.1.registration.as_ref().unwrap().id();
        let owner = environment.login.session_registry.find(id);
        assert_eq!(owner, IdOwner::Passed(BackendId(1), 17));
    });
}

#[test]
fn a_client_is_not_relayed_to_a_backend_that_lacks_the_announced_capabilities() {
    play(async {
        let accounts = open_accounts([account("app")]);
        let environment = Environment::new(Config::default(), vec![backend(1)], accounts);
        environment.pool.greeting.learn(&Greeting {
            capabilities: CAPABILITIES | Capabilities::LOCAL_FILES,
            ..greeting(1)
        });
        let mut server = environment.serve(1);
        let (mut client, mut app) = environment.client();
        let script = async {
            app.receive_greeting().await;
            let mut response = handshake(b"stranger", b"");
            response.head.capabilities |= Capabilities::LOCAL_FILES;
            app.send_payload(&encoded(&response)).await;
            let mut db = server.accept().await;
            db.send_greeting(&greeting(17)).await;
            let heard = db.receive().await;
            let goodbye = HandshakeResponse::decode(&heard).unwrap();
            assert_eq!(goodbye.user, b"pilotfish says goodbye");
            db.send_payload(OK).await;
            assert_eq!(db.receive_end().await, PeerEnd::Closed);
        };
        let (entered, ()) = tokio::join!(enter(&environment, &mut client), script);
        let failure = entered.err().unwrap();
        let text = errors::missing_capabilities("db1");
        assert_eq!(told(&failure), (1429, text.into()));
    });
}

#[test]
fn a_login_to_an_account_with_a_script_fails_in_transparent_mode() {
    play(async {
        let scripted = Account {
            script: Some(vec!["audit.lua".into()]),
            pooling: auth::AccountPooling {
                mode: Some(config::SessionMode::Transparent),
                ..auth::AccountPooling::default()
            },
            ..account("app")
        };
        let environment = acquainted(Accounts::new(directory([scripted]), Learned::Off));
        let failure = claimed(&environment, "app", "app").await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::ScriptFailed);
    });
}

/// An account that was learned from the servers, with this password.
fn learned(password: &str) -> Account {
    let verifier = Verifier::Password(Password::new(password));
    let host = auth::HostPattern::any(Dialect::MariaDb);
    Account {
        source: Source::Learned,
        ..Account::new("app", host, vec![verifier])
    }
}

/// Accounts that were learned when the process began.
fn learned_accounts(password: &str) -> Accounts {
    let known = Learned::Known(Arc::new(directory([learned(password)])));
    let accounts = Accounts::new(directory([]), known);
    accounts.taught(None, Duration::ZERO)
}

#[test]
fn a_password_that_was_changed_at_the_server_is_learned_before_its_user_is_refused() {
    play(async {
        let before = learned_accounts("old");
        let environment = acquainted(before.clone());
        tokio::time::sleep(Duration::from_secs(5)).await;
        let script = async {
            // The login requests a check of its user's account, and waits for the answer.
            settle().await;
            let user = "app".to_owned();
            assert_eq!(environment.reports(), [Report::CheckAccount { user }]);
            let now = environment.pool.now().0;
            let users = ["app".to_owned()];
            let after = before.checked(&users, Some(vec![learned("new")]), now);
            environment.accounts.send_replace(Arc::new(after));
        };
        let (entered, ()) = tokio::join!(claimed(&environment, "app", "new"), script);
        assert_eq!(&*admitted(entered).user, b"app");
    });
}

#[test]
fn an_answer_about_an_account_that_comes_late_lets_a_refused_login_begin_anew() {
    play(async {
        let before = learned_accounts("old");
        let environment = acquainted(before.clone());
        tokio::time::sleep(Duration::from_secs(5)).await;
        let script = async {
            // The first wait is over, and authentication with the old password has failed.
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            assert_eq!(environment.reports().len(), 2);
            let now = environment.pool.now().0;
            let users = ["app".to_owned()];
            let after = before.checked(&users, Some(vec![learned("new")]), now);
            environment.accounts.send_replace(Arc::new(after));
        };
        let (entered, ()) = tokio::join!(claimed(&environment, "app", "new"), script);
        assert_eq!(&*admitted(entered).user, b"app");
    });
}

#[test]
fn the_known_password_stays_valid_if_the_account_check_gets_no_answer() {
    play(async {
        let environment = acquainted(learned_accounts("old"));
        tokio::time::sleep(Duration::from_secs(5)).await;
        let refused = claimed(&environment, "app", "new").await.err().unwrap();
        assert_eq!(told(&refused), (1045, ACCESS_DENIED.to_owned()));
        assert!(claimed(&environment, "app", "old").await.is_ok());
    });
}
