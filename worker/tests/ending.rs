//! Sessions that the worker ends: killed, idle, disconnected by their clients, or stopped with the proxy.

use std::time::Duration;

use config::Config;
use dialogues::backends::{address, backend};
use dialogues::peer::{OK, Peer, PeerEnd};
use dialogues::{play, settle};
use pilotfish_worker::Killed;
use route::{Backend, BackendId, Duty, Health, KillReason, KillScope, Moment, Report};
use tokio::time::{sleep, timeout};

use crate::support::{THREAD_ID, World};

const SECOND: Duration = Duration::from_secs(1);

const OK_IN_TRANSACTION: &[u8] = &[0, 0, 0, 3, 0, 0, 0];

fn config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

fn killed(why: KillReason) -> Report {
    Report::KillStatement {
        backend: BackendId(1),
        thread_id: THREAD_ID,
        why,
    }
}

/// Sends a command, to which the server gives this reply.
async fn exchange(app: &mut Peer, db: &mut Peer, command: &[u8], reply: &[u8]) {
    app.begin_at(0);
    app.send_payload(command).await;
    db.receive_command().await;
    db.send_payload(reply).await;
    assert_eq!(app.receive().await, reply);
}

#[test]
fn a_session_is_killed_by_the_id_that_it_is_shown_with() {
    play(async {
        let mut world = World::plain();
        let (mut app, mut db) = world.log_in().await;
        settle().await;
        let id = world.sessions().await[0].id;
        let handle = world.plane.handle().clone();
        let nobody = handle.kill(id + 1, KillScope::Connection).await;
        assert_eq!(nobody, Killed::Nobody);
        // The monitor kills statements of relayed sessions, and this test has no monitor.
        let statement = handle.kill(id, KillScope::Statement).await;
        assert!(matches!(statement, Killed::Impossible(_)), "{statement:?}");
        exchange(&mut app, &mut db, b"\x03DO 1", OK).await;
        let told = handle.kill(id, KillScope::Connection).await;
        assert_eq!(told, Killed::Told);
        assert_eq!(app.receive_end().await, PeerEnd::Closed);
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
        assert!(world.sessions().await.is_empty());
    });
}

#[test]
fn a_statement_of_a_relayed_session_is_killed_by_the_monitor() {
    play(async {
        let config = config(|config| {
            config.health.monitor_user = Some("monitor".to_owned());
        });
        let mut world = World::new(config);
        let (mut app, mut db) = world.log_in().await;
        app.send_payload(b"\x03SELECT SLEEP(1000)").await;
        db.receive_command().await;
        settle().await;
        let id = world.sessions().await[0].id;
        let told = world.plane.handle().kill(id, KillScope::Statement).await;
        assert_eq!(told, Killed::Told);
        assert_eq!(world.reports(), [killed(KillReason::Asked)]);
    });
}

#[test]
fn a_login_is_killed_as_a_session_is() {
    play(async {
        let mut world = World::plain();
        let mut app = world.connect();
        let _db = world.server.accept().await;
        settle().await;
        let id = world.sessions().await[0].id;
        let told = world.plane.handle().kill(id, KillScope::Connection).await;
        assert_eq!(told, Killed::Told);
        assert_eq!(app.receive_end().await, PeerEnd::Closed);
    });
}

#[test]
fn an_idle_session_ends_after_its_time_and_a_running_statement_goes_on() {
    play(async {
        let config = config(|config| config.limits.timeout_idle = 5 * SECOND);
        let mut world = World::new(config);
        let (mut app, mut db) = world.log_in().await;
        app.send_payload(b"\x03SELECT SLEEP(60)").await;
        db.receive_command().await;
        sleep(60 * SECOND).await;
        db.send_payload(OK).await;
        assert_eq!(app.receive().await, OK);
        let early = timeout(5 * SECOND, app.try_hear()).await;
        assert!(early.is_err(), "it is idle since a moment ago");
        assert_eq!(app.receive_end().await, PeerEnd::Closed);
        assert!(db.try_hear().await.is_err());
    });
}

