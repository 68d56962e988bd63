//! The limit of the memory in which the process keeps bytes of clients and servers, over all workers.
//!
//! Each part of the proxy that keeps bytes has a [`MemoryShare`] and reports how many, for each
//! [`Purpose`]. Small amounts are not counted ([`UNCOUNTED_BYTES`]). So a session with short
//! statements and replies touches no counter that workers share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// For each purpose, this many bytes are not counted. Sessions that pass bytes on keep at most two pieces of this size.
pub const UNCOUNTED_BYTES: usize = 32 << 10;

/// The counters of the whole process.
#[derive(Debug, Default)]
pub struct MemoryBudget {
    /// The limit in bytes; zero: no limit.
    bytes_max: AtomicU64,
    bytes: AtomicU64,
    peak: AtomicU64,
    refused: AtomicU64,
    ended: AtomicU64,
}

/// The purpose for which a share's bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A login's packets.
    Login,
    /// A command, from its first byte on, until the next one.
    Command,
    /// Long data of prepared statements.
    LongData,
    /// Texts of prepared statements, and the definitions of their columns.
    Prepared,
    /// A reply that is kept for a script, or that the client has not taken.
    Reply,
    /// Compressed frames that are not complete, and the window in which they are decompressed.
    Compression,
}

/// The number of purposes.
const PURPOSES: usize = 6;

/// The values that the admin interface shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryView {
    /// The limit in bytes; `None`: no limit.
    pub bytes_max: Option<u64>,
    /// Bytes that are kept now.
    pub bytes: u64,
    /// The most bytes that were kept at once.
    pub peak: u64,
    /// Statements and logins that were refused.
    pub refused: u64,
    /// Sessions that the proxy has ended because they kept the most.
    pub ended: u64,
}

impl MemoryBudget {
    /// Sets the limit; zero: no limit.
    pub fn set_bytes_max(&self, bytes_max: u64) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Whether the process keeps more bytes than it may.
    pub fn is_over(&self) -> bool {
        self.is_over_without(0)
    }

    /// Whether the process would keep more than it may without these bytes, which are about to be freed.
    pub fn is_over_without(&self, leaving: u64) -> bool {
        let bytes_max = self.bytes_max.load(Ordering::Relaxed);
        bytes_max > 0 && self.bytes.load(Ordering::Relaxed).saturating_sub(leaving) > bytes_max
    }

    /// Counts a statement or a login that was refused.
    pub fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a session that ends because it kept the most.
    pub fn count_ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the current values.
    pub fn view(&self) -> MemoryView {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MemoryView {
            bytes_max: Some(read(&self.bytes_max)).filter(|max| *max > 0),
            bytes: read(&self.bytes),
            peak: read(&self.peak),
            refused: read(&self.refused),
            ended: read(&self.ended),
        }
    }

    fn take(&self, count: u64) {
        let bytes = self.bytes.fetch_add(count, Ordering::Relaxed) + count;
        self.peak.fetch_max(bytes, Ordering::Relaxed);
    }

    fn give(&self, count: u64) {
        self.bytes.fetch_sub(count, Ordering::Relaxed);
    }
}

/// The bytes that one session keeps, or that a worker keeps for its sessions. A dropped share keeps nothing.
#[derive(Debug, Default)]
pub struct MemoryShare {
    budget: OnceLock<Arc<MemoryBudget>>,
    parts: [AtomicU64; PURPOSES],
    /// Bytes that the session shares with others and that are counted in another share.
    noted: AtomicU64,
}

impl MemoryShare {
    /// Returns a share that is counted in this budget.
    pub fn of(budget: &Arc<MemoryBudget>) -> Self {
        let share = Self::default();
        share.count_in(budget);
        share
    }

    /// Counts the share in this budget. A share is counted in one budget only: the first.
    pub fn count_in(&self, budget: &Arc<MemoryBudget>) {
        let _ = self.budget.set(Arc::clone(budget));
    }

    /// Sets how many bytes are kept for a purpose. Returns false if they have become more while the process keeps more
    /// than it may.
    #[inline]
    pub fn keep(&self, purpose: Purpose, bytes: usize) -> bool {
        if bytes <= UNCOUNTED_BYTES && self.parts[purpose as usize].load(Ordering::Relaxed) == 0 {
            return true;
        }
        self.keep_much(purpose, bytes)
    }

    fn keep_much(&self, purpose: Purpose, bytes: usize) -> bool {
        let counted = match bytes {
            0..=UNCOUNTED_BYTES => 0,
            bytes => bytes as u64,
        };
        let before = self.parts[purpose as usize].swap(counted, Ordering::Relaxed);
        let Some(budget) = self.budget.get() else {
            return true;
        };
        match counted.checked_sub(before) {
            Some(0) => true,
            Some(more) => {
                budget.take(more);
                !budget.is_over()
            }
            None => {
                budget.give(before - counted);
                true
            }
        }
    }

