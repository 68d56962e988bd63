//! Requests that find no idle connection: the pool opens one, or they wait for a release.

use std::rc::Rc;
use std::time::Duration;

use crate::*;

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

/// The duration of each opening in these tests.
const OPENING: Duration = Duration::from_millis(4);

type TestPool = Pool<(), u32, char>;

fn pool() -> TestPool {
    let mut pool = Pool::new(1);
    let supply = Supply {
        limits: Limits::default(),
        rate_limit: Rc::new(RateLimit::new(1000, 1000, Duration::ZERO)),
        holdings: vec![],
    };
    pool.supply((), supply);
    assert!(pool.tick(S).is_empty());
    pool
}

fn check_out(pool: &mut TestPool, waiter: char, patience: Duration, now: Duration) -> Verdict<u32> {
    let wish = Wish {
        distance: |_: &u32| 0,
        waiter: || waiter,
        patience,
        waiting_elsewhere: 0,
    };
    pool.check_out(&(), wish, now)
}

fn wait(pool: &mut TestPool, waiter: char, now: Duration) -> Ticket {
    match check_out(pool, waiter, 10 * S, now) {
        Verdict::Wait(ticket) => ticket,
        other => panic!("not to wait: {other:?}"),
    }
}

/// A connection that is leased since `now`, and took [`OPENING`] to open.
fn leased(pool: &mut TestPool, now: Duration) -> Lease {
    match check_out(pool, '-', Duration::ZERO, now - OPENING) {
        Verdict::Open(permit) => pool.opened(permit, now),
        other => panic!("not to be opened: {other:?}"),
    }
}

/// The waiters that are woken with permits.
fn woken(pool: &mut TestPool, now: Duration) -> (String, Vec<OpeningPermit>) {
    let permits = pool.tick(now).into_iter().map(|action| match action {
        Action::Wake(Wake {
            waiter,
            grant: Grant::Permit(permit),
        }) => (waiter, permit),
        other => panic!("no permit: {other:?}"),
    });
    permits.unzip()
}

#[test]
fn the_first_request_opens_a_connection_and_later_requests_wait_for_one_opening() {
    let mut pool = pool();
    let Verdict::Open(permit) = check_out(&mut pool, '-', S, S) else {
        panic!("nothing is there");
    };
    let _tickets = ['a', 'b', 'c'].map(|waiter| wait(&mut pool, waiter, S));
    assert_eq!(woken(&mut pool, S + 2 * MS).0, "", "one is being opened");
    let lease = pool.opened(permit, S + OPENING);
    assert_eq!(pool.next_tick(S + OPENING), Some(S + OPENING));
    let (waiters, _permits) = woken(&mut pool, S + OPENING);
    assert_eq!(waiters, "a", "no more at once than are lent");
    let Next::Wake(wake) = pool.give_back(lease, 0, S + 5 * MS) else {
        panic!("somebody waits");
    };
    assert_eq!(wake.waiter, 'b');
}

#[test]
fn a_connection_released_in_time_saves_opening_another() {
    let mut pool = pool();
    let lease = leased(&mut pool, S);
    let _ticket = wait(&mut pool, 'w', S + MS);
    assert_eq!(pool.next_tick_of(&(), S + MS), Some(S + MS + OPENING));
    assert_eq!(woken(&mut pool, S + OPENING).0, "");
    assert!(matches!(
        pool.give_back(lease, 0, S + OPENING),
        Next::Wake(_)
    ));
    assert_eq!(woken(&mut pool, 2 * S).0, "");
    assert_eq!(pool.figures(&(), 2 * S).unwrap().counts.opened, 1);
}

#[test]
fn requests_do_not_wait_if_all_connections_are_held() {
    let mut pool = pool();
    let held = leased(&mut pool, S);
    let _ticket = wait(&mut pool, 'w', S + MS);
    pool.hold(&held);
    assert_eq!(pool.next_tick(S + 2 * MS), Some(S + MS));
    let (waiters, _permits) = woken(&mut pool, S + 2 * MS);
    assert_eq!(waiters, "w");
    let mut pool = self::pool();
    let held = leased(&mut pool, S);
    pool.hold(&held);
    assert!(matches!(
        check_out(&mut pool, 'x', S, S + MS),
        Verdict::Open(_)
    ));
}

#[test]
fn all_waiters_open_connections_if_all_are_held() {
    let mut pool = pool();
    let held = leased(&mut pool, S);
    pool.hold(&held);
    let opening = check_out(&mut pool, '-', S, S);
    let _tickets = ['a', 'b', 'c'].map(|waiter| wait(&mut pool, waiter, S));
    assert_eq!(woken(&mut pool, S + MS).0, "", "that one may come back");
    let (waiters, _permits) = woken(&mut pool, S + OPENING);
    assert_eq!(waiters, "abc");
    drop(opening);
}

#[test]
fn a_request_with_less_time_than_an_opening_takes_opens_at_once() {
    let mut pool = pool();
    let _lease = leased(&mut pool, S);
    let verdict = check_out(&mut pool, '-', OPENING - MS, S);
    assert!(matches!(verdict, Verdict::Open(_)));
}

#[test]
fn a_broken_connection_is_replaced_immediately() {
    let mut pool = pool();
    let lease = leased(&mut pool, S);
    let _ticket = wait(&mut pool, 'w', S);
    let wakes = pool.forget(lease, CloseReason::Broken, S);
    assert_eq!(wakes.len(), 1);
}

#[test]
fn slow_openings_are_not_waited_for_beyond_the_limit() {
    let mut pool = pool();
    let Verdict::Open(permit) = check_out(&mut pool, '-', S, S) else {
        panic!("nothing is there");
    };
    let late = S + 500 * MS;
    let _lease = pool.opened(permit, late);
    let _ticket = wait(&mut pool, 'w', late);
    let most = Limits::default().open_wait_max;
    assert_eq!(pool.next_tick(late), Some(late + most));
}
