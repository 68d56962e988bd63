//! How long statements of a kind take on a backend, and how large their replies are, as one worker
//! has seen it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;

use super::Stays;
use crate::BackendId;

/// Whatever takes longer, on the average of late, is not short.
pub const LONG: Duration = Duration::from_millis(5);

/// Whatever has a larger reply, on the average of late, is not small.
pub const REPLY_BYTES_MAX: u32 = 32 << 10;

/// So many must have been seen.
const SEEN_MIN: u32 = 3;

/// A new one's weight is one part in so many.
const PARTS: u64 = 8;

/// So many that end well make up for one that ended with a warning or an error.
const PENANCE: u32 = 64;

/// Entries of the young and of the old generation.
const GENERATION_MAX: usize = 4096;

/// One that has been seen.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// From its sending, or from the end of the reply before it, to the end of its own.
    pub took: Duration,
    /// All of its reply.
    pub bytes: u64,
    /// It ended with warnings, or with an error.
    pub has_warned: bool,
}

/// What is known of a digest on a backend.
#[derive(Debug, Clone, Copy, Default)]
pub struct Habit {
    seen: u32,
    /// Exponentially weighted.
    nanoseconds: u64,
    bytes: u64,
    penance: u32,
}

impl Habit {
    /// How long it usually takes.
    pub fn takes(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds)
    }

    fn note(&mut self, seen: &Seen) {
        let took = u64::try_from(seen.took.as_nanos()).unwrap_or(u64::MAX);
        match self.seen {
            0 => (self.nanoseconds, self.bytes) = (took, seen.bytes),
            _ => {
                self.nanoseconds = weighted(self.nanoseconds, took);
                self.bytes = weighted(self.bytes, seen.bytes);
            }
        }
        self.seen = self.seen.saturating_add(1);
        self.penance = match seen.has_warned {
            true => PENANCE,
            false => self.penance.saturating_sub(1),
        };
    }

    /// Whether it is known to be short and small, and to end well.
    ///
    /// # Errors
    /// Why it does not ride.
    pub fn is_short(&self) -> Result<(), Stays> {
        match () {
            () if self.penance > 0 => Err(Stays::Warns),
            () if self.seen < SEEN_MIN => Err(Stays::Unknown),
            () if self.takes() > LONG => Err(Stays::Slow),
            () if self.bytes > u64::from(REPLY_BYTES_MAX) => Err(Stays::Large),
            () => Ok(()),
        }
    }
}

fn weighted(before: u64, new: u64) -> u64 {
    before - before / PARTS + new / PARTS
}

/// One worker's experience, by backend and digest. Bounded: what was not met for a whole generation
/// is forgotten.
#[derive(Debug, Default)]
pub struct Habits {
    young: HashMap<(BackendId, u64), Habit, BuildHasherDefault<Plain>>,
    old: HashMap<(BackendId, u64), Habit, BuildHasherDefault<Plain>>,
}

impl Habits {
    /// What is known of a digest there.
    pub fn of(&self, backend: BackendId, digest: u64) -> Habit {
        let key = (backend, digest);
        let known = self.young.get(&key).or_else(|| self.old.get(&key));
        known.copied().unwrap_or_default()
    }

    /// One more has been seen.
    pub fn note(&mut self, backend: BackendId, digest: u64, seen: &Seen) {
        let key = (backend, digest);
        if let Some(habit) = self.young.get_mut(&key) {
            return habit.note(seen);
        }
        if self.young.len() >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        let mut habit = self.old.remove(&key).unwrap_or_default();
        habit.note(seen);
        self.young.insert(key, habit);
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

/// Digests are hashes already.
#[derive(Debug, Default)]
struct Plain(u64);

impl Hasher for Plain {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
