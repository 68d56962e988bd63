//! Connections that are leased and released, to a server that answers nearly every command.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use dialogues::peer::query;
use dialogues::play;
use link::failure::FailureKind;
use pilotfish_backend::kill_thread::kill;
use pilotfish_backend::pending_answers::PendingAnswers;
use pilotfish_backend::privilege_changes::AffectedUsers;
use pilotfish_backend::settle_answers::settle;
use pilotfish_backend::wait_slot::Granted;
use pilotfish_backend::worker_pool::CheckoutStep;
use pool::{CloseReason, Grant};
use route::{KillScope, Report};
use session::Tally;
use session::state::{List, StatementDiagnostics};
use wire::Command;

use crate::support::World;

#[test]
fn a_connection_that_came_back_is_lent_again() {
    play(async {
        let world = World::new(4);
        let held = world.scene.take().await;
        let thread_id = held.conn.thread_id;
        world.scene.pool.give_back(held);
        assert_eq!(world.scene.take().await.conn.thread_id, thread_id);
        assert_eq!(world.server.logins(), 1);
    });
}

#[test]
fn a_session_that_waits_gets_the_connection_that_comes_back() {
    play(async {
        let world = World::new(1);
        let held = world.scene.take().await;
        let CheckoutStep::Waits(wait) = world.scene.begin() else {
            panic!("there is no second connection");
        };
        world.scene.pool.give_back(held);
        let granted = wait.granting.await;
        assert!(matches!(granted, Granted::Grant(Grant::Connection(..))));
        assert_eq!(world.server.logins(), 1);
    });
}

#[test]
fn a_connection_that_broke_leaves_its_place_to_another() {
    play(async {
        let world = World::new(1);
        let held = world.scene.take().await;
        world.scene.pool.forget(held, CloseReason::Broken);
        assert_eq!(world.scene.take().await.conn.thread_id, 2);
    });
}

#[test]
fn no_session_gets_a_connection_that_logged_in_before_a_grant() {
    play(async {
        let world = World::new(4);
        let held = world.scene.take().await;
        world.scene.pool.give_back(held);
        let shared = &world.scene.pool.env.shared;
        shared.privileges_changed(AffectedUsers::All);
        assert_eq!(world.scene.take().await.conn.thread_id, 2);
        assert_eq!(world.server.hears("COM_QUIT").await, 1);
    });
}

#[test]
fn a_connection_leased_during_a_grant_is_closed_when_it_is_released() {
    play(async {
        let world = World::new(4);
        let held = world.scene.take().await;
        let shared = &world.scene.pool.env.shared;
        shared.privileges_changed(AffectedUsers::All);
        world.scene.pool.give_back(held);
        assert_eq!(world.server.hears("COM_QUIT").await, 1);
    });
}

#[test]
fn diagnostics_of_the_previous_session_are_fetched_first() {
    play(async {
        let world = World::new(1);
        let before = Rc::new(PendingAnswers::default());
        let mut held = world.scene.take().await;
        before.takes(&mut held.conn);
        let left = StatementDiagnostics {
            list: List::Fresh,
            ..StatementDiagnostics::default()
        };
        before.note(&left, &Tally::default());
        world.scene.pool.give_back(held);
        let mut held = world.scene.take().await;
        let after = Rc::new(PendingAnswers::default());
        let env = &world.scene.pool.env;
        settle(env, &mut held.conn, &after).await.unwrap();
        assert_eq!(world.server.hears("SHOW WARNINGS").await, 1);
        assert!(before.list().is_some());
    });
}

#[test]
fn a_warning_list_that_the_server_refuses_to_return_is_lost() {
    play(async {
        let world = World::new(1);
        let before = Rc::new(PendingAnswers::default());
        let mut held = world.scene.take().await;
        before.takes(&mut held.conn);
        let left = StatementDiagnostics {
            list: List::Fresh,
            found_rows: Some(0),
            ..StatementDiagnostics::default()
        };
        before.note(&left, &Tally::default());
        world.server.shuts_down.set(true);
        let (env, after) = (&world.scene.pool.env, Rc::default());
        settle(env, &mut held.conn, &after).await.unwrap();
        assert!(before.list().is_none());
        assert!(before.take_saved().is_lost);
    });
}

#[test]
fn no_diagnostics_are_fetched_if_the_same_session_reuses_its_connection() {
    play(async {
        let world = World::new(1);
        let own = Rc::new(PendingAnswers::default());
        let mut held = world.scene.take().await;
        own.takes(&mut held.conn);
        let left = StatementDiagnostics {
            list: List::Fresh,
            ..StatementDiagnostics::default()
        };
        own.note(&left, &Tally::default());
        let env = &world.scene.pool.env;
        settle(env, &mut held.conn, &own).await.unwrap();
        assert!(own.is_pending());
    });
}

#[test]
fn a_thread_is_killed_over_a_connection_that_lies_idle() {
    play(async {
        let world = World::new(4);
        let running = world.scene.take().await;
        let idle = world.scene.take().await;
        world.scene.pool.give_back(idle);
        let said = kill(
            &world.scene.pool,
            &world.scene.sub_pool,
            1,
            KillScope::Statement,
        )
        .await;
        assert_eq!(said, None);
        assert_eq!(world.server.hears("KILL QUERY 1").await, 2);
        drop(running);
    });
}

#[test]
fn a_kill_opens_an_extra_connection_if_the_pool_is_full() {
    play(async {
        let world = World::new(1);
        let running = world.scene.take().await;
        kill(
            &world.scene.pool,
            &world.scene.sub_pool,
            1,
            KillScope::Connection,
        )
        .await;
        assert_eq!(world.server.hears("KILL 1").await, 2);
        drop(running);
    });
}

#[test]
fn a_full_server_is_reported_as_full_and_not_as_down() {
    play(async {
        let world = World::new(4);
        world.server.is_full.set(true);
        let CheckoutStep::Permit(id, permit) = world.scene.begin() else {
            panic!("there is nothing yet");
        };
        let failure = world.scene.pool.open(id, permit).await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::BackendsFull);
        assert_eq!(world.last_report(), None);
    });
}

#[test]
fn a_server_that_is_gone_is_reported() {
    play(async {
        let world = World::new(4);
        world.leave();
        let CheckoutStep::Permit(id, permit) = world.scene.begin() else {
            panic!("there is nothing yet");
        };
        let failure = world.scene.pool.open(id, permit).await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::NoBackend);
        assert!(matches!(
            world.last_report(),
            Some(Report::ConnectFailed { .. })
        ));
    });
}

#[test]
fn a_statement_of_the_proxys_own_has_its_whole_reply() {
    play(async {
        let world = World::new(1);
        let mut held = world.scene.take().await;
        let packets = query("SELECT 1, 2");
        poll_fn(|context| {
            held.conn.send(&packets, context);
            Poll::Ready(())
        })
        .await;
        let env = &world.scene.pool.env;
        let own = held.conn.read_reply(env, Command::QUERY).await.unwrap();
        assert_eq!((own.tally.rows, own.is_cut), (1, false));
    });
}
