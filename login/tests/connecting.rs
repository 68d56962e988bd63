//! Finding a backend that greets: backends that refuse, that are full, that are silent or send nonsense.

use std::time::Duration;

use auth::Accounts;
use config::{Config, OverLimit};
use dialogues::backends::{address, backend};
use dialogues::environment::Environment;
use dialogues::peer::{err, greeting, packet};
use dialogues::{play, settle};
use link::failure::{Failure, FailureKind};
use net::proxy_protocol::Header;
use pilotfish_login::connect::{Greeted, connect};
use pilotfish_login::destination::Destination;
use route::{Backend, BackendId, ClusterId, Health, Report, Roles};
use wire::Greeting;

use crate::support::told;

async fn find(environment: &Environment) -> Result<Greeted, Failure> {
    let destination = Destination {
        cluster: ClusterId(0),
        roles: Roles::Any,
    };
    let config = &environment.current().config;
    connect(&environment.login, config, &Header::Own, &destination).await
}

/// An environment in which a login does not wait for a backend.
fn impatient(backends: Vec<Backend>) -> Environment {
    let mut config = Config::default();
    config.balance.timeout_backend_wait = Duration::ZERO;
    Environment::new(config, backends, Accounts::default())
}

fn limited(over_limit: OverLimit) -> Environment {
    let mut config = Config::default();
    config.limits.over_limit = over_limit;
    let limited = Backend {
        sessions_max: Some(1),
        ..backend(1)
    };
    Environment::new(config, vec![limited], Accounts::default())
}

#[test]
fn a_backend_that_refuses_connections_is_reported_and_the_next_one_is_taken() {
    play(async {
        let environment = impatient(vec![backend(1), backend(2)]);
        let mut server = environment.serve(2);
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(9)).await;
            db
        };
        let (found, _db) = tokio::join!(find(&environment), script);
        assert_eq!(found.unwrap().backend.id, BackendId(2));
        let [Report::ConnectFailed { backend, .. }] = &environment.reports()[..] else {
            panic!("one backend has failed");
        };
        assert_eq!(*backend, BackendId(1));
    });
}

#[test]
fn backends_that_do_not_answer_or_do_not_greet_are_given_up_in_time() {
    for answers in [false, true] {
        play(async {
            let environment = impatient(vec![backend(1)]);
            let server = environment.serve(1);
            if !answers {
                environment.network.fall_silent(address(1).into());
            }
            let failure = find(&environment).await.err().unwrap();
            assert_eq!(failure.kind, FailureKind::NoBackend);
            let (number, text) = told(&failure);
            assert_eq!(number, 1429);
            assert!(text.contains("db1: no "), "{text}");
            assert!(text.contains("within 2s"), "{text}");
            drop(server);
        });
    }
}

#[test]
fn a_full_server_is_asked_again_until_it_has_a_place_and_is_not_reported() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let script = async {
            for _ in 0..3 {
                let mut db = server.accept().await;
                db.send_payload(&err(1040, "Too many connections")).await;
            }
            let mut db = server.accept().await;
            db.send_greeting(&greeting(9)).await;
            db
        };
        let (found, _db) = tokio::join!(find(&environment), script);
        assert_eq!(found.unwrap().greeting.thread_id, 9);
        assert!(environment.reports().is_empty());
    });
}

#[test]
fn a_server_that_stays_full_is_given_up_with_its_own_error() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(1);
        let refusal = err(1040, "Too many connections");
        let script = async {
            loop {
                let mut db = server.accept().await;
                db.send_payload(&refusal).await;
            }
        };
        let failure = tokio::select! {
            found = find(&environment) => found.err().unwrap(),
            () = script => unreachable!("it goes on"),
        };
        assert_eq!(failure.kind, FailureKind::NoBackend);
        assert_eq!(failure.err_payload(true), Some(refusal.clone()));
    });
}

#[test]
fn a_host_that_the_server_blocks_gets_the_servers_error() {
    play(async {
        let environment = impatient(vec![backend(1)]);
        let mut server = environment.serve(1);
        let refusal = err(1129, "Host is blocked");
        let script = async {
            let mut db = server.accept().await;
            db.send_payload(&refusal).await;
        };
        let (found, ()) = tokio::join!(find(&environment), script);
        let failure = found.err().unwrap();
        assert_eq!(failure.err_payload(true), Some(refusal.clone()));
        assert!(environment.reports().is_empty(), "it is well");
    });
}

