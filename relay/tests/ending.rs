//! A worker's requests to a session: end now, end when possible, or end because of idleness.

use std::rc::Rc;

use dialogues::backends::backend;
use dialogues::peer::{OK, Peer, PeerEnd, greeting};
use dialogues::{play, settle};
use link::failure::{Failure, FailureKind};
use link::session_end::SessionEnd;
use registry::session_control::{Ask, SessionControl};
use route::{Backend, BackendId, Duty, KillReason, Report};
use wire::Greeting;

use crate::breaking::begin;
use crate::support::{OK_IN_TRANSACTION, THREAD_ID, World, run};

/// The parts of a session that a script uses.
struct Scene<'a> {
    world: &'a World,
    control: Rc<SessionControl>,
    app: Peer,
    db: Peer,
}

/// Runs a script around a session; returns the session's end.
async fn around(
    world: &World,
    greeting: Greeting,
    script: impl AsyncFnOnce(Scene<'_>),
) -> Result<SessionEnd, Failure> {
    let stage = world.stage_with(greeting, 1 << 16);
    let scene = Scene {
        world,
        control: Rc::clone(&stage.registered.control),
        app: stage.app,
        db: stage.db,
    };
    let (ended, ()) = tokio::join!(run(stage.session, world), script(scene));
    ended
}

fn killed(why: KillReason) -> Report {
    Report::KillStatement {
        backend: BackendId(1),
        thread_id: THREAD_ID,
        why,
    }
}

#[test]
fn a_session_that_is_killed_ends_without_a_word_and_its_statement_with_it() {
    play(async {
        let world = World::plain();
        let ended = around(&world, greeting(THREAD_ID), async |mut it: Scene<'_>| {
            it.app.send_payload(b"\x03SELECT SLEEP(10)").await;
            it.db.receive_command().await;
            it.control.ask(Ask::KillSession);
            assert_eq!(it.app.receive_end().await, PeerEnd::Closed);
            assert_eq!(it.db.receive_end().await, PeerEnd::Reset);
        });
        let failure = ended.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::Killed);
        let reports = world.environment.reports();
        assert_eq!(reports, [killed(KillReason::ClientGone)]);
    });
}

#[test]
fn a_session_is_drained_between_two_transactions() {
    play(async {
        let world = World::plain();
        let ended = around(&world, greeting(THREAD_ID), async |mut it: Scene<'_>| {
            begin(&mut it.app, &mut it.db).await;
            it.control.ask(Ask::Drain);
            settle().await;
            it.app.begin_at(0);
            it.app.send_payload(b"\x03COMMIT").await;
            assert_eq!(it.db.receive_command().await, b"\x03COMMIT");
            it.db.send_payload(OK).await;
            assert_eq!(it.app.receive().await, OK);
            assert_eq!(it.app.receive_end().await, PeerEnd::Closed);
        });
        assert_eq!(ended.await.unwrap(), SessionEnd::Drained);
        assert!(world.environment.reports().is_empty());
    });
}

#[test]
fn a_statement_that_runs_when_the_proxy_has_to_stop_is_killed_and_its_client_told() {
    play(async {
        let world = World::plain();
        let ended = around(&world, greeting(THREAD_ID), async |mut it: Scene<'_>| {
            it.app.send_payload(b"\x03SELECT SLEEP(10)").await;
            it.db.receive_command().await;
            it.control.ask(Ask::Stop);
            let (number, text) = it.app.receive_err().await;
            assert_eq!(number, 1053);
            assert!(text.contains("did not end in time"), "{text}");
        });
        let failure = ended.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::Stopped);
        let reports = world.environment.reports();
        assert_eq!(reports, [killed(KillReason::Stopping)]);
    });
}

#[test]
fn a_transaction_that_was_idle_for_too_long_is_told_behind_the_clients_next_command() {
    play(async {
        let world = World::plain();
        let ended = around(&world, greeting(THREAD_ID), async |mut it: Scene<'_>| {
            begin(&mut it.app, &mut it.db).await;
            it.control.ask(Ask::IdleTransaction);
            // The locks are freed immediately, before the client's next command.
            assert_eq!(it.db.receive_end().await, PeerEnd::Reset);
            settle().await;
            it.app.begin_at(0);
            it.app.send_payload(b"\x03COMMIT").await;
            let (number, text) = it.app.receive_err().await;
            assert_eq!(number, 4031);
            assert!(text.contains("is rolled back"), "{text}");
            assert_eq!(
                it.world
                    .environment
                    .pool
                    .shared
                    .forced_ends
                    .idle_transactions(),
                1
            );
        });
        let failure = ended.await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::IdleTransaction);
    });
}

