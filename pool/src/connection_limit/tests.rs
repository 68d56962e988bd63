//! Which waiter gets the last connection, and what the other holders are asked to give up.

use super::*;
use std::sync::atomic::AtomicUsize;

fn quiet(limit: u32) -> Arc<ConnectionLimit> {
    ConnectionLimit::new(limit, || ())
}

fn holdings(connection_limits: &[&Arc<ConnectionLimit>]) -> Holdings {
    Holdings::new(connection_limits.iter().map(|c| Holding::new(c)).collect())
}

fn take(holdings: &Holdings) -> Option<Places> {
    holdings.take(Otherwise::StandInLine)
}

#[test]
fn places_return_when_they_are_dropped() {
    let connection_limit = quiet(2);
    let one = holdings(&[&connection_limit]);
    let places = [take(&one), take(&one), take(&one)];
    assert_eq!(places.each_ref().map(Option::is_some), [true, true, false]);
    assert_eq!(connection_limit.taken(), 2);
    drop(places);
    assert_eq!(connection_limit.taken(), 0);
}

#[test]
fn a_connection_slot_needs_room_under_both_connection_limits() {
    let (wide, narrow) = (quiet(9), quiet(0));
    let both = holdings(&[&wide, &narrow]);
    assert!(take(&both).is_none());
    assert_eq!(wide.taken(), 0);
    assert_eq!((wide.queued(), narrow.queued()), (0, 1));
    narrow.set_limit(1);
    assert!(take(&both).is_some());
    assert_eq!(narrow.queued(), 0);
}

#[test]
fn the_waiter_with_fewest_connections_is_served_first_then_by_arrival() {
    let connection_limit = quiet(3);
    let [rich, poor, late] = [0; 3].map(|_| holdings(&[&connection_limit]));
    let mut places: Vec<_> = (0..3).filter_map(|_| take(&rich)).collect();
    for waiting in [&rich, &poor, &late] {
        assert!(take(waiting).is_none());
    }
    places.pop();
    assert!(take(&rich).is_none(), "richer");
    assert!(take(&late).is_none(), "later");
    let _place = take(&poor).unwrap();
    places.pop();
    assert!(take(&rich).is_none(), "still richer");
    assert!(take(&late).is_some());
}

#[test]
fn a_waiter_that_leaves_the_queue_lets_others_pass() {
    let connection_limit = quiet(1);
    let [holder, first, second] = [0; 3].map(|_| holdings(&[&connection_limit]));
    let place = take(&holder);
    assert!(take(&first).is_none());
    assert!(take(&second).is_none());
    drop(place);
    assert!(take(&second).is_none());
    first.leave_lines();
    assert!(take(&second).is_some());
}

#[test]
fn a_request_that_does_not_wait_is_not_in_the_queue() {
    let connection_limit = quiet(0);
    assert!(
        holdings(&[&connection_limit])
            .take(Otherwise::GoWithout)
            .is_none()
    );
    assert_eq!(connection_limit.queued(), 0);
}

#[test]
fn a_request_that_does_not_wait_yields_to_the_queue() {
    let connection_limit = quiet(1);
    let [holder, rich, warm] = [0; 3].map(|_| holdings(&[&connection_limit]));
    let place = take(&holder);
    assert!(take(&rich).is_none());
    drop(place);
    assert!(warm.take(Otherwise::GoWithout).is_none());
    rich.leave_lines();
    assert!(warm.take(Otherwise::GoWithout).is_some());
}

#[test]
fn a_queue_claims_more_from_the_holder_with_most_connections() {
    let connection_limit = quiet(4);
    let [rich, poor, none] = [0; 3].map(|_| holdings(&[&connection_limit]));
    let mut places: Vec<_> = (0..3).filter_map(|_| take(&rich)).collect();
    let last = take(&poor);
    assert_eq!(rich.claim(), Claim::Nothing);
    assert!(take(&poor).is_none());
    assert_eq!((rich.claim(), poor.claim()), (Claim::AtOnce, Claim::Idle));
    assert!(take(&none).is_none());
    assert_eq!(poor.claim(), Claim::AfterTurn);
    places.pop();
    assert_eq!(rich.claim(), Claim::Nothing, "a place is free");
    drop(last);
}

#[test]
fn a_lowered_limit_asks_for_the_connections_above_it() {
    let connection_limit = quiet(3);
    let holdings = holdings(&[&connection_limit]);
    let mut places: Vec<_> = (0..3).filter_map(|_| take(&holdings)).collect();
    connection_limit.set_limit(2);
    assert_eq!(holdings.claim(), Claim::AtOnce);
    places.pop();
    assert_eq!(holdings.claim(), Claim::Nothing);
}

#[test]
fn the_signal_fires_for_a_new_waiter_and_for_a_released_place() {
    let rung = Arc::new(AtomicUsize::new(0));
    let waker = Arc::clone(&rung);
    let connection_limit = ConnectionLimit::new(1, move || {
        waker.fetch_add(1, Ordering::Relaxed);
    });
    let rings = || rung.swap(0, Ordering::Relaxed);
    let [one, two] = [0; 2].map(|_| holdings(&[&connection_limit]));
    let place = take(&one);
    assert_eq!(rings(), 0);
    assert!(take(&two).is_none());
    assert!(take(&two).is_none());
    assert_eq!(rings(), 1);
    drop(place);
    assert_eq!(rings(), 1);
    drop(take(&two));
    assert_eq!(rings(), 0, "nobody waits any more");
}

