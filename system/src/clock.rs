//! The time.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Tells the time. Clones tell the same time.
#[derive(Clone)]
pub struct Clock(Arc<Sources>);

struct Sources {
    steady: Box<dyn Fn() -> Instant + Send + Sync>,
    wall: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

impl Clock {
    /// A clock that asks these two functions: the first for a monotonic time, the second for the time of day.
    pub fn new(
        steady: impl Fn() -> Instant + Send + Sync + 'static,
        wall: impl Fn() -> SystemTime + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Sources {
            steady: Box::new(steady),
            wall: Box::new(wall),
        }))
    }

    /// A clock whose time of day is `wall` now and goes on as `steady` does: for simulations.
    pub fn set_to(
        wall: SystemTime,
        steady: impl Fn() -> Instant + Clone + Send + Sync + 'static,
    ) -> Self {
        let origin = steady();
        Self::new(steady.clone(), move || {
            wall + steady().saturating_duration_since(origin)
        })
    }

    /// A monotonic time, which can only be compared with other times of this clock.
    pub fn steady(&self) -> Instant {
        (self.0.steady)()
    }

    /// How long ago a time of [`Clock::steady`] is.
    pub fn since(&self, earlier: Instant) -> Duration {
        self.steady().saturating_duration_since(earlier)
    }

    /// The time of day. An administrator may set it.
    pub fn wall(&self) -> SystemTime {
        (self.0.wall)()
    }

    /// The time of day, since 1970; 0 if it is before that.
    pub fn unix_time(&self) -> Duration {
        let since = self.wall().duration_since(UNIX_EPOCH);
        since.unwrap_or_default()
    }

    /// The time of day, in microseconds since 1970.
    pub fn unix_micros(&self) -> i64 {
        i64::try_from(self.unix_time().as_micros()).unwrap_or(i64::MAX)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_clock_with_a_set_time_advances_from_that_time() {
        let (start, origin) = (UNIX_EPOCH + Duration::from_secs(1_000), Instant::now());
        let passed = Arc::new(AtomicU64::new(3));
        let seconds = Arc::clone(&passed);
        let steady = move || origin + Duration::from_secs(seconds.load(Ordering::Relaxed));
        let clock = Clock::set_to(start, steady);
        assert_eq!(clock.unix_micros(), 1_000_000_000);
        passed.store(5, Ordering::Relaxed);
        assert_eq!(clock.since(origin), Duration::from_secs(5));
        assert_eq!(clock.unix_micros(), 1_002_000_000);
    }

    #[test]
    fn a_time_before_1970_is_0() {
        let early = UNIX_EPOCH - Duration::from_secs(1);
        let clock = Clock::new(Instant::now, move || early);
        assert_eq!(clock.unix_time(), Duration::ZERO);
    }
}
