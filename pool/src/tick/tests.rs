//! Actions of the tick, and their times.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::*;

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

type TestPool = Pool<char, u32, char>;
type Due = Vec<Action<char, u32, char>>;

fn quiet() -> Limits {
    Limits {
        connections_max: 9,
        open_wait_max: Duration::ZERO,
        age_max: None,
        idle_time_max: None,
        ping_interval: None,
        ..Limits::default()
    }
}

fn fast() -> Rc<RateLimit> {
    Rc::new(RateLimit::new(1000, 1000, Duration::ZERO))
}

fn supply(
    limits: Limits,
    rate_limit: &Rc<RateLimit>,
    connection_limits: &[&Arc<ConnectionLimit>],
) -> Supply {
    Supply {
        limits,
        rate_limit: Rc::clone(rate_limit),
        holdings: connection_limits.iter().map(|c| Holding::new(c)).collect(),
    }
}

fn pool(limits: Limits) -> TestPool {
    let mut pool = Pool::new(1);
    pool.supply('a', supply(limits, &fast(), &[]));
    pool
}

fn check_out(pool: &mut TestPool, key: char, waiter: char, now: Duration) -> Verdict<u32> {
    let wish = Wish {
        distance: |_: &u32| 0,
        waiter: || waiter,
        patience: 10 * S,
        waiting_elsewhere: 0,
    };
    pool.check_out(&key, wish, now)
}

fn open(pool: &mut TestPool, key: char, now: Duration) -> Lease {
    match check_out(pool, key, '-', now) {
        Verdict::Open(permit) => pool.opened(permit, now),
        other => panic!("not to be opened: {other:?}"),
    }
}

fn wait(pool: &mut TestPool, key: char, waiter: char, now: Duration) -> Ticket {
    match check_out(pool, key, waiter, now) {
        Verdict::Wait(ticket) => ticket,
        other => panic!("not to wait: {other:?}"),
    }
}

/// Makes idle connections 0, 1, 2 …, released in this order.
fn idle(pool: &mut TestPool, key: char, count: u32, now: Duration) {
    let leases: Vec<_> = (0..count).map(|_| open(pool, key, now)).collect();
    for (number, lease) in (0..).zip(leases) {
        assert!(matches!(pool.give_back(lease, number, now), Next::Rest));
    }
}

/// Returns the actions as words, and reports their completion to the pool if it expects that.
fn done(pool: &mut TestPool, actions: Due, now: Duration) -> Vec<String> {
    let mut words = Vec::new();
    for action in actions {
        words.push(match action {
            Action::Wake(wake) => format!("wake {}", wake.waiter),
            Action::Refuse(waiter, refusal) => format!("refuse {waiter}: {refusal:?}"),
            Action::Open(key, permit) => {
                let lease = pool.opened(permit, now);
                let _ = pool.give_back(lease, 99, now);
                format!("open {key}")
            }
            Action::Ping(connection, lease) => {
                let _ = pool.give_back(lease, connection, now);
                format!("ping {connection}")
            }
            Action::Close(connection, reason, closing) => {
                let wake = pool.closed(closing, now);
                assert!(wake.is_empty(), "the place is another's: {wake:?}");
                format!("close {connection}: {reason:?}")
            }
        });
    }
    words
}

fn tick(pool: &mut TestPool, now: Duration) -> Vec<String> {
    let actions = pool.tick(now);
    done(pool, actions, now)
}

#[test]
fn an_empty_pool_has_no_tick_due() {
    let mut pool = pool(quiet());
    assert!(pool.tick(S).is_empty());
    assert_eq!(pool.next_tick(S), None);
    idle(&mut pool, 'a', 1, S);
    assert_eq!(pool.next_tick(S), Some(2 * S));
}

#[test]
fn a_waiter_is_refused_when_its_time_is_over() {
    let mut pool = pool(Limits {
        connections_max: 0,
        ..quiet()
    });
    let _tickets = [
        wait(&mut pool, 'a', 'x', S),
        wait(&mut pool, 'a', 'y', 2 * S),
    ];
    assert!(pool.tick(10_900 * MS).is_empty());
    assert_eq!(pool.next_tick(10_900 * MS), Some(11 * S));
    assert_eq!(tick(&mut pool, 11 * S), ["refuse x: TimedOut"]);
    assert_eq!(tick(&mut pool, 12 * S), ["refuse y: TimedOut"]);
    assert_eq!(pool.figures(&'a', S).unwrap().counts.timeouts, 2);
}

