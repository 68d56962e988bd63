//! A model of lanes: requests that come, go and are killed, heads that are slow, connections that break.
//! Each statement is answered once, to its own session, or goes elsewhere, or is reported.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use proptest::prelude::*;

use super::{Depth, Ended, Lane, LaneRequestId, PATIENCE_MAX, PATIENCE_MIN};

const MS: Duration = Duration::from_millis(1);

/// What happens to a lane.
#[derive(Debug, Clone, Copy)]
enum Event {
    Board {
        habit_ms: u8,
    },
    /// The queued requests are sent.
    Departs,
    /// A part of the head's reply arrives, without its end.
    Begins,
    /// The head's reply is complete.
    Ends,
    /// One of the requests so far is withdrawn.
    Leave {
        which: usize,
    },
    /// Time passes, and the lane checks whether the head takes too long.
    Look {
        after_ms: u8,
    },
    Clear,
    Break,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        8 => (0u8..8).prop_map(|habit_ms| Event::Board { habit_ms }),
        6 => Just(Event::Departs),
        3 => Just(Event::Begins),
        6 => Just(Event::Ends),
        2 => (0usize..64).prop_map(|which| Event::Leave { which }),
        2 => any::<u8>().prop_map(|after_ms| Event::Look { after_ms }),
        1 => Just(Event::Clear),
        1 => Just(Event::Break),
    ];
    prop::collection::vec(event, 1..120)
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    Elsewhere,
    Left,
    Reported,
}

#[derive(Default)]
struct Model {
    /// The requests that were sent and not completely answered; after them the requests not sent yet.
    wire: VecDeque<u32>,
    /// The time at which each request was sent.
    sent_at: HashMap<u32, Duration>,
    has_started: bool,
    seats: HashMap<u32, LaneRequestId>,
    fates: HashMap<u32, Fate>,
    refused: HashSet<u32>,
}

impl Model {
    fn fare(&mut self, request: u32, fate: Fate) {
        let before = self.fates.insert(request, fate);
        assert_eq!(before, None, "request {request} ends twice");
    }
}

