//! Limits at which sessions wait: on connections, on running statements, and on the statements that a rule admits.

use std::sync::Arc;
use std::time::Duration;

use config::Config;
use dialogues::backends::backend;
use dialogues::pool_scene::PoolScene;
use dialogues::{play, settle};
use link::failure::FailureKind;
use pilotfish_backend::running_statements::{RunningStatement, wait_in_queue};
use pilotfish_backend::statement_limits::{Inside, Passage, StatementLimits, Waiting, enter};
use pilotfish_backend::worker_pool::CheckoutStep;
use tokio::time::timeout;

/// A pool with this maximum of connections and of waiting sessions.
fn scene(connections_max: u32, waiters_max: usize) -> PoolScene {
    let mut config = Config::default();
    config.pool.backend_connections_max = connections_max;
    config.pool.waiters_max = waiters_max;
    PoolScene::new(config, backend(1))
}

#[test]
fn a_session_that_waits_too_long_for_a_connection_is_told_so() {
    play(async {
        let mut scene = scene(1, 10);
        let (held, _db) = scene.open().await;
        let CheckoutStep::Waits(wait) = scene.begin() else {
            panic!("there is no second connection");
        };
        let granted = wait.granting.await;
        wait.ticket.spend();
        let patience = Duration::from_secs(30);
        let step = scene.pool.granted(wait.sub_pool, granted, patience);
        let Some(CheckoutStep::Refused(failure)) = step else {
            panic!("none has become free");
        };
        assert_eq!(failure.kind, FailureKind::PoolExhausted);
        assert!(failure.cause.contains("within 30s"), "{}", failure.cause);
        scene.pool.give_back(held);
    });
}

#[test]
fn a_session_is_refused_if_the_connection_queue_is_full() {
    play(async {
        let mut scene = scene(1, 1);
        let (_held, _db) = scene.open().await;
        let first = scene.begin();
        assert!(matches!(first, CheckoutStep::Waits(_)));
        let CheckoutStep::Refused(failure) = scene.begin() else {
            panic!("one waits already");
        };
        assert_eq!(failure.kind, FailureKind::PoolExhausted);
        assert!(
            failure.cause.contains("pool.waiters_max"),
            "{}",
            failure.cause
        );
    });
}

/// A pool to a backend that runs at most `places` statements at once.
fn running(places: u32, waiters_max: usize) -> PoolScene {
    let mut config = Config::default();
    config.pool.adaptive_limit_min = places;
    config.pool.adaptive_limit_max = places;
    config.pool.waiters_max = waiters_max;
    PoolScene::new(config, backend(1))
}

#[test]
fn a_transaction_waits_for_its_turn_and_gets_it_in_the_order_of_coming() {
    play(async {
        let scene = running(1, 10);
        let (env, sub_pool) = (&scene.environment.pool, &scene.sub_pool);
        let first = RunningStatement::begin(sub_pool).unwrap();
        assert!(RunningStatement::begin(sub_pool).is_none());
        let order = std::cell::RefCell::new(Vec::new());
        let waits = async |name: &'static str| {
            let turn = wait_in_queue(env, sub_pool).await;
            order.borrow_mut().push(name);
            turn.ends(env.now().0);
        };
        let ends = async {
            settle().await;
            assert!(order.borrow().is_empty(), "nobody has a turn yet");
            first.ends(env.now().0);
        };
        tokio::join!(waits("second"), waits("third"), ends);
        assert_eq!(*order.borrow(), ["second", "third"]);
    });
}

#[test]
fn a_long_statement_stops_counting_and_frees_its_slot_for_the_queue() {
    play(async {
        let scene = running(1, 10);
        let (env, sub_pool) = (&scene.environment.pool, &scene.sub_pool);
        let long = RunningStatement::begin(sub_pool).unwrap();
        let turn = timeout(Duration::from_secs(1), wait_in_queue(env, sub_pool)).await;
        assert!(turn.is_ok(), "the first counts for a tenth of a second");
        drop((long, turn));
        assert_eq!(sub_pool.running.figures().running, 0);
    });
}

#[test]
fn a_transaction_that_has_begun_goes_on_beyond_the_limit() {
    play(async {
        let scene = running(1, 10);
        let first = RunningStatement::begin(&scene.sub_pool).unwrap();
        let second = RunningStatement::go_on(&scene.sub_pool);
        assert_eq!(scene.sub_pool.running.figures().running, 2);
        drop((first, second));
        assert!(RunningStatement::begin(&scene.sub_pool).is_some());
    });
}

#[test]
fn a_transaction_continues_immediately_if_the_queue_is_full() {
    play(async {
        let scene = running(1, 1);
        let (env, sub_pool) = (&scene.environment.pool, &scene.sub_pool);
        let _first = RunningStatement::begin(sub_pool).unwrap();
        let mut waits = std::pin::pin!(wait_in_queue(env, sub_pool));
        let waiting = timeout(Duration::ZERO, &mut waits).await;
        assert!(waiting.is_err(), "it is the first in line");
        let turn = timeout(Duration::ZERO, wait_in_queue(env, sub_pool)).await;
        assert!(turn.is_ok());
    });
}

#[test]
fn a_session_that_leaves_the_queue_blocks_no_later_statement() {
    play(async {
        let scene = running(1, 10);
        let (env, sub_pool) = (&scene.environment.pool, &scene.sub_pool);
        let first = RunningStatement::begin(sub_pool).unwrap();
        let leaves = timeout(Duration::from_millis(1), wait_in_queue(env, sub_pool)).await;
        assert!(leaves.is_err());
        assert_eq!(sub_pool.running.waiting(), 0);
        drop(first);
        assert!(RunningStatement::begin(sub_pool).is_some());
    });
}

fn inside(passage: Passage) -> Inside {
    match passage {
        Passage::In(inside) => inside,
        Passage::Waits(_) => panic!("it has to wait"),
    }
}

fn waiting(passage: Passage) -> Waiting {
    match passage {
        Passage::In(_) => panic!("it is in"),
        Passage::Waits(waiting) => waiting,
    }
}

#[test]
fn a_gate_lets_as_many_statements_in_as_it_may_and_the_next_when_one_leaves() {
    play(async {
        let limits = Arc::new(StatementLimits::default());
        let first = inside(enter(&limits, 7, 2));
        let _second = inside(enter(&limits, 7, 2));
        let mut third = waiting(enter(&limits, 7, 2));
        let _other = inside(enter(&limits, 8, 2));
        let early = timeout(Duration::from_secs(1), third.called()).await;
        assert!(early.is_err());
        drop(first);
        let third = timeout(Duration::ZERO, third.called()).await;
        assert!(third.is_ok());
        let fourth = enter(&limits, 7, 2);
        assert!(matches!(fourth, Passage::Waits(_)));
    });
}

#[test]
fn a_statement_that_gives_up_at_a_gate_takes_no_place_from_those_behind_it() {
    play(async {
        let limits = Arc::new(StatementLimits::default());
        let first = inside(enter(&limits, 7, 1));
        let [before, called, mut last] = [(); 3].map(|()| waiting(enter(&limits, 7, 1)));
        drop(before);
        drop(first);
        // The waiter is admitted, but leaves before it has noticed that.
        drop(called);
        let last = timeout(Duration::ZERO, last.called()).await;
        assert!(last.is_ok(), "the place goes on to the last");
        drop(last);
        inside(enter(&limits, 7, 1));
    });
}
