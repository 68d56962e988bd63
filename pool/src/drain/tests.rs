//! A backend goes down or is removed, and returns.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::*;

const S: Duration = Duration::from_secs(1);

/// The backend and the account.
type Key = (u8, &'static str);
type TestPool = Pool<Key, u32, char>;

fn supply(connection_limit: &Arc<ConnectionLimit>, rate_limit: &Rc<RateLimit>) -> Supply {
    Supply {
        limits: Limits {
            connections_max: 2,
            open_wait_max: Duration::ZERO,
            ..Limits::default()
        },
        rate_limit: Rc::clone(rate_limit),
        holdings: vec![Holding::new(connection_limit)],
    }
}

/// Account `x` on backends 1 and 2, under one connection limit.
fn pool(connection_limit: &Arc<ConnectionLimit>) -> TestPool {
    let mut pool = Pool::new(1);
    for backend in [1, 2] {
        let rate_limit = Rc::new(RateLimit::new(10, 100, 10 * S));
        pool.supply((backend, "x"), supply(connection_limit, &rate_limit));
    }
    pool
}

fn check_out(pool: &mut TestPool, backend: u8, waiter: char, now: Duration) -> Verdict<u32> {
    let wish = Wish {
        distance: |_: &u32| 0,
        waiter: || waiter,
        patience: 100 * S,
        waiting_elsewhere: 0,
    };
    pool.check_out(&(backend, "x"), wish, now)
}

fn open(pool: &mut TestPool, backend: u8) -> Lease {
    match check_out(pool, backend, '-', S) {
        Verdict::Open(permit) => pool.opened(permit, S),
        other => panic!("not to be opened: {other:?}"),
    }
}

#[test]
fn a_backend_that_goes_down_closes_idle_connections_and_refuses_waiters() {
    let connection_limit = ConnectionLimit::new(9, || ());
    let mut pool = pool(&connection_limit);
    let leases = [open(&mut pool, 1), open(&mut pool, 1)];
    let other = open(&mut pool, 2);
    let _ticket = check_out(&mut pool, 1, 'w', S);
    let refused = pool.shut(|(backend, _)| *backend == 1);
    let [Action::Refuse('w', Refusal::Shut)] = &refused[..] else {
        panic!("only w is refused: {refused:?}");
    };
    let verdict = check_out(&mut pool, 1, '-', S);
    assert!(matches!(verdict, Verdict::Refuse(Refusal::Shut)));
    for lease in leases {
        let next = pool.give_back(lease, 0, S);
        assert!(matches!(next, Next::Close(_, CloseReason::Shut, _)));
    }
    assert!(matches!(pool.give_back(other, 0, S), Next::Rest));
    let closed = pool.shut(|(backend, _)| *backend == 2);
    assert!(matches!(
        closed[..],
        [Action::Close(0, CloseReason::Shut, _)]
    ));
}

#[test]
fn a_backend_that_returns_is_opened_to_slowly() {
    let connection_limit = ConnectionLimit::new(9, || ());
    let mut pool = pool(&connection_limit);
    assert!(pool.shut(|_| true).is_empty());
    pool.reopen(|(backend, _)| *backend == 1, 5 * S);
    assert!(matches!(
        check_out(&mut pool, 1, '-', 5 * S),
        Verdict::Open(_)
    ));
    assert!(matches!(
        check_out(&mut pool, 1, '-', 5 * S),
        Verdict::Wait(_)
    ));
    let verdict = check_out(&mut pool, 2, '-', 5 * S);
    assert!(matches!(verdict, Verdict::Refuse(Refusal::Shut)));
}

#[test]
fn a_removed_key_is_gone_when_its_last_connection_is() {
    let connection_limit = ConnectionLimit::new(9, || ());
    let mut pool = pool(&connection_limit);
    let lease = open(&mut pool, 1);
    assert!(pool.remove(|(backend, _)| *backend == 1).is_empty());
    let verdict = check_out(&mut pool, 1, '-', S);
    assert!(matches!(verdict, Verdict::Refuse(Refusal::Unknown)));
    let rate_limit = Rc::new(RateLimit::new(10, 100, S));
    pool.supply((1, "x"), supply(&connection_limit, &rate_limit));
    drop(open(&mut pool, 1));
    assert_eq!(pool.all_figures(S).count(), 3);
    let Next::Close(_, CloseReason::Shut, closing) = pool.give_back(lease, 0, S) else {
        panic!("its key is removed");
    };
    assert!(pool.closed(closing, S).is_empty());
    assert_eq!(pool.all_figures(S).count(), 2);
    assert_eq!(connection_limit.taken(), 0);
}

#[test]
fn a_ticket_of_a_removed_key_is_invalid() {
    let connection_limit = ConnectionLimit::new(0, || ());
    let mut pool = pool(&connection_limit);
    let Verdict::Wait(ticket) = check_out(&mut pool, 1, 'w', S) else {
        panic!("there is no place");
    };
    assert_eq!(pool.remove(|_| true).len(), 1);
    assert_eq!(connection_limit.queued(), 0);
    assert_eq!(pool.waiting(&ticket), None);
    assert_eq!(pool.cancel(ticket), None);
}

#[test]
fn a_pool_that_is_dropped_returns_its_places() {
    let connection_limit = ConnectionLimit::new(9, || ());
    let mut pool = pool(&connection_limit);
    let lease = open(&mut pool, 1);
    assert_eq!(connection_limit.taken(), 1);
    drop(pool);
    assert_eq!(connection_limit.taken(), 0);
    drop(lease);
}

#[test]
fn a_new_sub_pool_under_the_same_limit_keeps_the_count() {
    let connection_limit = ConnectionLimit::new(2, || ());
    let mut pool = pool(&connection_limit);
    let lease = open(&mut pool, 1);
    let rate_limit = Rc::new(RateLimit::new(10, 100, S));
    pool.supply((1, "x"), supply(&connection_limit, &rate_limit));
    let second = open(&mut pool, 1);
    assert_eq!(connection_limit.taken(), 2);
    for lease in [lease, second] {
        assert!(pool.forget(lease, CloseReason::Ended, S).is_empty());
    }
    assert_eq!(connection_limit.taken(), 0);
}

#[test]
fn broken_idle_connections_are_closed() {
    let connection_limit = ConnectionLimit::new(9, || ());
    let mut pool = pool(&connection_limit);
    let leases = [open(&mut pool, 1), open(&mut pool, 1)];
    for (number, lease) in (0..).zip(leases) {
        assert!(matches!(pool.give_back(lease, number, S), Next::Rest));
    }
    let closed = pool.weed(|_| true, |number| *number == 0, CloseReason::Broken);
    assert!(matches!(
        closed[..],
        [Action::Close(0, CloseReason::Broken, _)]
    ));
    assert_eq!(pool.figures(&(1, "x"), S).unwrap().idle, 1);
}

#[test]
fn waiters_of_a_key_move_to_the_queue_of_its_new_connection_limit() {
    let (former, latter) = (
        ConnectionLimit::new(0, || ()),
        ConnectionLimit::new(1, || ()),
    );
    let mut pool = pool(&former);
    let _ticket = check_out(&mut pool, 1, 'w', S);
    assert_eq!(former.queued(), 1);
    let rate_limit = Rc::new(RateLimit::new(10, 100, S));
    pool.supply((1, "x"), supply(&latter, &rate_limit));
    assert_eq!(former.queued(), 0);
    assert!(matches!(pool.tick(S)[..], [Action::Wake(_)]));
    assert_eq!((former.taken(), latter.taken()), (0, 1));
}
