//! Statements at the same time, by key: who is in, and who waits, first come first served.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// The gates of all rules; a gate without anybody takes no memory. `Ticket` is what wakes one who
/// waits.
#[derive(Debug)]
pub struct Gates<Ticket> {
    gates: HashMap<u64, ConcurrencyGate<Ticket>>,
}

#[derive(Debug)]
struct ConcurrencyGate<Ticket> {
    /// How many are in; never 0.
    inside: u32,
    waiting: VecDeque<Ticket>,
}

/// Whether a statement is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "who is in must leave"]
pub enum Entrance {
    /// It is in, and must [`leave`](Gates::leave).
    In,
    /// As many are in as may be.
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
    /// Lets a statement in, unless `max` are, or others wait.
    pub fn enter(&mut self, key: u64, max: u32) -> Entrance {
        match self.gates.entry(key) {
            Entry::Vacant(place) => {
                place.insert(ConcurrencyGate {
                    inside: 1,
                    waiting: VecDeque::new(),
                });
                Entrance::In
            }
            Entry::Occupied(mut gate) => {
                let gate = gate.get_mut();
                if gate.inside >= max || !gate.waiting.is_empty() {
                    return Entrance::Full;
                }
                gate.inside += 1;
                Entrance::In
            }
        }
    }

    /// Waits behind those that wait already. Only where [`enter`](Self::enter) has just said `Full`.
    pub fn wait(&mut self, key: u64, ticket: Ticket) {
        if let Some(gate) = self.gates.get_mut(&key) {
            gate.waiting.push_back(ticket);
        }
    }

    /// A statement is out. Whose ticket is returned is in now, in its place; if nobody is there to
    /// take the ticket, leave again.
    pub fn leave(&mut self, key: u64) -> Option<Ticket> {
        let Entry::Occupied(mut gate) = self.gates.entry(key) else {
            return None;
        };
        if let Some(next) = gate.get_mut().waiting.pop_front() {
            return Some(next);
        }
        gate.get_mut().inside -= 1;
        if gate.get().inside == 0 {
            gate.remove();
        }
        None
    }

    /// Takes those out of the line that wait no longer.
    pub fn give_up(&mut self, key: u64, mut is_gone: impl FnMut(&Ticket) -> bool) {
        if let Some(gate) = self.gates.get_mut(&key) {
            gate.waiting.retain(|ticket| !is_gone(ticket));
        }
    }

    /// How many are in, and how many wait.
    pub fn count(&self, key: u64) -> (u32, usize) {
        let gate = self.gates.get(&key);
        gate.map_or((0, 0), |gate| (gate.inside, gate.waiting.len()))
    }

    /// Whether nobody is anywhere.
    pub fn is_empty(&self) -> bool {
        self.gates.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_go_from_one_to_the_next() {
        let mut gates = Gates::default();
        assert_eq!([gates.enter(7, 2), gates.enter(7, 2)], [Entrance::In; 2]);
        assert_eq!(gates.enter(7, 2), Entrance::Full);
        gates.wait(7, "first");
        gates.wait(7, "second");
        assert_eq!(gates.enter(8, 1), Entrance::In);
        assert_eq!(gates.leave(7), Some("first"));
        // A place is free for nobody who has not waited.
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

    proptest! {
        #[test]
        fn there_are_never_more_in_than_may_be_and_none_is_forgotten(
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