#[test]
fn idle_connections_end_by_age_and_by_idle_time_the_latter_down_to_the_minimum() {
    let mut pool = pool(Limits {
        idle_min: 1,
        age_max: Some(100 * S),
        age_jitter: Duration::ZERO,
        idle_time_max: Some(30 * S),
        ..quiet()
    });
    idle(&mut pool, 'a', 3, S);
    assert!(pool.tick(30 * S).is_empty());
    assert_eq!(
        tick(&mut pool, 31 * S),
        ["close 0: IdleTooLong", "close 1: IdleTooLong"]
    );
    assert_eq!(tick(&mut pool, 101 * S), ["close 2: TooOld", "open a"]);
}

#[test]
fn connections_opened_together_do_not_end_together() {
    let mut pool = pool(Limits {
        age_max: Some(100 * S),
        age_jitter: 50 * S,
        ..quiet()
    });
    idle(&mut pool, 'a', 8, S);
    let ends: Vec<_> = (40..110)
        .filter(|second| !tick(&mut pool, S * *second).is_empty())
        .collect();
    assert!(ends.len() >= 4, "{ends:?}");
    assert!(ends.iter().all(|end| (51..=101).contains(end)), "{ends:?}");
}

#[test]
fn idle_connections_are_pinged_half_at_a_time_and_keep_their_idle_time() {
    let mut pool = pool(Limits {
        ping_interval: Some(10 * S),
        idle_time_max: Some(25 * S),
        ..quiet()
    });
    idle(&mut pool, 'a', 3, S);
    assert!(pool.tick(10 * S).is_empty());
    assert_eq!(tick(&mut pool, 11 * S), ["ping 0", "ping 1"]);
    assert_eq!(tick(&mut pool, 12 * S), ["ping 2"]);
    assert!(pool.tick(13 * S).is_empty());
    let closed = tick(&mut pool, 26 * S);
    assert_eq!(closed.len(), 3, "pings are no use: {closed:?}");
    assert_eq!(pool.figures(&'a', S).unwrap().counts.pings, 3);
}

#[test]
fn a_connection_that_is_pinged_goes_to_a_waiter_when_it_answers() {
    let mut pool = pool(Limits {
        connections_max: 1,
        ping_interval: Some(S),
        ..quiet()
    });
    idle(&mut pool, 'a', 1, S);
    let Some(Action::Ping(connection, lease)) = pool.tick(2 * S).pop() else {
        panic!("it is to be pinged");
    };
    let _ticket = wait(&mut pool, 'a', 'w', 2 * S);
    let Next::Wake(wake) = pool.give_back(lease, connection, 2 * S) else {
        panic!("somebody waits");
    };
    assert_eq!(wake.waiter, 'w');
}

#[test]
fn the_minimum_is_opened_ahead_and_again_when_sessions_have_taken_it() {
    let mut pool = pool(Limits {
        connections_max: 4,
        idle_min: 3,
        ..quiet()
    });
    assert_eq!(pool.next_tick(S), Some(S));
    assert_eq!(tick(&mut pool, S), ["open a"; 3]);
    let _lease = check_out(&mut pool, 'a', '-', S);
    let _other = check_out(&mut pool, 'a', '-', S);
    assert_eq!(tick(&mut pool, 2 * S), ["open a"], "the limit is four");
    assert!(pool.tick(3 * S).is_empty());
}

#[test]
fn failed_openings_ahead_are_retried_with_growing_delays() {
    let mut pool = pool(Limits {
        idle_min: 1,
        ..quiet()
    });
    let mut tries = Vec::new();
    for second in 0..20 {
        for action in pool.tick(S * second) {
            let Action::Open('a', permit) = action else {
                panic!("only to be opened: {action:?}");
            };
            tries.push(second);
            assert!(pool.open_failed(permit, S * second).is_empty());
        }
    }
    assert_eq!(tries, [0, 1, 3, 7, 15]);
    assert_eq!(pool.next_tick(19 * S), Some(31 * S));
}

