//! What can be read at any time: how many are where, and what has happened so far.

use std::ops::AddAssign;
use std::time::Duration;

/// One key in one worker, now. States are counted by looking at the places, not beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Connections that lie idle.
    pub idle: usize,
    /// Connections in somebody's hands, those being pinged among them.
    pub leased: usize,
    /// Connections being opened.
    pub opening: usize,
    /// Connections being closed.
    pub closing: usize,
    /// Who waits for a connection.
    pub waiting: usize,
    /// How long the longest of them has.
    pub oldest_wait: Option<Duration>,
    /// What has happened since the key was added.
    pub counts: Counts,
}

impl Figures {
    /// All connections, in whatever state.
    pub fn connections(&self) -> usize {
        self.idle + self.leased + self.opening + self.closing
    }
}

impl AddAssign<&Figures> for Figures {
    fn add_assign(&mut self, other: &Figures) {
        self.idle += other.idle;
        self.leased += other.leased;
        self.opening += other.opening;
        self.closing += other.closing;
        self.waiting += other.waiting;
        self.oldest_wait = self.oldest_wait.max(other.oldest_wait);
        self.counts += &other.counts;
    }
}

/// What has happened; only grows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections opened.
    pub opened: u64,
    /// Connections that could not be opened.
    pub open_failures: u64,
    /// Sessions served by a connection that was there.
    pub reused: u64,
    /// Of these, taken from the idle ones with the very state that was wished for.
    pub exact: u64,
    /// Sessions that had to wait.
    pub waits: u64,
    /// Waits that ended because the time was over.
    pub timeouts: u64,
    /// Waits that the waiter itself ended.
    pub cancelled: u64,
    /// Sessions refused: unable to wait, or their backend shut.
    pub refused: u64,
    /// Pings asked for.
    pub pings: u64,
    /// Connections that were in somebody's hands at once, at most; of several keys the sum.
    pub leased_max: usize,
    /// Connections that ended, by reason.
    pub closed: Closed,
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        self.opened += other.opened;
        self.open_failures += other.open_failures;
        self.reused += other.reused;
        self.exact += other.exact;
        self.waits += other.waits;
        self.timeouts += other.timeouts;
        self.cancelled += other.cancelled;
        self.refused += other.refused;
        self.pings += other.pings;
        self.leased_max += other.leased_max;
        for reason in CloseReason::ALL {
            self.closed.0[reason as usize] += other.closed.of(reason);
        }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// It reached its maximum age, or the privileges of its account have changed.
    TooOld,
    /// Nobody used it for too long.
    IdleTooLong,
    /// More are idle, or there at all, than the limits say.
    TooMany,
    /// Its backend went down, is drained, or was removed.
    Shut,
    /// Another key or worker had none, or fewer, under a connection limit they share.
    Yielded,
    /// It broke: a ping or a statement found it dead.
    Broken,
    /// Its session took it to its end: pinned, or its state cannot be undone.
    Ended,
    /// Its holder was cancelled and took it along.
    Dropped,
    /// Its session left a transaction idle for too long.
    IdleTransaction,
}

impl CloseReason {
    /// Every reason, in order.
    pub const ALL: [CloseReason; 9] = [
        CloseReason::TooOld,
        CloseReason::IdleTooLong,
        CloseReason::TooMany,
        CloseReason::Shut,
        CloseReason::Yielded,
        CloseReason::Broken,
        CloseReason::Ended,
        CloseReason::Dropped,
        CloseReason::IdleTransaction,
    ];

    /// Its name as a metric's label.
    pub fn label(self) -> &'static str {
        match self {
            CloseReason::TooOld => "too_old",
            CloseReason::IdleTooLong => "idle_too_long",
            CloseReason::TooMany => "too_many",
            CloseReason::Shut => "shut",
            CloseReason::Yielded => "yielded",
            CloseReason::Broken => "broken",
            CloseReason::Ended => "ended",
            CloseReason::Dropped => "dropped",
            CloseReason::IdleTransaction => "idle_transaction",
        }
    }
}

/// Connections that ended, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closed([u64; CloseReason::ALL.len()]);

impl Closed {
    /// How many for this reason.
    pub fn of(&self, reason: CloseReason) -> u64 {
        self.0[reason as usize]
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn count(&mut self, reason: CloseReason) {
        self.0[reason as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_place_and_label() {
        let mut closed = Closed::default();
        for (index, reason) in CloseReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, index);
            closed.count(reason);
        }
        assert!(CloseReason::ALL.into_iter().all(|r| closed.of(r) == 1));
        let labels: std::collections::HashSet<_> = CloseReason::ALL.map(CloseReason::label).into();
        assert_eq!(labels.len(), CloseReason::ALL.len());
    }

    #[test]
    fn figures_of_keys_add_up() {
        let one = Figures {
            idle: 1,
            leased: 2,
            waiting: 1,
            oldest_wait: Some(Duration::from_secs(1)),
            ..Figures::default()
        };
        let mut sum = Figures {
            opening: 3,
            ..Figures::default()
        };
        sum += &one;
        assert_eq!((sum.connections(), sum.waiting), (6, 1));
        assert_eq!(sum.oldest_wait, Some(Duration::from_secs(1)));
    }
}
