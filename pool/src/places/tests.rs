//! Acquire and release for one key.

use std::rc::Rc;
use std::time::Duration;

use crate::*;

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

/// A connection: its number, and its state.
type Conn = (u32, u32);
type TestPool = Pool<&'static str, Conn, char>;

fn pool(limits: Limits) -> TestPool {
    paced(limits, RateLimit::new(1000, 1000, Duration::ZERO))
}

fn paced(limits: Limits, rate_limit: RateLimit) -> TestPool {
    let mut pool = Pool::new(1);
    let supply = Supply {
        limits,
        rate_limit: Rc::new(rate_limit),
        holdings: vec![],
    };
    pool.supply("a", supply);
    pool
}

fn at_most(connections_max: u32) -> Limits {
    Limits {
        connections_max,
        open_wait_max: Duration::ZERO,
        ..Limits::default()
    }
}

/// A request for state 0 that waits up to 10 s.
fn wish(waiter: char) -> Wish<impl FnMut(&Conn) -> u32, impl FnOnce() -> char> {
    Wish {
        distance: |(_, state): &Conn| *state,
        waiter: move || waiter,
        patience: 10 * S,
        waiting_elsewhere: 0,
    }
}

fn open(pool: &mut TestPool, now: Duration) -> Lease {
    match pool.check_out(&"a", wish('-'), now) {
        Verdict::Open(permit) => pool.opened(permit, now),
        other => panic!("not to be opened: {other:?}"),
    }
}

fn wait(pool: &mut TestPool, waiter: char, now: Duration) -> Ticket {
    match pool.check_out(&"a", wish(waiter), now) {
        Verdict::Wait(ticket) => ticket,
        other => panic!("not to wait: {other:?}"),
    }
}

/// Makes idle connections with these states, used in this order, one second apart.
fn idle(pool: &mut TestPool, states: &[u32]) {
    let leases: Vec<_> = states.iter().map(|_| open(pool, S)).collect();
    for (number, (lease, state)) in (0..).zip(leases.into_iter().zip(states)) {
        let next = pool.give_back(lease, (number, *state), S * (number + 1));
        assert!(matches!(next, Next::Rest));
    }
}

fn figures(pool: &TestPool) -> Figures {
    pool.figures(&"a", 100 * S).unwrap()
}

fn taken(verdict: Verdict<Conn>) -> (Conn, Lease) {
    match verdict {
        Verdict::Take(connection, lease) => (connection, lease),
        other => panic!("none taken: {other:?}"),
    }
}

/// The only waiter that is woken, with its permit.
fn woken(mut wakes: Vec<Wake<Conn, char>>) -> (char, OpeningPermit) {
    assert_eq!(wakes.len(), 1, "one place, one waiter");
    match wakes.remove(0) {
        Wake {
            waiter,
            grant: Grant::Permit(permit),
        } => (waiter, permit),
        other => panic!("no permit: {other:?}"),
    }
}

#[test]
fn the_first_connection_is_opened_and_the_next_session_reuses_it() {
    let mut pool = pool(at_most(1));
    idle(&mut pool, &[0]);
    let (connection, _lease) = taken(pool.check_out(&"a", wish('-'), S));
    assert_eq!(connection, (0, 0));
    let counts = figures(&pool).counts;
    assert_eq!((counts.opened, counts.reused, counts.exact), (1, 1, 1));
}

#[test]
fn the_exact_state_is_preferred_and_of_equals_the_one_used_last() {
    let mut pool = pool(at_most(9));
    idle(&mut pool, &[0, 2, 0, 2, 5]);
    let mut out = Vec::new();
    let order: Vec<_> = (0..5)
        .map(|_| {
            let (connection, lease) = taken(pool.check_out(&"a", wish('-'), 9 * S));
            out.push(lease);
            connection.0
        })
        .collect();
    assert_eq!(order, [2, 0, 3, 1, 4]);
    assert_eq!(figures(&pool).counts.exact, 2);
}

#[test]
fn the_search_is_bounded() {
    let mut pool = pool(Limits {
        compared_max: 2,
        ..at_most(9)
    });
    idle(&mut pool, &[0, 3, 4]);
    let (connection, _lease) = taken(pool.check_out(&"a", wish('-'), 9 * S));
    assert_eq!(connection, (1, 3));
}