#[test]
fn waiters_are_served_at_the_pace_and_keys_of_one_backend_in_turn() {
    let rate_limit = Rc::new(RateLimit::new(10, 1, Duration::ZERO));
    let mut pool = Pool::new(1);
    pool.supply('a', supply(quiet(), &rate_limit, &[]));
    pool.supply('b', supply(quiet(), &rate_limit, &[]));
    let _first = check_out(&mut pool, 'b', '-', Duration::ZERO);
    let _tickets = [('a', '1'), ('a', '2'), ('b', '3'), ('b', '4')]
        .map(|(key, waiter)| wait(&mut pool, key, waiter, MS));
    let mut order = Vec::new();
    let mut now = MS;
    while order.len() < 4 {
        now = pool.next_tick(now).unwrap();
        for action in pool.tick(now) {
            let Action::Wake(Wake { waiter, grant }) = action else {
                panic!("only to be woken: {action:?}");
            };
            let Grant::Permit(permit) = grant else {
                panic!("none is idle");
            };
            order.push((waiter, now.as_millis()));
            let _ = pool.opened(permit, now);
        }
    }
    let waiters: String = order.iter().map(|(waiter, _)| waiter).collect();
    assert_eq!(waiters, "1324");
    assert!((400..=402).contains(&order[3].1), "{order:?}");
}

#[test]
fn an_idle_connection_of_one_key_makes_room_for_another_under_the_same_ceiling() {
    let connection_limit = ConnectionLimit::new(2, || ());
    let mut pool = Pool::new(1);
    pool.supply('a', supply(quiet(), &fast(), &[&connection_limit]));
    pool.supply('b', supply(quiet(), &fast(), &[&connection_limit]));
    idle(&mut pool, 'a', 2, S);
    let _ticket = wait(&mut pool, 'b', 'w', S);
    assert!(pool.next_tick(S).unwrap() <= S);
    assert_eq!(tick(&mut pool, S), ["close 0: Yielded"]);
    assert_eq!(tick(&mut pool, S), ["wake w"]);
    assert!(pool.tick(2 * S).is_empty(), "nobody wants the other one");
}

#[test]
fn the_last_idle_connection_is_yielded_after_a_moment() {
    let connection_limit = ConnectionLimit::new(1, || ());
    let mut pool = Pool::new(1);
    pool.supply('a', supply(quiet(), &fast(), &[&connection_limit]));
    pool.supply('b', supply(quiet(), &fast(), &[&connection_limit]));
    idle(&mut pool, 'a', 1, S);
    let _ticket = wait(&mut pool, 'b', 'w', S);
    assert!(pool.tick(S).is_empty());
    assert_eq!(pool.next_tick(S), Some(S + 20 * MS));
    assert_eq!(tick(&mut pool, S + 20 * MS), ["close 0: Yielded"]);
}

#[test]
fn a_busy_key_yields_connections_to_another_worker_until_both_hold_equally_many() {
    let connection_limit = ConnectionLimit::new(4, || ());
    let [mut rich, mut poor] = [1, 2].map(|seed| {
        let mut pool = TestPool::new(seed);
        pool.supply('a', supply(quiet(), &fast(), &[&connection_limit]));
        pool
    });
    let mut busy: Vec<_> = (0..4).map(|_| open(&mut rich, 'a', S)).collect();
    let _tickets = ['x', 'y', 'z'].map(|w| wait(&mut poor, 'a', w, S));
    let mut served = Vec::new();
    for _ in 0..8 {
        let lease = busy.remove(0);
        match rich.give_back(lease, 0, S) {
            Next::Close(_, CloseReason::Yielded, closing) => drop(rich.closed(closing, S)),
            Next::Rest | Next::Linger => {
                let Verdict::Take(_, lease) = check_out(&mut rich, 'a', '-', S) else {
                    panic!("one is idle");
                };
                busy.push(lease);
            }
            other => panic!("neither yielded nor kept: {other:?}"),
        }
        for action in poor.tick(S) {
            let Action::Wake(Wake { waiter, grant }) = action else {
                panic!("only to be woken: {action:?}");
            };
            served.push((waiter, grant));
        }
    }
    assert_eq!((busy.len(), served.len()), (2, 2));
    assert_eq!(connection_limit.taken(), 4);
}