#[test]
fn a_transaction_that_is_idle_for_too_long_gives_its_locks_back() {
    play(async {
        let config = config(|config| config.limits.timeout_idle_transaction = 5 * SECOND);
        let mut world = World::new(config);
        let (mut app, mut db) = world.log_in().await;
        exchange(&mut app, &mut db, b"\x03DO 1", OK).await;
        sleep(60 * SECOND).await;
        exchange(&mut app, &mut db, b"\x03BEGIN", OK_IN_TRANSACTION).await;
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
        sleep(60 * SECOND).await;
        app.begin_at(0);
        app.send_payload(b"\x03COMMIT").await;
        assert_eq!(app.receive_err().await.0, 4031);
        assert_eq!(world.plane.handle().forced_ends().idle_transactions(), 1);
    });
}

#[test]
fn a_statement_whose_client_has_closed_its_side_is_killed_after_a_while() {
    play(async {
        let mut world = World::plain();
        let (mut app, mut db) = world.log_in().await;
        app.send_payload(b"\x03SELECT SLEEP(1000)").await;
        db.receive_command().await;
        let _far = app.shut_down().await;
        sleep(4 * SECOND).await;
        assert!(world.reports().is_empty(), "it may still take its reply");
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
        assert_eq!(world.reports(), [killed(KillReason::ClientGone)]);
    });
}

#[test]
fn a_statement_on_a_backend_that_is_down_is_given_up_and_an_idle_session_is_not() {
    play(async {
        let config = config(|config| config.health.timeout_down = 10 * SECOND);
        let mut world = World::new(config);
        let (mut app, mut db) = world.log_in().await;
        let (_idle, mut idle_db) = world.log_in().await;
        app.send_payload(b"\x03SELECT 1").await;
        db.receive_command().await;
        world.environment.network.fall_silent(address(1).into());
        let since = Moment(world.environment.pool.now().0);
        let down = Backend {
            health: Health::Down {
                since,
                cause: "no answer".to_owned(),
            },
            ..backend(1)
        };
        world.environment.publish(vec![down]);
        let early = timeout(9 * SECOND, app.try_hear()).await;
        assert!(early.is_err());
        let (number, text) = app.receive_err().await;
        assert_eq!(number, 1158);
        assert!(text.contains("health.timeout_down"), "{text}");
        sleep(60 * SECOND).await;
        idle_db.begin_at(0);
        let idle = timeout(SECOND, idle_db.try_hear()).await;
        assert!(idle.is_err(), "nothing of that session waits");
    });
}

#[test]
fn sessions_leave_a_backend_that_is_disabled() {
    play(async {
        let mut world = World::plain();
        let (mut app, mut db) = world.log_in().await;
        settle().await;
        let disabled = Backend {
            duty: Duty::Disabled,
            ..backend(1)
        };
        world.environment.publish(vec![disabled]);
        assert_eq!(db.receive_end().await, PeerEnd::Reset);
        assert_eq!(app.receive_end().await, PeerEnd::Closed);
    });
}

#[test]
fn a_proxy_that_stops_waits_for_transactions_and_cuts_those_that_take_too_long() {
    play(async {
        let mut world = World::plain();
        let (mut idle, _idle_db) = world.log_in().await;
        let (mut short, mut short_db) = world.log_in().await;
        let (mut long, mut long_db) = world.log_in().await;
        exchange(&mut short, &mut short_db, b"\x03BEGIN", OK_IN_TRANSACTION).await;
        exchange(&mut long, &mut long_db, b"\x03BEGIN", OK_IN_TRANSACTION).await;
        let drain = world.plane.drain(30 * SECOND, std::future::pending());
        let script = async {
            assert_eq!(idle.receive_end().await, PeerEnd::Closed);
            exchange(&mut short, &mut short_db, b"\x03COMMIT", OK).await;
            assert_eq!(short.receive_end().await, PeerEnd::Closed);
            let early = timeout(20 * SECOND, long.try_hear()).await;
            assert!(early.is_err());
            assert_eq!(long_db.receive_end().await, PeerEnd::Reset);
        };
        let (cut, ()) = tokio::join!(drain, script);
        assert_eq!(cut, 1);
    });
}