    /// Adds bytes that are counted in another share, because other sessions share them.
    pub fn note_more(&self, bytes: usize) {
        self.note(|noted| noted.saturating_add(bytes as u64));
    }

    /// Subtracts bytes that are counted in another share.
    pub fn note_less(&self, bytes: usize) {
        self.note(|noted| noted.saturating_sub(bytes as u64));
    }

    /// Changes the noted bytes. Only the share's own thread calls this.
    fn note(&self, change: impl Fn(u64) -> u64) {
        let noted = self.noted.load(Ordering::Relaxed);
        self.noted.store(change(noted), Ordering::Relaxed);
    }

    /// Counts a request of this share that was refused.
    pub fn count_refused(&self) {
        if let Some(budget) = self.budget.get() {
            budget.count_refused();
        }
    }

    /// Whether the process keeps more than it may.
    pub fn is_over(&self) -> bool {
        self.budget.get().is_some_and(|budget| budget.is_over())
    }

    /// Returns how many bytes are kept, including shared ones.
    pub fn bytes(&self) -> u64 {
        self.counted() + self.noted.load(Ordering::Relaxed)
    }

    fn counted(&self) -> u64 {
        let parts = self.parts.iter();
        parts.map(|part| part.load(Ordering::Relaxed)).sum()
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        if let Some(budget) = self.budget.get() {
            budget.give(self.counted());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUCH: usize = UNCOUNTED_BYTES + 1;

    #[test]
    fn only_large_buffers_count_for_the_memory_budget_until_they_are_freed() {
        let budget = Arc::new(MemoryBudget::default());
        let share = MemoryShare::of(&budget);
        assert!(share.keep(Purpose::Command, UNCOUNTED_BYTES));
        assert_eq!(budget.view().bytes, 0);
        assert!(share.keep(Purpose::Command, MUCH));
        assert!(share.keep(Purpose::LongData, 2 * MUCH));
        assert_eq!(budget.view().bytes, 3 * MUCH as u64);
        assert!(share.keep(Purpose::Command, 7));
        assert_eq!(
            (budget.view().bytes, share.bytes()),
            (2 * MUCH as u64, 2 * MUCH as u64)
        );
        drop(share);
        let view = budget.view();
        assert_eq!((view.bytes, view.peak), (0, 3 * MUCH as u64));
    }

    #[test]
    fn only_growth_beyond_the_memory_budget_is_refused() {
        let budget = Arc::new(MemoryBudget::default());
        let [one, two] = [MemoryShare::of(&budget), MemoryShare::of(&budget)];
        assert!(one.keep(Purpose::Command, 9 * MUCH), "there is no bound");
        budget.set_bytes_max(9 * MUCH as u64);
        assert!(!budget.is_over());
        assert!(!two.keep(Purpose::Command, MUCH));
        assert!(budget.is_over());
        assert!(
            two.keep(Purpose::Command, MUCH),
            "it is no more than before"
        );
        assert!(two.keep(Purpose::Command, 0));
        assert!(!budget.is_over());
    }

    /// After any sequence of keeping and dropping, the budget equals the sum of the shares.
    #[test]
    fn the_budget_is_the_sum_of_its_shares() {
        const ALL: [Purpose; 4] = [
            Purpose::Command,
            Purpose::LongData,
            Purpose::Reply,
            Purpose::Compression,
        ];
        let budget = Arc::new(MemoryBudget::default());
        let mut shares: Vec<_> = (0..4).map(|_| MemoryShare::of(&budget)).collect();
        let mut random = 7_u64;
        for _ in 0..10_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let drawn = (random >> 33) as usize;
            let (which, purpose) = (drawn % 4, ALL[drawn / 4 % 4]);
            match drawn / 16 % 7 {
                0 => shares[which] = MemoryShare::of(&budget),
                _ => {
                    shares[which].keep(purpose, drawn / 112 % 200_000);
                }
            }
            let sum: u64 = shares.iter().map(MemoryShare::bytes).sum();
            assert_eq!(budget.view().bytes, sum);
        }
        drop(shares);
        assert_eq!(budget.view().bytes, 0);
    }

    #[test]
    fn noted_bytes_make_a_share_large_and_are_not_counted() {
        let budget = Arc::new(MemoryBudget::default());
        let share = MemoryShare::of(&budget);
        share.note_more(500);
        share.note_less(200);
        assert_eq!((share.bytes(), budget.view().bytes), (300, 0));
        share.note_less(500);
        assert_eq!(share.bytes(), 0);
    }
}
