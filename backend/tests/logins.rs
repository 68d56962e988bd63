//! Logins of the pool at a server that refuses, lies, disconnects or asks for a password that it must not get.

use auth::{Credential, Password};
use dialogues::backends::address;
use dialogues::peer::{OK, Peer, PeerEnd, SCRAMBLE, err, greeting, packet};
use dialogues::play;
use dialogues::pool_scene::{PoolScene, result};
use link::failure::{Failure, FailureKind};
use pilotfish_backend::worker_pool::{CheckoutStep, HeldConnection};
use route::{BackendId, Report};
use wire::auth::{CACHING_SHA2_PASSWORD, put_auth_switch};
use wire::{Greeting, HandshakeResponse};

/// Opens a connection to a server that runs this script after its greeting.
async fn open(
    scene: &mut PoolScene,
    greeting: Greeting,
    script: impl AsyncFnOnce(&mut Peer),
) -> Result<HeldConnection, Failure> {
    let CheckoutStep::Permit(id, permit) = scene.begin() else {
        panic!("the pool lends no new connection");
    };
    let pool = std::rc::Rc::clone(&scene.pool);
    let server = &mut scene.server;
    let speaks = async {
        let mut db = server.accept().await;
        db.send_greeting(&greeting).await;
        script(&mut db).await;
        db
    };
    let (opened, _db) = tokio::join!(pool.open(id, permit), speaks);
    opened
}

/// Whether the server receives another command.
async fn hears_command(db: &mut Peer) -> bool {
    db.begin_at(0);
    db.try_hear().await.is_ok()
}

fn switch_to(plugin: &[u8]) -> Vec<u8> {
    let mut payload = Vec::new();
    put_auth_switch(&mut payload, plugin, SCRAMBLE);
    payload.push(0);
    payload
}

#[test]
fn an_account_that_the_server_refuses_is_reported_and_its_proof_forgotten() {
    play(async {
        let mut scene = PoolScene::plain();
        let account = scene.sub_pool.kind.account.clone();
        let keyring = &scene.environment.pool.shared.keyring;
        let password = Credential::Password(Password::new("app"));
        keyring.hold(&account, password);
        assert!(keyring.find(&account).is_some());
        let opened = open(&mut scene, greeting(1), async |db: &mut Peer| {
            db.receive().await;
            db.send_payload(&err(1045, "Access denied")).await;
        });
        let failure = opened.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::LoginRefused);
        assert_eq!(failure.err_payload(true), Some(err(1045, "Access denied")));
        let keyring = &scene.environment.pool.shared.keyring;
        assert!(keyring.find(&account).is_none());
        let reports = scene.environment.reports();
        let [Report::CredentialRefused { backend, user, .. }] = &reports[..] else {
            panic!("{reports:?}");
        };
        assert_eq!((*backend, &**user), (BackendId(1), "app"));
    });
}

#[test]
fn a_server_that_is_full_behind_the_login_is_not_down_and_keeps_the_proof() {
    play(async {
        let mut scene = PoolScene::plain();
        let opened = open(&mut scene, greeting(1), async |db: &mut Peer| {
            db.receive().await;
            db.send_payload(&err(1040, "Too many connections")).await;
        });
        let failure = opened.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::BackendsFull);
        assert!(scene.environment.reports().is_empty());
        let load = &scene.sub_pool.backend.load;
        assert!(load.is_server_full(scene.environment.pool.now()));
    });
}

#[test]
fn an_endless_backend_login_is_aborted() {
    play(async {
        let mut scene = PoolScene::plain();
        let opened = open(&mut scene, greeting(1), async |db: &mut Peer| {
            db.receive().await;
            for _ in 0..16 {
                db.send_payload(&switch_to(b"mysql_native_password")).await;
                if db.try_hear().await.is_err() {
                    return;
                }
            }
        });
        let failure = opened.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::BackendLogin);
        assert!(
            failure.cause.contains("its login has no end"),
            "{}",
            failure.cause
        );
    });
}

#[test]
fn no_password_is_sent_in_clear_whatever_the_server_asks() {
    let plugins: [&[u8]; 4] = [
        b"mysql_clear_password",
        b"sha256_password",
        b"dialog",
        b"a_plugin_that_nobody_knows",
    ];
    for plugin in plugins {
        play(async {
            let mut scene = PoolScene::plain();
            let opened = open(&mut scene, greeting(1), async |db: &mut Peer| {
                db.receive().await;
                db.send_payload(&switch_to(plugin)).await;
                if let Ok(answer) = db.try_hear().await {
                    let has_password = answer.windows(3).any(|part| part == b"app");
                    assert!(!has_password, "{answer:?}");
                    db.send_payload(&err(1045, "Access denied")).await;
                }
            });
            assert!(opened.await.is_err());
        });
    }
}

