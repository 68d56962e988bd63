//! Limits of concurrent statements, by key: how many run, and which wait, first come first served.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// The gates of all rules; a gate without a statement takes no memory. A `Ticket` wakes a statement
/// that waits.
#[derive(Debug)]
pub struct Gates<Ticket> {
    gates: HashMap<u64, ConcurrencyGate<Ticket>>,
}

#[derive(Debug)]
struct ConcurrencyGate<Ticket> {
    /// The number of statements that have entered and not left; never 0.
    inside: u32,
    /// The maximum of statements inside: the limit of the rule that asked last. A reload may have changed it.
    max: u32,
    waiting: VecDeque<Ticket>,
}

impl<Ticket> ConcurrencyGate<Ticket> {
    /// Lets the first waiting statement in, if there is room.
    fn admit(&mut self) -> Option<Ticket> {
        if self.inside >= self.max {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.inside += 1;
        Some(next)
    }
}

/// Whether a statement may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "who is in must leave"]
pub enum Entrance {
    /// It has entered, and must [`leave`](Gates::leave).
    In,
    /// It has not entered: the gate is full.
    Full,
}

impl<Ticket> Default for Gates<Ticket> {
    fn default() -> Self {
        Self {
            gates: HashMap::new(),
        }
    }
}

impl<Ticket> Gates<Ticket> {
    /// Lets a statement in, unless `max` statements are inside or other statements wait. From now on `max` is the limit
    /// for those that wait as well.
    pub fn enter(&mut self, key: u64, max: u32) -> Entrance {
        match self.gates.entry(key) {
            Entry::Vacant(place) => {
                place.insert(ConcurrencyGate {
                    inside: 1,
                    max: max.max(1),
                    waiting: VecDeque::new(),
                });
                Entrance::In
            }
            Entry::Occupied(mut gate) => {
                let gate = gate.get_mut();
                gate.max = max.max(1);
                if gate.inside >= gate.max || !gate.waiting.is_empty() {
                    return Entrance::Full;
                }
                gate.inside += 1;
                Entrance::In
            }
        }
    }

    /// Adds a ticket to the queue. Only allowed if [`enter`](Self::enter) has just returned `Full`. After that,
    /// [`admit`](Self::admit) has to be called until it returns `None`: the limit may have been raised.
    pub fn wait(&mut self, key: u64, ticket: Ticket) {
        if let Some(gate) = self.gates.get_mut(&key) {
            gate.waiting.push_back(ticket);
        }
    }

    /// Lets a waiting statement in, if there is room. If the statement is gone, [`leave`](Self::leave) has to be called
    /// for it.
    pub fn admit(&mut self, key: u64) -> Option<Ticket> {
        self.gates.get_mut(&key)?.admit()
    }

    /// A statement leaves. If a ticket is returned, its statement has entered. If that statement is
    /// gone, call this function again for it.
    pub fn leave(&mut self, key: u64) -> Option<Ticket> {
        let Entry::Occupied(mut gate) = self.gates.entry(key) else {
            return None;
        };
        gate.get_mut().inside -= 1;
        let next = gate.get_mut().admit();
        if gate.get().inside == 0 {
            gate.remove();
        }
        next
    }

    /// Removes the tickets of statements that no longer wait.
    pub fn give_up(&mut self, key: u64, mut is_gone: impl FnMut(&Ticket) -> bool) {
        if let Some(gate) = self.gates.get_mut(&key) {
            gate.waiting.retain(|ticket| !is_gone(ticket));
        }
    }

    /// Returns how many statements are inside, and how many wait.
    pub fn count(&self, key: u64) -> (u32, usize) {
        let gate = self.gates.get(&key);
        gate.map_or((0, 0), |gate| (gate.inside, gate.waiting.len()))
    }

    /// Whether no statement is inside any gate.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_gate_passes_a_freed_place_to_the_next_waiter() {
        let mut gates = Gates::default();
        assert_eq!([gates.enter(7, 2), gates.enter(7, 2)], [Entrance::In; 2]);
        assert_eq!(gates.enter(7, 2), Entrance::Full);
        gates.wait(7, "first");
        gates.wait(7, "second");
        assert_eq!(gates.enter(8, 1), Entrance::In);
        assert_eq!(gates.leave(7), Some("first"));
        // While statements wait, no other statement may enter.
        assert_eq!(gates.enter(7, 2), Entrance::Full);
        assert_eq!(gates.leave(7), Some("second"));
        assert_eq!([gates.leave(7), gates.leave(7), gates.leave(8)], [None; 3]);
        assert!(gates.is_empty());
        assert_eq!(gates.leave(7), None);
    }

    #[test]
    fn a_waiter_that_gives_up_is_skipped() {
        let mut gates = Gates::default();
        let _ = gates.enter(1, 1);
        gates.wait(1, 'a');
        gates.wait(1, 'b');
        gates.give_up(1, |ticket| *ticket == 'a');
        assert_eq!(gates.leave(1), Some('b'));
    }

    #[test]
    fn a_raised_limit_lets_waiting_statements_in_and_a_lowered_one_keeps_them_back() {
        let mut gates = Gates::default();
        let _ = gates.enter(1, 1);
        for ticket in ['a', 'b', 'c'] {
            assert_eq!(gates.enter(1, 1), Entrance::Full);
            gates.wait(1, ticket);
            assert_eq!(gates.admit(1), None);
        }
        assert_eq!(gates.enter(1, 3), Entrance::Full);
        gates.wait(1, 'd');
        assert_eq!([gates.admit(1), gates.admit(1)], [Some('a'), Some('b')]);
        assert_eq!(gates.admit(1), None);
        assert_eq!(gates.enter(1, 1), Entrance::Full);
        gates.wait(1, 'e');
        assert_eq!([gates.leave(1), gates.leave(1)], [None; 2]);
        assert_eq!(gates.count(1), (1, 3));
        assert_eq!(gates.leave(1), Some('c'));
    }

    proptest! {
        #[test]
        fn a_gate_never_exceeds_its_limit_and_loses_no_waiter(
            steps in proptest::collection::vec((0u64..3, any::<bool>()), 0..200),
        ) {
            const MAX: u32 = 3;
            let mut gates = Gates::default();
            let mut inside = [0u32; 3];
            let mut waiting = [const { VecDeque::new() }; 3];
            for (number, (key, is_entering)) in steps.into_iter().enumerate() {
                let place = key as usize;
                if is_entering {
                    match gates.enter(key, MAX) {
                        Entrance::In => inside[place] += 1,
                        Entrance::Full => {
                            gates.wait(key, number);
                            waiting[place].push_back(number);
                        }
                    }
                } else if inside[place] > 0 {
                    let next: Option<usize> = waiting[place].pop_front();
                    prop_assert_eq!(gates.leave(key), next);
                    inside[place] -= u32::from(next.is_none());
                }
                prop_assert!(inside[place] <= MAX);
                prop_assert_eq!(gates.count(key), (inside[place], waiting[place].len()));
            }
        }
    }
}