proptest! {
    #[test]
    fn each_statement_is_answered_once_or_goes_elsewhere(events in events()) {
        let mut lane: Lane<u32, u32> = Lane::default();
        let mut model = Model::default();
        let (mut now, mut next) = (Duration::ZERO, 0);
        let mut is_broken = false;
        for event in events {
            if is_broken {
                break;
            }
            match event {
                Event::Board { habit_ms } => {
                    let request = next;
                    next += 1;
                    let was_open = lane.is_open();
                    match lane.submit(request, request, MS * u32::from(habit_ms)) {
                        Ok(request_id) => {
                            prop_assert!(was_open);
                            model.seats.insert(request, request_id);
                            model.wire.push_back(request);
                        }
                        Err(refused) => {
                            prop_assert!(!was_open);
                            prop_assert_eq!(refused, request);
                            model.refused.insert(request);
                        }
                    }
                }
                Event::Departs => {
                    let is_first = model.wire.iter().all(|it| !model.sent_at.contains_key(it));
                    prop_assert_eq!(lane.departs(now), is_first);
                    for request in &model.wire {
                        model.sent_at.entry(*request).or_insert(now);
                    }
                }
                Event::Begins => {
                    if let Some((request, follower)) = lane.head() {
                        let request = request.copied();
                        prop_assert_eq!(Some(&*follower), model.wire.front());
                        prop_assert!(request.is_none_or(|request| Some(&request) == model.wire.front()));
                        lane.begins();
                        model.has_started = true;
                    }
                }
                Event::Ends => {
                    let Some(first) = model.wire.pop_front() else {
                        prop_assert!(lane.ends(now).is_none());
                        continue;
                    };
                    let Ended { request, follower, sent_at } = lane.ends(now).expect("it is on the wire");
                    prop_assert_eq!(follower, first);
                    prop_assert_eq!(sent_at, model.sent_at.get(&first).copied().unwrap_or_default());
                    model.has_started = false;
                    match request {
                        Some(request) => {
                            prop_assert_eq!(request, first);
                            model.fare(request, Fate::Answered);
                        }
                        None => prop_assert!(model.fates.contains_key(&first)),
                    }
                }
                Event::Leave { which } => {
                    let request = u32::try_from(which).unwrap() % next.max(1);
                    let Some(request_id) = model.seats.get(&request).copied() else {
                        continue;
                    };
                    match lane.leave(request_id) {
                        Some(left) => {
                            prop_assert_eq!(left.request, request);
                            let is_head = model.wire.front() == Some(&request);
                            prop_assert_eq!(left.is_head, is_head);
                            prop_assert_eq!(left.has_started, is_head && model.has_started);
                            model.fare(request, Fate::Left);
                        }
                        None => prop_assert!(model.fates.contains_key(&request)),
                    }
                }
                Event::Look { after_ms } => {
                    now += MS * u32::from(after_ms);
                    if lane.is_overdue(now) {
                        for request in lane.clear() {
                            prop_assert_ne!(Some(&request), model.wire.front());
                            model.fare(request, Fate::Elsewhere);
                        }
                        prop_assert!(!lane.is_overdue(now));
                    }
                }
                Event::Clear => {
                    for request in lane.clear() {
                        prop_assert_ne!(Some(&request), model.wire.front());
                        model.fare(request, Fate::Elsewhere);
                    }
                }
                Event::Break => {
                    let stranded = lane.break_off();
                    if let Some(request) = stranded.partly_answered {
                        prop_assert!(model.has_started);
                        prop_assert_eq!(Some(&request), model.wire.front());
                        model.fare(request, Fate::Reported);
                    }
                    for request in stranded.unanswered {
                        let is_head = model.wire.front() == Some(&request);
                        prop_assert!(!(is_head && model.has_started));
                        model.fare(request, Fate::Elsewhere);
                    }
                    model.wire.clear();
                    is_broken = true;
                    prop_assert!(!lane.is_open());
                }
            }
            let wanted = model.wire.iter().filter(|it| !model.fates.contains_key(it)).count();
            prop_assert_eq!(lane.waiting(), wanted);
            prop_assert_eq!(lane.depth(), model.wire.len());
        }
        // The remaining requests are answered in order.
        while let Some(Ended { request, .. }) = lane.ends(now) {
            let first = model.wire.pop_front().expect("it is on the wire");
            if let Some(request) = request {
                prop_assert_eq!(request, first);
                model.fare(request, Fate::Answered);
            }
        }
        prop_assert_eq!(lane.waiting(), 0);
        let boarded = (0..next).filter(|request| !model.refused.contains(request));
        for request in boarded {
            prop_assert!(model.fates.contains_key(&request), "request {} is lost", request);
        }
    }
}

#[test]
fn a_head_is_overdue_if_it_delays_others_for_many_times_its_usual_duration() {
    let mut lane: Lane<u32, ()> = Lane::default();
    lane.submit(1, (), MS).unwrap();
    let late = MS * 16;
    // The head has not been sent.
    assert!(!lane.takes_too_long(late));
    assert!(lane.departs(Duration::ZERO));
    // No request waits behind the head.
    assert!(lane.takes_too_long(late) && !lane.is_overdue(late));
    lane.submit(2, (), MS).unwrap();
    assert!(!lane.departs(MS));
    assert!(!lane.is_overdue(late - MS));
    assert!(lane.is_overdue(late));
    // The time of the next head starts again.
    lane.ends(late);
    lane.submit(3, (), MS).unwrap();
    lane.departs(late);
    assert!(!lane.is_overdue(late + PATIENCE_MIN));
}