#[test]
fn a_client_beyond_the_sessions_of_a_backend_is_refused_at_once() {
    play(async {
        let environment = limited(OverLimit::Refuse);
        let mut server = environment.serve(1);
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(9)).await;
            db
        };
        let (first, _db) = tokio::join!(find(&environment), script);
        let first = first.unwrap();
        let second = find(&environment).await.err().unwrap();
        assert_eq!(second.kind, FailureKind::BackendsFull);
        assert_eq!(told(&second).0, 1040);
        assert!(!server.has_connection(), "it was not asked");
        drop(first);
    });
}

#[test]
fn a_client_beyond_the_sessions_of_a_backend_waits_for_one_to_end_if_configured() {
    play(async {
        let environment = limited(OverLimit::Wait);
        let mut server = environment.serve(1);
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(9)).await;
            db
        };
        let (first, _db) = tokio::join!(find(&environment), script);
        let script = async {
            settle().await;
            assert!(!server.has_connection(), "there is no place yet");
            drop(first);
            environment.login.shared.left.notify_one();
            let mut db = server.accept().await;
            db.send_greeting(&greeting(10)).await;
            db
        };
        let (second, _db) = tokio::join!(find(&environment), script);
        assert_eq!(second.unwrap().greeting.thread_id, 10);
    });
}

#[test]
fn a_login_that_waits_takes_a_backend_that_appears() {
    play(async {
        let environment = Environment::plain();
        let mut server = environment.serve(2);
        let script = async {
            settle().await;
            environment.publish(vec![backend(2)]);
            let mut db = server.accept().await;
            db.send_greeting(&greeting(10)).await;
            db
        };
        let (found, _db) = tokio::join!(find(&environment), script);
        assert_eq!(found.unwrap().backend.id, BackendId(2));
    });
}

#[test]
fn a_backend_of_unknown_health_that_greets_is_reported() {
    play(async {
        let unknown = Backend {
            health: Health::Unknown,
            ..backend(1)
        };
        let environment = impatient(vec![unknown]);
        let mut server = environment.serve(1);
        let script = async {
            let mut db = server.accept().await;
            db.send_greeting(&greeting(9)).await;
            db
        };
        let (found, _db) = tokio::join!(find(&environment), script);
        assert!(found.is_ok());
        let backend = BackendId(1);
        assert_eq!(environment.reports(), [Report::Connected { backend }]);
    });
}

#[test]
fn a_greeting_cut_off_at_any_byte_is_no_greeting() {
    play(async {
        let environment = impatient(vec![backend(1)]);
        let mut server = environment.serve(1);
        let mut payload = Vec::new();
        greeting(9).encode(&mut payload);
        let whole = packet(0, &payload);
        for cut in 0..whole.len() {
            let script = async {
                let mut db = server.accept().await;
                db.send(&whole[..cut]).await;
            };
            let (found, ()) = tokio::join!(find(&environment), script);
            let failure = found.err().unwrap();
            assert_eq!(failure.kind, FailureKind::NoBackend, "cut at {cut}");
            let reports = environment.reports();
            assert!(
                matches!(reports[..], [Report::ConnectFailed { .. }]),
                "{reports:?}"
            );
        }
    });
}

#[test]
fn a_greeting_that_is_a_whole_packet_and_not_a_whole_greeting_is_no_greeting() {
    play(async {
        let environment = impatient(vec![backend(1)]);
        let mut server = environment.serve(1);
        let mut payload = Vec::new();
        greeting(9).encode(&mut payload);
        for cut in 0..payload.len() {
            let script = async {
                let mut db = server.accept().await;
                db.send_payload(&payload[..cut]).await;
                db
            };
            let (found, _db) = tokio::join!(find(&environment), script);
            let is_greeting = Greeting::decode(&payload[..cut]).is_ok();
            assert_eq!(found.is_ok(), is_greeting, "cut at {cut}");
            if let Err(failure) = found {
                let (_, text) = told(&failure);
                assert!(text.contains("not MySQL"), "cut at {cut}: {text}");
            }
        }
    });
}