#[test]
fn idle_timeouts_do_not_apply_while_a_statement_runs() {
    play(async {
        let world = World::plain();
        let ended = around(&world, greeting(THREAD_ID), async |mut it: Scene<'_>| {
            begin(&mut it.app, &mut it.db).await;
            it.app.begin_at(0);
            it.app.send_payload(b"\x03UPDATE t SET a = 1").await;
            it.db.receive_command().await;
            it.control.ask(Ask::IdleTransaction);
            it.control.ask(Ask::IdleTimeout);
            settle().await;
            let asked = [Ask::IdleTransaction, Ask::IdleTimeout];
            assert!(!asked.iter().any(|ask| it.control.is_asked(*ask)));
            it.db.send_payload(OK_IN_TRANSACTION).await;
            assert_eq!(it.app.receive().await, OK_IN_TRANSACTION);
        });
        assert!(ended.await.is_ok());
    });
}

#[test]
fn an_idle_timeout_sends_an_error_only_from_mysql_8_0_24_on() {
    for (version, is_told) in [
        ("5.5.5-10.11.14-MariaDB", false),
        ("8.0.23", false),
        ("8.0.24", true),
    ] {
        play(async {
            let world = World::plain();
            let greeting = Greeting {
                version: version.into(),
                ..greeting(THREAD_ID)
            };
            let ended = around(&world, greeting, async |mut it: Scene<'_>| {
                it.control.ask(Ask::IdleTimeout);
                if is_told {
                    let (number, _) = it.app.receive_err().await;
                    assert_eq!(number, 4031, "{version}");
                }
                assert_eq!(it.app.receive_end().await, PeerEnd::Closed, "{version}");
            });
            let failure = ended.await.err().unwrap();
            assert_eq!(failure.kind, FailureKind::IdleTimeout);
        });
    }
}

#[test]
fn sessions_of_a_disabled_backend_end_with_what_became_of_their_statement() {
    let cases = [
        (false, false, None),
        (true, false, Some("the transaction is rolled back")),
        (false, true, Some("the statement may have been executed")),
    ];
    for (is_in_transaction, runs, told) in cases {
        play(async {
            let world = World::plain();
            let ended = around(&world, greeting(THREAD_ID), async |mut it: Scene<'_>| {
                if is_in_transaction {
                    begin(&mut it.app, &mut it.db).await;
                }
                if runs {
                    it.app.begin_at(0);
                    it.app.send_payload(b"\x03DO SLEEP(10)").await;
                    it.db.receive_command().await;
                }
                // Another backend was disabled.
                it.control.ask(Ask::BackendDisabled);
                settle().await;
                assert!(!it.control.is_asked(Ask::BackendDisabled));
                let disabled = Backend {
                    duty: Duty::Disabled,
                    ..backend(1)
                };
                it.world.environment.publish(vec![disabled]);
                it.control.ask(Ask::BackendDisabled);
                if let (true, Some(told)) = (runs, told) {
                    let (number, text) = it.app.receive_err().await;
                    assert_eq!(number, 1158);
                    assert!(text.ends_with(told), "{text}");
                }
                assert_eq!(it.db.receive_end().await, PeerEnd::Reset);
            });
            let failure = ended.await.err().unwrap();
            assert_eq!(failure.kind, FailureKind::BackendDisabled);
            assert!(
                failure.cause.ends_with(told.unwrap_or("")),
                "{}",
                failure.cause
            );
            let expected = Vec::from_iter(runs.then(|| killed(KillReason::Disabled)));
            assert_eq!(world.environment.reports(), expected);
        });
    }
}

#[test]
fn killing_one_session_leaves_another_running() {
    play(async {
        let world = World::plain();
        let (one, other) = (world.stage(), world.stage());
        let control = Rc::clone(&one.registered.control);
        let (mut app, mut db) = (other.app, other.db);
        let script = async {
            control.ask(Ask::KillSession);
            settle().await;
            app.send_payload(b"\x03DO 1").await;
            db.receive_command().await;
            db.send_payload(OK).await;
            assert_eq!(app.receive().await, OK);
            drop(app);
        };
        let (one, other, ()) =
            tokio::join!(run(one.session, &world), run(other.session, &world), script,);
        assert!(one.is_err());
        assert_eq!(other.unwrap(), SessionEnd::ClientClosed);
    });
}
