//! The usual time of statements with the same digest on a backend, and the size of their replies, as one worker has
//! measured them.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::NotLaneable;
use crate::BackendId;

/// Statements whose recent average time is longer are not short.
pub const LONG: Duration = Duration::from_millis(5);

/// Statements whose recent average reply is larger are not small.
pub const REPLY_BYTES_MAX: u32 = 32 << 10;

/// This many statements must have ended before a digest may use a lane.
const SEEN_MIN: u32 = 3;

/// The weight of a new statement in the averages is one part in this many.
const PARTS: u64 = 8;

/// After a warning or an error, this many statements must end without one before the digest uses a lane.
const GOOD_AFTER_WARNING: u32 = 64;

/// The most entries of the young and of the old generation each.
const GENERATION_MAX: usize = 4096;

/// A statement that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    /// The time from its sending, or from the end of the previous reply, to the end of its own reply.
    pub took: Duration,
    /// The size of its whole reply.
    pub bytes: u64,
    /// Whether it ended with warnings, or with an error.
    pub has_warned: bool,
}

/// The measurements of a digest on a backend.
#[derive(Debug, Clone, Copy, Default)]
pub struct DigestStats {
    seen: u32,
    /// Exponentially weighted.
    nanoseconds: u64,
    bytes: u64,
    good_wanted: u32,
}

impl DigestStats {
    /// Returns the usual time of a statement.
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

    /// Whether its statements are known to be short, with small replies, and without warnings.
    ///
    /// # Errors
    /// Why the statements use no lane.
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

/// One worker's measurements, by backend and digest. Bounded: a digest that was not seen for a whole generation is
/// forgotten.
#[derive(Debug, Default)]
pub struct KnownDigests {
    young: FxHashMap<(BackendId, u64), DigestStats>,
    old: FxHashMap<(BackendId, u64), DigestStats>,
}

impl KnownDigests {
    /// Returns the measurements of a digest on a backend.
    pub fn of(&self, backend: BackendId, digest: u64) -> DigestStats {
        let key = (backend, digest);
        let known = self.young.get(&key).or_else(|| self.old.get(&key));
        known.copied().unwrap_or_default()
    }

    /// Notes that a statement has ended.
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

    /// Returns how many digests are known.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether no digest is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
