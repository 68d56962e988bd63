//! The waiters for a connection of one key, first come, first served.

use std::collections::VecDeque;
use std::time::Duration;

/// A waiter's place in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The number of waiters ahead.
    pub ahead: usize,
    /// Since when it waits, on the clock of `now`.
    pub since: Duration,
    /// When it gives up.
    pub deadline: Duration,
}

#[derive(Debug)]
pub(crate) struct Waiters<W> {
    /// Sequence numbers ascend.
    line: VecDeque<Waiter<W>>,
    /// No deadline is before this.
    deadline_min: Duration,
}

#[derive(Debug)]
struct Waiter<W> {
    sequence: u64,
    since: Duration,
    deadline: Duration,
    waiter: W,
}

impl<W> Waiters<W> {
    pub(crate) fn new() -> Self {
        Waiters {
            line: VecDeque::new(),
            deadline_min: Duration::MAX,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Puts a waiter at the end; `sequence` is higher than any before.
    pub(crate) fn push(&mut self, sequence: u64, waiter: W, now: Duration, patience: Duration) {
        let deadline = now.saturating_add(patience);
        self.deadline_min = match self.line.is_empty() {
            true => deadline,
            false => deadline.min(self.deadline_min),
        };
        self.line.push_back(Waiter {
            sequence,
            since: now,
            deadline,
            waiter,
        });
    }

    pub(crate) fn pop(&mut self) -> Option<W> {
        self.line.pop_front().map(|w| w.waiter)
    }

    /// Removes a waiter, wherever it is in the queue.
    pub(crate) fn remove(&mut self, sequence: u64) -> Option<W> {
        let place = self.place(sequence)?;
        self.line.remove(place).map(|w| w.waiter)
    }

    /// Removes all waiters whose time is over, in order.
    pub(crate) fn expired(&mut self, now: Duration) -> Vec<W> {
        if self.first_deadline().is_none_or(|first| first > now) {
            return Vec::new();
        }
        let line = std::mem::take(&mut self.line).into_iter();
        let (over, left): (Vec<_>, Vec<_>) = line.partition(|w| w.deadline <= now);
        self.line = left.into();
        let deadlines = self.line.iter().map(|w| w.deadline);
        self.deadline_min = deadlines.min().unwrap_or(Duration::MAX);
        over.into_iter().map(|w| w.waiter).collect()
    }

    /// Removes all waiters, in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = W> {
        self.line.drain(..).map(|w| w.waiter)
    }

    /// When a waiter's time may be over. The time of a waiter that has left may be earlier.
    pub(crate) fn first_deadline(&self) -> Option<Duration> {
        (!self.line.is_empty()).then_some(self.deadline_min)
    }

    /// Since when the first waiter waits.
    pub(crate) fn first_since(&self) -> Option<Duration> {
        self.line.front().map(|w| w.since)
    }

    /// Returns the time for which the first waiter has waited.
    pub(crate) fn oldest_wait(&self, now: Duration) -> Option<Duration> {
        Some(now.saturating_sub(self.first_since()?))
    }

    pub(crate) fn waiting(&self, sequence: u64) -> Option<Waiting> {
        let ahead = self.place(sequence)?;
        Some(self.line[ahead].seen_from(ahead))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Waiting, &W)> {
        let places = self.line.iter().enumerate();
        places.map(|(ahead, w)| (w.seen_from(ahead), &w.waiter))
    }

    fn place(&self, sequence: u64) -> Option<usize> {
        self.line
            .binary_search_by_key(&sequence, |w| w.sequence)
            .ok()
    }
}

impl<W> Waiter<W> {
    fn seen_from(&self, ahead: usize) -> Waiting {
        Waiting {
            ahead,
            since: self.since,
            deadline: self.deadline,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn four() -> Waiters<char> {
        let mut waiters = Waiters::new();
        for (sequence, waiter, patience) in [(3, 'a', 5), (4, 'b', 2), (7, 'c', 9), (9, 'd', 2)] {
            waiters.push(sequence, waiter, S, S * patience);
        }
        waiters
    }

    #[test]
    fn waiters_leave_the_queue_in_order_of_arrival() {
        let mut waiters = four();
        let order: String = std::iter::from_fn(|| waiters.pop()).collect();
        assert_eq!(order, "abcd");
    }

    #[test]
    fn one_that_leaves_lets_those_behind_move_up() {
        let mut waiters = four();
        assert_eq!(waiters.waiting(7).unwrap().ahead, 2);
        assert_eq!(waiters.remove(4), Some('b'));
        assert_eq!(waiters.remove(4), None);
        assert_eq!(waiters.waiting(7).unwrap().ahead, 1);
        assert_eq!(waiters.waiting(4), None);
    }

    #[test]
    fn only_expired_waiters_leave_and_the_order_stays() {
        let mut waiters = four();
        assert_eq!(waiters.first_deadline(), Some(3 * S));
        assert!(waiters.expired(2 * S).is_empty());
        assert_eq!(waiters.expired(3 * S), ['b', 'd']);
        assert_eq!(waiters.drain().collect::<String>(), "ac");
    }

    #[test]
    fn the_oldest_wait_is_the_firsts() {
        assert_eq!(four().oldest_wait(4 * S), Some(3 * S));
        assert_eq!(Waiters::<char>::new().oldest_wait(S), None);
    }
}