#[test]
fn a_full_authentication_over_an_open_connection_names_the_settings_that_would_help() {
    play(async {
        let mut scene = PoolScene::plain();
        let greeting = Greeting {
            plugin: CACHING_SHA2_PASSWORD.to_vec(),
            ..greeting(1)
        };
        let opened = open(&mut scene, greeting, async |db: &mut Peer| {
            let response = db.receive().await;
            let response = HandshakeResponse::decode(&response).unwrap();
            assert_eq!(response.auth_response.len(), 32, "the fast way first");
            db.send_payload(&[1, 4]).await;
            assert_eq!(
                db.receive_end().await,
                PeerEnd::Closed,
                "no password, no request for a key"
            );
        });
        let failure = opened.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::FullAuthentication);
        assert!(
            failure.cause.contains("backend_tls.mode"),
            "{}",
            failure.cause
        );
    });
}

#[test]
fn a_login_that_breaks_off_at_any_byte_leaves_the_pool_as_it_was() {
    play(async {
        let mut config = config::Config::default();
        config.pool.backend_connections_max = 1;
        let mut scene = PoolScene::new(config, dialogues::backends::backend(1));
        let answers = [packet(2, OK), result(4, 1)].concat();
        for cut in 0..answers.len() {
            let CheckoutStep::Permit(id, permit) = scene.begin() else {
                panic!("cut at {cut}: the place was not given back");
            };
            let pool = std::rc::Rc::clone(&scene.pool);
            let server = &mut scene.server;
            let speaks = async {
                let mut db = server.accept().await;
                db.send_greeting(&greeting(1)).await;
                db.receive().await;
                db.send(&answers[..cut]).await;
            };
            let (opened, ()) = tokio::join!(pool.open(id, permit), speaks);
            let failure = opened.err().unwrap();
            assert_eq!(failure.kind, FailureKind::BackendLogin, "cut at {cut}");
            // After repeated disconnects the pool does not retry the server immediately.
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        }
        scene.open().await;
    });
}

#[test]
fn a_server_that_reports_no_session_state_after_login_is_rejected() {
    play(async {
        let mut scene = PoolScene::plain();
        let opened = open(&mut scene, greeting(1), async |db: &mut Peer| {
            db.receive().await;
            db.send_payload(OK).await;
            while hears_command(db).await {
                if db.try_send(&packet(1, OK)).await.is_err() {
                    return;
                }
            }
        });
        let failure = opened.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::BackendLogin);
    });
}

#[test]
fn a_server_that_says_nothing_behind_the_login_is_given_up_in_time() {
    play(async {
        let mut scene = PoolScene::plain();
        let opened = open(&mut scene, greeting(1), async |db: &mut Peer| {
            db.receive().await;
            db.send_payload(OK).await;
        });
        let failure = opened.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::BackendLogin);
        assert!(
            failure.cause.contains("no answer within 2s"),
            "{}",
            failure.cause
        );
    });
}

#[test]
fn a_server_that_does_not_answer_is_reported_as_down() {
    play(async {
        let scene = PoolScene::plain();
        scene.environment.network.fall_silent(address(1).into());
        let CheckoutStep::Permit(id, permit) = scene.begin() else {
            panic!("the pool lends no new connection");
        };
        let failure = scene.pool.open(id, permit).await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::NoBackend);
        let reports = scene.environment.reports();
        assert!(
            matches!(reports[..], [Report::ConnectFailed { .. }]),
            "{reports:?}"
        );
    });
}

#[test]
fn an_account_limit_met_after_login_is_reported_in_the_servers_words() {
    play(async {
        let mut scene = PoolScene::plain();
        let refusal = err(
            1226,
            "User 'app' has exceeded the 'max_queries_per_hour' resource",
        );
        let opened = open(&mut scene, greeting(1), async |db: &mut Peer| {
            db.receive().await;
            db.send_payload(OK).await;
            while hears_command(db).await {
                if db.try_send(&packet(1, &refusal)).await.is_err() {
                    return;
                }
            }
        });
        let failure = opened.await.err().unwrap();
        assert_eq!(failure.err_payload(true), Some(refusal.clone()));
    });
}

#[test]
fn a_pool_connection_names_the_proxy_and_the_account_at_login() {
    play(async {
        let mut scene = PoolScene::plain();
        let there = Greeting {
            capabilities: dialogues::peer::CAPABILITIES | wire::Capabilities::CONNECT_ATTRS,
            ..greeting(1)
        };
        let mut attributes = Vec::new();
        let opened = open(&mut scene, there, async |db: &mut Peer| {
            let response = db.receive().await;
            let response = HandshakeResponse::decode(&response).unwrap();
            attributes = response.attributes.unwrap().to_vec();
            db.send_payload(&err(1045, "Access denied")).await;
        });
        assert!(opened.await.is_err());
        let attributes = String::from_utf8_lossy(&attributes).into_owned();
        for part in ["pilotfish", "'app'@'%'"] {
            assert!(attributes.contains(part), "{attributes}");
        }
    });
}