#[test]
fn an_overdue_head_of_a_withdrawn_request_is_abandoned() {
    let mut lane: Lane<u32, ()> = Lane::default();
    let request_id = lane.submit(1, (), MS).unwrap();
    lane.departs(Duration::ZERO);
    let late = MS * 16;
    assert!(lane.takes_too_long(late) && !lane.abandons_head(late));
    lane.leave(request_id).unwrap();
    assert!(!lane.abandons_head(late - MS));
    assert!(lane.abandons_head(late));
    // Not at each check, but again after the same time, because the kill may have been lost.
    assert!(!lane.abandons_head(late + MS));
    assert!(lane.abandons_head(late * 2));
    lane.ends(late * 2);
    assert!(!lane.takes_too_long(late * 4) && !lane.abandons_head(late * 4));
}

#[test]
fn each_overdue_head_of_withdrawn_requests_is_abandoned() {
    let mut lane: Lane<u32, ()> = Lane::default();
    let seats = [1, 2].map(|request| lane.submit(request, (), MS).unwrap());
    lane.departs(Duration::ZERO);
    let _ = seats.map(|request_id| lane.leave(request_id).unwrap());
    let late = MS * 16;
    assert!(lane.abandons_head(late));
    lane.ends(late);
    assert!(!lane.abandons_head(late + MS));
    assert!(lane.abandons_head(late * 2));
}

#[test]
fn no_habit_makes_patience_too_short_or_too_long() {
    for (usual_time, patience) in [(Duration::ZERO, PATIENCE_MIN), (MS * 1000, PATIENCE_MAX)] {
        let mut lane: Lane<u32, ()> = Lane::default();
        lane.submit(1, (), usual_time).unwrap();
        lane.submit(2, (), usual_time).unwrap();
        lane.departs(Duration::ZERO);
        assert!(!lane.is_overdue(patience - MS));
        assert!(lane.is_overdue(patience));
    }
}

#[test]
fn a_withdrawn_request_delays_no_other() {
    let mut lane: Lane<u32, ()> = Lane::default();
    lane.submit(1, (), MS).unwrap();
    let request_id = lane.submit(2, (), MS).unwrap();
    lane.departs(Duration::ZERO);
    lane.leave(request_id).unwrap();
    assert!(!lane.is_overdue(MS * 1000));
    assert_eq!(lane.leave(request_id), None);
}

#[test]
fn lanes_are_as_deep_as_makes_statements_cheaper() {
    let mut depth = Depth::default();
    let first = depth.wanted();
    assert!(first >= 2);
    // Statements become cheaper up to a depth of eight, and not beyond.
    for (deep, microseconds) in [(1, 40), (2, 34), (4, 28), (8, 20), (16, 20), (32, 20)] {
        for _ in 0..100 {
            depth.note(deep, 1, Duration::from_micros(microseconds));
        }
    }
    assert_eq!(depth.wanted(), 16);
    assert!(depth.most() >= depth.wanted());
    // A measurement without replies changes nothing.
    let before = depth.wanted();
    depth.note(1, 0, Duration::from_nanos(1));
    assert_eq!(depth.wanted(), before);
}

#[test]
fn a_statement_of_its_own_keeps_its_place_whoever_is_cleared() {
    let mut lane: Lane<char, char> = Lane::default();
    lane.submit('a', 'a', MS).unwrap();
    lane.submit_own('p');
    lane.departs(Duration::ZERO);
    lane.submit('b', 'b', MS).unwrap();
    lane.departs(MS);
    let ended = |request, follower, sent_at| {
        Some(Ended {
            request,
            follower,
            sent_at,
        })
    };
    assert_eq!((lane.depth(), lane.waiting()), (3, 2));
    assert_eq!(lane.clear(), ['b']);
    assert_eq!(lane.ends(MS), ended(Some('a'), 'a', Duration::ZERO));
    assert!(matches!(lane.head(), Some((None, 'p'))));
    assert!(!lane.abandons_head(MS * 1000));
    assert_eq!(lane.ends(MS), ended(None, 'p', Duration::ZERO));
    assert_eq!(lane.ends(MS), ended(None, 'b', MS));
    assert_eq!(lane.depth(), 0);
}
