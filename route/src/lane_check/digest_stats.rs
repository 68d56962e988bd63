//! How long statements with a digest take on a backend, and how large their replies are, as one worker has measured
//! it.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::NotLaneable;
use crate::BackendId;

/// Whatever takes longer, on the average of late, is not short.
pub const LONG: Duration = Duration::from_millis(5);

/// Whatever has a larger reply, on the average of late, is not small.
pub const REPLY_BYTES_MAX: u32 = 32 << 10;

/// So many must have ended.
const SEEN_MIN: u32 = 3;

/// A new one's weight is one part in so many.
const PARTS: u64 = 8;

/// After one that ended with a warning or an error so many must end well.
const GOOD_AFTER_WARNING: u32 = 64;

/// Entries of the young and of the old generation.
const GENERATION_MAX: usize = 4096;

/// A statement that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    /// From its sending, or from the end of the reply before it, to the end of its own.
    pub took: Duration,
    /// All of its reply.
    pub bytes: u64,
    /// It ended with warnings, or with an error.
    pub has_warned: bool,
}

/// What is known of a digest on a backend.
#[derive(Debug, Clone, Copy, Default)]
pub struct DigestStats {
    seen: u32,
    /// Exponentially weighted.
    nanoseconds: u64,
    bytes: u64,
    good_wanted: u32,
}

impl DigestStats {
    /// How long it usually takes.
    pub fn usual_time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds)
    }

    fn note(&mut self, seen: &Observed) {
        let took = u64::try_from(seen.took.as_nanos()).unwrap_or(u64::MAX);
        match self.seen {
            0 => (self.nanoseconds, self.bytes) = (took, seen.bytes),
            _ => {
                self.nanoseconds = weighted(self.nanoseconds, took);
                self.bytes = weighted(self.bytes, seen.bytes);
            }
        }
        self.seen = self.seen.saturating_add(1);
        self.good_wanted = match seen.has_warned {
            true => GOOD_AFTER_WARNING,
            false => self.good_wanted.saturating_sub(1),
        };
    }

    /// Whether it is known to be short and small, and to end well.
    ///
    /// # Errors
    /// Why it uses no lane.
    pub fn is_short(&self) -> Result<(), NotLaneable> {
        match () {
            () if self.good_wanted > 0 => Err(NotLaneable::Warns),
            () if self.seen < SEEN_MIN => Err(NotLaneable::Unknown),
            () if self.usual_time() > LONG => Err(NotLaneable::Slow),
            () if self.bytes > u64::from(REPLY_BYTES_MAX) => Err(NotLaneable::Large),
            () => Ok(()),
        }
    }
}

fn weighted(before: u64, new: u64) -> u64 {
    before - before / PARTS + new / PARTS
}

/// What one worker has measured, by backend and digest. Bounded: a digest that was not seen for a whole generation is
/// forgotten.
#[derive(Debug, Default)]
pub struct KnownDigests {
    young: FxHashMap<(BackendId, u64), DigestStats>,
    old: FxHashMap<(BackendId, u64), DigestStats>,
}

impl KnownDigests {
    /// What is known of a digest there.
    pub fn of(&self, backend: BackendId, digest: u64) -> DigestStats {
        let key = (backend, digest);
        let known = self.young.get(&key).or_else(|| self.old.get(&key));
        known.copied().unwrap_or_default()
    }

    /// One more has ended.
    pub fn note(&mut self, backend: BackendId, digest: u64, seen: &Observed) {
        let key = (backend, digest);
        if let Some(stats) = self.young.get_mut(&key) {
            return stats.note(seen);
        }
        if self.young.len() >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        let mut stats = self.old.remove(&key).unwrap_or_default();
        stats.note(seen);
        self.young.insert(key, stats);
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