#[test]
fn a_request_without_a_place_waits_in_order_and_knows_its_position() {
    let mut pool = pool(at_most(1));
    let lease = open(&mut pool, S);
    let first = wait(&mut pool, 'f', 2 * S);
    let second = wait(&mut pool, 's', 3 * S);
    let seen = Waiting {
        ahead: 1,
        since: 3 * S,
        deadline: 13 * S,
    };
    assert_eq!(pool.waiting(&second), Some(seen));
    assert_eq!(
        pool.waiters(&"a").map(|(_, w)| *w).collect::<String>(),
        "fs"
    );
    assert_eq!(figures(&pool).oldest_wait, Some(98 * S));
    let Next::Wake(Wake { waiter, grant }) = pool.give_back(lease, (7, 0), 4 * S) else {
        panic!("the first waits");
    };
    assert_eq!(waiter, 'f');
    assert!(matches!(grant, Grant::Connection((7, 0), _)));
    assert_eq!(pool.waiting(&first), None);
    assert_eq!(pool.waiting(&second).unwrap().ahead, 0);
}

#[test]
fn a_later_request_does_not_overtake_waiters() {
    let mut pool = paced(at_most(9), RateLimit::new(1, 1, Duration::ZERO));
    let _lease = open(&mut pool, Duration::ZERO);
    let _first = wait(&mut pool, 'f', MS);
    let _late = wait(&mut pool, 'l', 5 * S);
    let wakes: String = pool.tick(5 * S).into_iter().map(waiter).collect();
    assert_eq!(wakes, "f");
}

fn waiter(action: Action<&str, Conn, char>) -> char {
    match action {
        Action::Wake(wake) => wake.waiter,
        other => panic!("nobody woken: {other:?}"),
    }
}

#[test]
fn a_freed_place_goes_to_the_first_waiter() {
    let mut pool = pool(at_most(1));
    let lease = open(&mut pool, S);
    let _tickets = ['a', 'b', 'c', 'd', 'e'].map(|w| wait(&mut pool, w, S));
    let (waiter, permit) = woken(pool.forget(lease, CloseReason::Broken, S));
    assert_eq!(waiter, 'a');
    let (waiter, permit) = woken(pool.open_failed(permit, S));
    assert_eq!(waiter, 'b');
    let (waiter, permit) = woken(pool.waive(permit, S));
    assert_eq!(waiter, 'c');
    let lease = pool.opened(permit, S);
    let too_old = S + 3600 * S;
    let Next::Close(_, CloseReason::TooOld, closing) = pool.give_back(lease, (1, 0), too_old)
    else {
        panic!("it is too old");
    };
    assert_eq!(figures(&pool).connections(), 1, "it counts until closed");
    let (waiter, _permit) = woken(pool.closed(closing, too_old));
    assert_eq!(waiter, 'd');
    let counts = figures(&pool).counts;
    assert_eq!(counts.open_failures, 1);
    assert_eq!(counts.closed.of(CloseReason::Broken), 1);
    assert_eq!(counts.closed.of(CloseReason::TooOld), 1);
}

#[test]
fn a_permit_that_was_not_used_costs_no_pace() {
    let mut pool = paced(at_most(9), RateLimit::new(1, 1, Duration::ZERO));
    let Verdict::Open(permit) = pool.check_out(&"a", wish('-'), S) else {
        panic!("the first may open");
    };
    assert!(pool.waive(permit, S).is_empty());
    let _lease = open(&mut pool, S);
    let _ticket = wait(&mut pool, 'w', S);
}

#[test]
fn a_full_queue_and_a_wait_limit_of_zero_refuse_the_request() {
    let mut pool = pool(Limits {
        waiters_max: 1,
        ..at_most(1)
    });
    let _lease = open(&mut pool, S);
    let impatient = Wish {
        patience: Duration::ZERO,
        ..wish('-')
    };
    let verdict = pool.check_out(&"a", impatient, S);
    assert!(matches!(verdict, Verdict::Refuse(Refusal::TimedOut)));
    let one_too_many = Wish {
        waiting_elsewhere: 1,
        ..wish('-')
    };
    let verdict = pool.check_out(&"a", one_too_many, S);
    assert!(matches!(verdict, Verdict::Refuse(Refusal::Crowded)));
    let _ticket = wait(&mut pool, 'f', S);
    let verdict = pool.check_out(&"a", wish('-'), S);
    assert!(matches!(verdict, Verdict::Refuse(Refusal::Crowded)));
    assert_eq!(figures(&pool).counts.refused, 3);
}

