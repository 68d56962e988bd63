use super::*;
use proptest::prelude::*;

const SPAN: Duration = Duration::from_millis(100);

fn bounds(limit: u32) -> Bounds {
    Bounds {
        min: limit,
        max: limit,
        counts_for: SPAN,
    }
}

fn limit(limit: u32) -> AdaptiveLimit<char> {
    AdaptiveLimit::new(bounds(limit))
}

/// The waiters that are admitted.
fn admitted(limit: &AdaptiveLimit<char>) -> Vec<(char, Span)> {
    let mut all = Vec::new();
    limit.admit(|waiter, span| {
        all.push((waiter, span));
        true
    });
    all
}

fn ended(limit: &AdaptiveLimit<char>, span: Span) -> String {
    let mut all = String::new();
    limit.end(span, |waiter, _| {
        all.push(waiter);
        true
    });
    all
}

#[test]
fn a_statement_above_the_limit_waits_in_the_queue() {
    let limit = limit(2);
    let [first, second] = [(); 2].map(|()| limit.begin().unwrap());
    assert!(limit.begin().is_none());
    for waiter in "abc".chars() {
        let _ = limit.join_queue(waiter);
    }
    assert_eq!(admitted(&limit), []);
    assert_eq!(ended(&limit, first), "a");
    // No statement overtakes the queue.
    assert!(limit.begin().is_none());
    assert_eq!(ended(&limit, second), "b");
    let figures = limit.figures();
    let seen = (figures.running, figures.waiting, figures.waited);
    assert_eq!(seen, (2, 1, 3));
}

#[test]
fn a_transaction_continues_above_the_limit() {
    let limit = limit(1);
    let first = limit.go_on();
    let second = limit.go_on();
    let _ = limit.join_queue('a');
    assert_eq!(ended(&limit, first), "");
    assert_eq!(ended(&limit, second), "a");
}

#[test]
fn a_waiter_that_left_the_queue_is_not_woken() {
    let limit = limit(1);
    let running = limit.begin().unwrap();
    let gone = limit.join_queue('a');
    let next = limit.join_queue('b');
    assert_eq!(limit.ahead_of(next), 1);
    assert!(limit.leave_queue(gone));
    assert!(!limit.leave_queue(gone));
    assert_eq!(ended(&limit, running), "b");
    assert!(!limit.leave_queue(next));
}

#[test]
fn a_slot_that_a_waiter_does_not_take_goes_to_the_next_waiter() {
    let limit = limit(1);
    let running = limit.begin().unwrap();
    for waiter in "ab".chars() {
        let _ = limit.join_queue(waiter);
    }
    let mut called = String::new();
    limit.end(running, |waiter, _| {
        called.push(waiter);
        waiter == 'b'
    });
    assert_eq!(called, "ab");
    assert_eq!(limit.figures().running, 1);
}

#[test]
fn a_long_statement_does_not_count_for_the_limit() {
    let limit = limit(1);
    limit.update(SPAN);
    let long = limit.begin().unwrap();
    let _ = limit.join_queue('a');
    limit.update(SPAN * 2);
    assert_eq!(admitted(&limit), []);
    // It is too early for another check.
    limit.update(SPAN * 2 + SPAN / 2);
    assert_eq!(admitted(&limit), []);
    limit.update(SPAN * 3);
    let admitted = admitted(&limit);
    assert_eq!(admitted.len(), 1);
    let _ = limit.join_queue('b');
    // The long statement was not counted any more, so its end admits no waiter.
    assert_eq!(ended(&limit, long), "");
    assert_eq!(ended(&limit, admitted[0].1), "b");
}

#[test]
fn changed_bounds_apply_immediately() {
    let limit = limit(1);
    let _running = limit.begin().unwrap();
    assert!(limit.begin().is_none());
    limit.set_bounds(bounds(2));
    assert!(limit.begin().is_some());
    assert_eq!(limit.figures().limit, 2);
}

proptest! {
    /// Random begins, ends and departures: at most the limit runs, every waiter is served, and at the end no statement
    /// is counted.
    #[test]
    fn all_queued_statements_are_admitted_in_order_within_the_limit(places in 1u32..5, steps in prop::collection::vec((0u8..4, 0usize..8), 0..200)) {
        let limit: AdaptiveLimit<usize> = AdaptiveLimit::new(bounds(places));
        let mut running: Vec<Span> = Vec::new();
        let mut waiting: Vec<(usize, QueuePlace)> = Vec::new();
        for (number, (step, which)) in steps.into_iter().enumerate() {
            let mut called = Vec::new();
            match step {
                0 | 1 => match limit.begin() {
                    Some(span) => running.push(span),
                    None => {
                        waiting.push((number, limit.join_queue(number)));
                        limit.admit(|waiter, span| { called.push((waiter, span)); true });
                    }
                },
                2 if !running.is_empty() => {
                    let span = running.swap_remove(which % running.len());
                    limit.end(span, |waiter, span| { called.push((waiter, span)); true });
                }
                3 if !waiting.is_empty() => {
                    let (_, place) = waiting.remove(which % waiting.len());
                    prop_assert!(limit.leave_queue(place));
                }
                _ => {}
            }
            for (waiter, span) in called {
                // Waiters are admitted in order of arrival.
                prop_assert_eq!(waiting.remove(0).0, waiter);
                running.push(span);
            }
            prop_assert!(running.len() <= places as usize);
            prop_assert!(waiting.is_empty() || running.len() == places as usize);
        }
        while let Some(span) = running.pop() {
            limit.end(span, |_, span| { running.push(span); true });
        }
        let figures = limit.figures();
        prop_assert_eq!((figures.running, figures.waiting), (0, 0));
    }
}