#[test]
fn over_all_threads_the_limit_holds_and_everything_returns() {
    let connection_limit = quiet(7);
    let most = AtomicUsize::new(0);
    let now = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let own = holdings(&[&connection_limit]);
                for round in 0..2_000 {
                    let places: Vec<_> = (0..round % 5).filter_map(|_| take(&own)).collect();
                    let there = now.fetch_add(places.len(), Ordering::SeqCst) + places.len();
                    most.fetch_max(there, Ordering::SeqCst);
                    now.fetch_sub(places.len(), Ordering::SeqCst);
                }
                own.leave_lines();
            });
        }
    });
    assert!(most.into_inner() <= 7);
    assert_eq!(
        (connection_limit.taken(), connection_limit.queued()),
        (0, 0)
    );
    assert_eq!(connection_limit.poorest.0.load(Ordering::Relaxed), NOBODY);
}

#[test]
fn a_bounded_account_gets_nothing_above_its_bound_and_no_account_yields_to_it() {
    let connection_limit = quiet(10);
    let (account, other) = (ShareId(1), ShareId(2));
    let of = |share| Holdings::new(vec![Holding::of_account(&connection_limit, share)]);
    let (much, more, few) = (of(account), of(account), of(other));
    connection_limit.bind(&[account], 8);
    let mut places: Vec<_> = (0..4).filter_map(|_| take(&much)).collect();
    places.extend((0..6).filter_map(|_| take(&more)));
    assert_eq!(places.len(), 8, "over all its keys and workers");
    let few_places = [take(&few), take(&few)];
    assert!(few_places.iter().all(Option::is_some));
    assert_eq!(
        few.claim(),
        Claim::Nothing,
        "it waits for its own to return"
    );
    assert!(!connection_limit.is_waited_for_by_others(other));
    assert!(take(&few).is_none());
    assert!(connection_limit.is_waited_for_by_others(account));
    places.pop();
    assert!(take(&more).is_none(), "the other is poorer");
    few.leave_lines();
    assert!(take(&more).is_some());
    connection_limit.bind(&[], 8);
    assert_eq!(connection_limit.share(account), (7, false));
}

#[test]
fn connections_from_before_a_bound_stay_until_they_are_released() {
    let connection_limit = quiet(10);
    let (account, other) = (ShareId(1), ShareId(2));
    let all = Holdings::new(vec![Holding::of_account(&connection_limit, account)]);
    let none = Holdings::new(vec![Holding::of_account(&connection_limit, other)]);
    let mut places: Vec<_> = (0..10).filter_map(|_| take(&all)).collect();
    connection_limit.bind(&[account], 8);
    assert_eq!(all.claim(), Claim::Nothing);
    assert!(take(&none).is_none());
    assert_eq!(all.claim(), Claim::AtOnce);
    places.pop();
    assert!(take(&all).is_none());
    assert!(take(&none).is_some());
}

proptest::proptest! {
    /// Random acquires and releases of three accounts with two keys each: the limit holds, a bounded account gets no
    /// connection above its bound, and an account without a bound gets any free connection.
    #[test]
    fn bounds_hold_in_every_order_of_acquire_and_release(
        steps in proptest::collection::vec((0usize..6, 0u8..5), 1..200),
    ) {
        const LIMIT: u32 = 10;
        const BOUND: u32 = 8;
        let connection_limit = quiet(LIMIT);
        let share = |key: usize| ShareId(key as u32 / 2);
        let keys: Vec<_> = (0..6)
            .map(|key| Holdings::new(vec![Holding::of_account(&connection_limit, share(key))]))
            .collect();
        let mut places: Vec<Vec<Places>> = keys.iter().map(|_| Vec::new()).collect();
        let mut bounded: Vec<ShareId> = Vec::new();
        for (key, act) in steps {
            match act {
                0 | 1 => {
                    let is_alone_in_line = connection_limit.queued() == 0;
                    let (before, _) = connection_limit.share(share(key));
                    let is_free = connection_limit.taken() < LIMIT;
                    let is_full = bounded.contains(&share(key)) && before >= BOUND;
                    match take(&keys[key]) {
                        Some(place) => {
                            proptest::prop_assert!(is_free && !is_full);
                            places[key].push(place);
                        }
                        None => proptest::prop_assert!(!is_free || is_full || !is_alone_in_line),
                    }
                }
                2 => drop(places[key].pop()),
                3 => keys[key].leave_lines(),
                _ => {
                    bounded = match bounded.contains(&share(key)) {
                        true => Vec::new(),
                        false => vec![share(key)],
                    };
                    connection_limit.bind(&bounded, BOUND);
                }
            }
            let all: usize = places.iter().map(Vec::len).sum();
            proptest::prop_assert_eq!(connection_limit.taken() as usize, all);
            for account in 0..3usize {
                let own = places[account * 2].len() + places[account * 2 + 1].len();
                let (taken, _) = connection_limit.share(ShareId(account as u32));
                proptest::prop_assert_eq!(taken as usize, own);
            }
        }
        places.clear();
        keys.iter().for_each(Holdings::leave_lines);
        proptest::prop_assert_eq!(connection_limit.poorest.0.load(Ordering::Relaxed), NOBODY);
    }
}