#[test]
fn an_unknown_key_is_refused() {
    let verdict = pool(at_most(1)).check_out(&"b", wish('-'), S);
    assert!(matches!(verdict, Verdict::Refuse(Refusal::Unknown)));
}

#[test]
fn a_waiter_that_leaves_is_not_woken() {
    let mut pool = pool(at_most(1));
    let lease = open(&mut pool, S);
    let cancelled = wait(&mut pool, 'c', S);
    let dropped = wait(&mut pool, 'd', S);
    let _patient = wait(&mut pool, 'p', S);
    assert_eq!(pool.cancel(cancelled), Some('c'));
    drop(dropped);
    let (waiter, _permit) = woken(pool.forget(lease, CloseReason::Ended, S));
    assert_eq!(waiter, 'p');
    assert_eq!(figures(&pool).counts.cancelled, 2);
}

#[test]
fn the_place_of_a_dropped_wake_goes_to_the_next_waiter() {
    let mut pool = pool(at_most(1));
    let lease = open(&mut pool, S);
    let _tickets = ['a', 'b'].map(|w| wait(&mut pool, w, S));
    drop(lease);
    let Some(Action::Wake(wake)) = pool.tick(S).pop() else {
        panic!("a's turn");
    };
    drop(wake);
    let actions = pool.tick(S);
    assert_eq!(actions.len(), 1);
    drop(actions);
    assert!(pool.tick(S).is_empty());
    let figures = figures(&pool);
    assert_eq!((figures.connections(), figures.waiting), (0, 0));
    assert_eq!(figures.counts.closed.of(CloseReason::Dropped), 1);
}

#[test]
fn connections_above_the_idle_limit_are_closed() {
    let mut pool = pool(Limits {
        idle_max: 1,
        ..at_most(2)
    });
    let leases = [open(&mut pool, S), open(&mut pool, S)];
    let [one, two] = leases.map(|lease| pool.give_back(lease, (0, 0), S));
    assert!(matches!(one, Next::Rest));
    assert!(matches!(two, Next::Close(_, CloseReason::TooMany, _)));
}

#[test]
fn a_lowered_limit_closes_returned_connections_and_a_raised_one_serves_waiters() {
    let mut pool = pool(at_most(2));
    let leases = [open(&mut pool, S), open(&mut pool, S)];
    let supply = |connections_max| Supply {
        limits: at_most(connections_max),
        rate_limit: Rc::new(RateLimit::new(1000, 1000, Duration::ZERO)),
        holdings: vec![],
    };
    pool.supply("a", supply(1));
    let _ticket = wait(&mut pool, 'w', S);
    let [one, two] = leases;
    let Next::Close(_, CloseReason::TooMany, closing) = pool.give_back(one, (0, 0), S) else {
        panic!("two are too many");
    };
    assert!(pool.closed(closing, S).is_empty());
    pool.supply("a", supply(2));
    let wakes: String = pool.tick(S).into_iter().map(waiter).collect();
    assert_eq!(wakes, "w");
    assert!(matches!(pool.give_back(two, (0, 0), S), Next::Rest));
}

#[test]
#[should_panic(expected = "the pool that issued it")]
fn a_token_of_another_pool_is_not_taken() {
    let lease = open(&mut pool(at_most(1)), S);
    let _ = pool(at_most(1)).give_back(lease, (0, 0), S);
}

#[test]
fn a_reset_keeps_the_count_of_leased_connections() {
    let mut pool = pool(at_most(4));
    idle(&mut pool, &[0, 0]);
    let (_, lease) = taken(pool.check_out(&"a", wish('-'), 9 * S));
    let before = figures(&pool);
    assert_eq!((before.counts.opened, before.counts.leased_max), (2, 2));
    pool.reset_counts();
    let after = figures(&pool);
    let counts = Counts {
        leased_max: 1,
        ..Counts::default()
    };
    assert_eq!(after, Figures { counts, ..before });
    drop(lease);
}