#[test]
fn a_key_without_connections_gets_the_only_connection_of_another_key() {
    let connection_limit = ConnectionLimit::new(1, || ());
    let mut pool = Pool::new(1);
    pool.supply('a', supply(quiet(), &fast(), &[&connection_limit]));
    pool.supply('b', supply(quiet(), &fast(), &[&connection_limit]));
    let lease = open(&mut pool, 'a', S);
    let _tickets = [wait(&mut pool, 'a', 'x', S), wait(&mut pool, 'b', 'y', S)];
    let Next::Wake(Wake { grant, .. }) = pool.give_back(lease, 0, S + 100 * MS) else {
        panic!("it has not had its turn");
    };
    let Grant::Connection(_, lease) = grant else {
        panic!("a connection goes on");
    };
    let _second = wait(&mut pool, 'a', 'z', S + 100 * MS);
    let next = pool.give_back(lease, 0, S + 250 * MS);
    let Next::Close(_, CloseReason::Yielded, closing) = next else {
        panic!("it has had its turn: {next:?}");
    };
    assert!(
        pool.closed(closing, S + 250 * MS).is_empty(),
        "the place is b's"
    );
    assert_eq!(tick(&mut pool, S + 250 * MS), ["wake y"]);
}

#[test]
fn one_connection_is_yielded_at_a_time() {
    let connection_limit = ConnectionLimit::new(5, || ());
    let mut pool = Pool::new(1);
    pool.supply('a', supply(quiet(), &fast(), &[&connection_limit]));
    pool.supply('b', supply(quiet(), &fast(), &[&connection_limit]));
    let leases: Vec<_> = (0..5).map(|_| open(&mut pool, 'a', S)).collect();
    let _ticket = wait(&mut pool, 'b', 'w', S);
    let next: Vec<_> = leases
        .into_iter()
        .map(|lease| pool.give_back(lease, 0, S))
        .collect();
    assert!(matches!(next[0], Next::Close(_, CloseReason::Yielded, _)));
    assert!(next[1..].iter().all(|next| matches!(next, Next::Linger)));
    assert!(pool.tick(S).is_empty(), "nor is one that is idle");
}

#[test]
fn no_connection_is_opened_ahead_while_other_keys_have_waiters() {
    let connection_limit = ConnectionLimit::new(1, || ());
    let mut pool = Pool::new(1);
    let warm = Limits {
        idle_min: 1,
        ..quiet()
    };
    pool.supply('a', supply(warm, &fast(), &[&connection_limit]));
    pool.supply('b', supply(quiet(), &fast(), &[&connection_limit]));
    let lease = open(&mut pool, 'b', S);
    let _ticket = wait(&mut pool, 'b', 'w', S);
    assert!(pool.tick(S).is_empty());
    assert!(pool.next_tick(S) > Some(S), "it does not spin");
    let wakes = pool.forget(lease, CloseReason::Ended, S);
    let woken: String = wakes.iter().map(|wake| wake.waiter).collect();
    assert_eq!(woken, "w");
}

#[test]
fn a_remaining_waiter_is_seen_by_workers_with_more_connections() {
    let connection_limit = ConnectionLimit::new(3, || ());
    let mut pool = Pool::new(1);
    pool.supply('a', supply(quiet(), &fast(), &[&connection_limit]));
    pool.supply('b', supply(quiet(), &fast(), &[&connection_limit]));
    let lease = open(&mut pool, 'b', S);
    idle(&mut pool, 'a', 2, S);
    let _tickets = ['x', 'y'].map(|w| wait(&mut pool, 'b', w, S));
    let wakes = pool.forget(lease, CloseReason::Ended, S);
    assert_eq!(wakes.len(), 1);
    assert_eq!(connection_limit.queued(), 1);
    assert_eq!(tick(&mut pool, S + 20 * MS), ["close 0: Yielded"]);
    assert_eq!(tick(&mut pool, S + 20 * MS), ["wake y"]);
}
