//! Clients that connect: which the worker admits, which it refuses, and what it does with silent clients.

use std::time::Duration;

use config::{Config, OverLimit};
use dialogues::peer::{PeerEnd, err, packet};
use dialogues::{play, settle};
use net::Endpoint;
use pilotfish_worker::SessionState;
use route::{BackendId, Report};
use tokio::time::timeout;

use crate::support::{THREAD_ID, World, response};

#[test]
fn a_client_is_seen_from_its_login_to_its_end() {
    play(async {
        let mut world = World::plain();
        let app = world.connect();
        settle().await;
        let views = world.sessions().await;
        assert_eq!((views.len(), views[0].state), (1, SessionState::Login));
        let (mut app, mut db) = world.complete(app).await;
        settle().await;
        let [view] = &world.sessions().await[..] else {
            panic!("there is one session");
        };
        assert_eq!((view.state, view.mode), (SessionState::Idle, "transparent"));
        assert_eq!((&*view.user, view.schema.as_deref()), ("app", Some("shop")));
        assert_eq!(view.backend, Some(BackendId(1)));
        assert_eq!(view.thread_id, Some(THREAD_ID));
        app.send_payload(b"\x03DO 1").await;
        db.receive_command().await;
        settle().await;
        assert_eq!(world.sessions().await[0].state, SessionState::Running);
        db.send_payload(&[0, 0, 0, 3, 0, 0, 0]).await;
        app.receive().await;
        settle().await;
        assert!(world.sessions().await[0].is_in_transaction);
        drop(app);
        settle().await;
        assert!(world.sessions().await.is_empty());
        assert_eq!(world.plane.sessions(), 0);
    });
}

#[test]
fn a_client_over_the_limit_of_sessions_is_refused_until_another_ends() {
    play(async {
        let mut config = Config::default();
        config.limits.sessions_max = 1;
        let mut world = World::new(config);
        let (first, _db) = world.log_in().await;
        let mut second = world.connect();
        let (number, text) = second.receive_err().await;
        assert_eq!(number, 1040);
        assert!(text.contains("limits.sessions_max"), "{text}");
        assert_eq!(second.receive_end().await, PeerEnd::Closed);
        assert!(!world.server.has_connection(), "no backend was asked");
        drop(first);
        settle().await;
        world.log_in().await;
    });
}

#[test]
fn a_client_over_the_limit_waits_for_a_place_if_configured() {
    play(async {
        let mut config = Config::default();
        config.limits.sessions_max = 1;
        config.limits.over_limit = OverLimit::Wait;
        let mut world = World::new(config);
        let (first, _db) = world.log_in().await;
        let mut second = world.connect();
        let early = timeout(Duration::from_secs(5), second.try_hear()).await;
        assert!(early.is_err());
        drop(first);
        let _served = world.complete(second).await;
        let mut third = world.connect();
        assert_eq!(
            third.receive_err().await.0,
            1040,
            "it has waited for ten seconds"
        );
    });
}

#[test]
fn a_client_that_does_not_answer_the_greeting_is_sent_away_and_its_backend_left_politely() {
    play(async {
        let mut world = World::plain();
        let mut app = world.connect();
        let mut db = world.server.accept().await;
        db.send_greeting(&dialogues::peer::greeting(THREAD_ID))
            .await;
        app.receive_greeting().await;
        let (number, text) = app.receive_err().await;
        assert_eq!(number, 1159);
        assert!(text.contains("limits.timeout_login"), "{text}");
        // The server would count a connection that is dropped here against the proxy's host.
        let goodbye = db.receive().await;
        let goodbye = wire::HandshakeResponse::decode(&goodbye).unwrap();
        assert_eq!(goodbye.user, b"pilotfish says goodbye");
    });
}

#[test]
fn a_host_whose_logins_fail_in_a_row_is_blocked_before_a_backend_is_asked() {
    play(async {
        let mut config = Config::default();
        config.limits.connect_errors_max = Some(2);
        let mut world = World::new(config);
        for _ in 0..2 {
            let mut app = world.connect();
            let mut db = world.server.accept().await;
            db.send_greeting(&dialogues::peer::greeting(THREAD_ID))
                .await;
            app.receive_greeting().await;
            app.send_payload(&response()).await;
            db.receive().await;
            db.send_payload(&err(1045, "Access denied")).await;
            assert_eq!(app.receive_err().await.0, 1045);
            assert_eq!(app.receive_end().await, PeerEnd::Closed);
        }
        let mut app = world.connect();
        assert_eq!(app.receive_err().await.0, 1129);
        assert!(!world.server.has_connection());
        world.plane.handle().host_errors().forget_all();
        world.log_in().await;
    });
}

/// A world in which the client's network belongs to a load balancer.
fn balanced() -> World {
    let mut config = Config::default();
    config.proxy_protocol.trusted_networks = vec!["10.0.9.0/24".parse().unwrap()];
    World::new(config)
}

#[test]
fn the_client_behind_a_load_balancer_is_the_one_that_its_header_names() {
    play(async {
        let mut world = balanced();
        let mut app = world.connect();
        let header = b"PROXY TCP4 192.0.2.7 10.0.0.1 4711 3306\r\n";
        for piece in header.chunks(7) {
            app.send(piece).await;
            settle().await;
        }
        let _served = world.complete(app).await;
        settle().await;
        let views = world.sessions().await;
        assert_eq!(
            views[0].client,
            Endpoint::Tcp(([192, 0, 2, 7], 4711).into())
        );
    });
}

#[test]
fn a_malformed_proxy_header_closes_the_connection_without_an_error() {
    let cases: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"PROXY TCP4 nonsense\r\n",
        b"PROXY TCP4 192.0.2.7",
        b"",
    ];
    for bytes in cases {
        play(async {
            let world = balanced();
            let mut app = world.connect();
            app.send(bytes).await;
            let end = app.receive_end().await;
            assert_eq!(end, PeerEnd::Closed, "{bytes:?}");
            assert!(!world.server.has_connection());
        });
    }
}

#[test]
fn a_client_gets_an_error_if_no_backend_greets() {
    play(async {
        let mut world = World::plain();
        let mut app = world.connect();
        let refuses = async {
            loop {
                let mut db = world.server.accept().await;
                db.send(&packet(0, b"\x09 no protocol of ours")).await;
            }
        };
        let (number, text) = tokio::select! {
            told = app.receive_err() => told,
            () = refuses => unreachable!("it goes on"),
        };
        assert_eq!(number, 1429);
        assert!(text.contains("db1"), "{text}");
        let reports = world.reports();
        assert!(
            matches!(reports[0], Report::ConnectFailed { .. }),
            "{reports:?}"
        );
    });
}
