//! Counts of what the proxy has ended so that other sessions can go on, in all workers since the start.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts that only grow.
#[derive(Debug, Default)]
pub struct ForcedEnds {
    idle_transactions: AtomicU64,
    kept_for_others: AtomicU64,
}

impl ForcedEnds {
    /// Counts a transaction that was idle for too long.
    pub fn count_idle_transaction(&self) {
        self.idle_transactions.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts sessions that have to give up the connection that they keep, because other sessions wait.
    pub fn count_kept_for_others(&self, count: usize) {
        self.kept_for_others
            .fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Sessions that have given up the connection that they kept.
    pub fn kept_for_others(&self) -> u64 {
        self.kept_for_others.load(Ordering::Relaxed)
    }

    /// Transactions that were idle for too long.
    pub fn idle_transactions(&self) -> u64 {
        self.idle_transactions.load(Ordering::Relaxed)
    }
}
