//! How deep lanes should be: as deep as makes a statement cheaper, and no deeper.

use std::time::Duration;

/// Powers of two that are told apart: 1, 2–3, 4–7, …
const BUCKETS: usize = 8;

/// No lane is deeper than this.
const DEPTH_MAX: usize = 1 << (BUCKETS - 1);

/// A new measurement's weight is one part in so many.
const PARTS: f32 = 16.0;

/// A depth is as good as the best one if a statement takes no longer there than this many times.
const AS_GOOD: f32 = 1.1;

/// If nothing is known, a second lane is opened from this depth on.
const DEPTH_FIRST: usize = 8;

/// The time of a statement on a lane, by the lane's depth. The server is woken once for all statements
/// that wait there, so a deeper lane is cheaper, until only the server's own work is left. From there
/// on another lane serves better.
#[derive(Debug, Clone, Copy, Default)]
pub struct Depth {
    /// Nanoseconds; 0 while unknown.
    taken: [f32; BUCKETS],
}

impl Depth {
    /// So many replies have come in this time, on a lane of this depth.
    pub fn note(&mut self, depth: usize, replies: usize, took: Duration) {
        if replies == 0 {
            return;
        }
        let each = took.as_nanos() as f32 / replies as f32;
        let taken = &mut self.taken[bucket(depth)];
        *taken = match *taken {
            0.0 => each.max(1.0),
            before => before + (each - before) / PARTS,
        };
    }

    /// The depth from which on another lane is opened: the least one at which a statement is about
    /// as cheap as it has ever been.
    pub fn wanted(&self) -> usize {
        let known = || self.taken.iter().filter(|taken| **taken > 0.0);
        let best = known().copied().fold(f32::INFINITY, f32::min);
        let is_as_good = |taken: &f32| *taken > 0.0 && *taken <= best * AS_GOOD;
        match self.taken.iter().position(is_as_good) {
            // A deeper lane may be better still: it has not been measured.
            Some(at) if known().count() > 1 || at > 0 => 2 << at,
            _ => DEPTH_FIRST,
        }
        .clamp(2, DEPTH_MAX)
    }

    /// No statement is added to a lane that is deeper than this.
    pub fn most(&self) -> usize {
        DEPTH_MAX
    }
}

fn bucket(depth: usize) -> usize {
    (depth.max(1).ilog2() as usize).min(BUCKETS - 1)
}
