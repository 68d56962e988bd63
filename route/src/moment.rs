//! A point in time for crates without a clock: how long the process has run.

use std::ops::Add;
use std::time::{Duration, Instant};

/// Time since the process started; the binary owns the one `Instant` that it counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(pub Duration);

impl Moment {
    /// The moment the process started.
    pub const START: Moment = Moment(Duration::ZERO);

    /// The moment that `instant` is, in a process that began at `started`.
    pub fn of(instant: Instant, started: Instant) -> Moment {
        Moment(instant.saturating_duration_since(started))
    }

    /// Returns the time since `earlier`; zero if `earlier` is later than this moment.
    pub fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, later: Duration) -> Moment {
        Moment(self.0.saturating_add(later))
    }
}
