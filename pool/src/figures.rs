//! The figures of a key: connections by state, and counts of events.

use std::ops::AddAssign;
use std::time::Duration;

/// The figures of one key in one worker, now. They are counted from the lists, without counters of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Connections that lie idle.
    pub idle: usize,
    /// Connections that are lent, including those being pinged.
    pub leased: usize,
    /// Connections being opened.
    pub opening: usize,
    /// Connections being closed.
    pub closing: usize,
    /// Sessions that wait for a connection.
    pub waiting: usize,
    /// The time for which the first waiter has waited.
    pub oldest_wait: Option<Duration>,
    /// Counts of events since the key was added.
    pub counts: Counts,
}

impl Figures {
    /// All connections, in any state.
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

/// Counts of events; they only grow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections opened.
    pub opened: u64,
    /// Connections that could not be opened.
    pub open_failures: u64,
    /// Sessions served by a connection that existed already.
    pub reused: u64,
    /// Of these, sessions that got an idle connection with exactly the state that they wanted.
    pub exact: u64,
    /// Sessions that had to wait.
    pub waits: u64,
    /// Waits that ended because the time was over.
    pub timeouts: u64,
    /// Waits that the waiter has cancelled.
    pub cancelled: u64,
    /// Sessions refused: they could not wait, or their backend was shut.
    pub refused: u64,
    /// Pings asked for.
    pub pings: u64,
    /// The most connections that were lent at once; for several keys the sum.
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
    /// No session used it for too long.
    IdleTooLong,
    /// More connections are idle, or exist at all, than the limits allow.
    TooMany,
    /// Its backend went down, is drained, or was removed.
    Shut,
    /// Another key or worker had none, or fewer, under a connection limit they share.
    Yielded,
    /// It broke: a ping or a statement found it dead.
    Broken,
    /// Its session used it to its end: pinned, or its state cannot be undone.
    Ended,
    /// The task that held it was cancelled.
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
    /// Returns the count for this reason.
    pub fn of(&self, reason: CloseReason) -> u64 {
        self.0[reason as usize]
    }

    /// Returns the count over all reasons.
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
