//! When the process began, by the wall clock.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Smaller differences do not mean that the clock was set, because two clocks cannot be read at the same moment.
const STEP_MIN: Duration = Duration::from_secs(1);

/// The start of the process, the same at each call, so that times computed from it do not change; another one after the
/// clock was set.
#[derive(Debug, Default)]
pub struct ProcessStart(Mutex<Option<SystemTime>>);

impl ProcessStart {
    /// The start of the process. `clock` and `run` are of one moment: the time, and how long the process has run.
    pub fn by(&self, clock: SystemTime, run: Duration) -> SystemTime {
        let by_now = clock.checked_sub(run).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let apart = |told: SystemTime| match told.duration_since(by_now) {
            Ok(apart) => apart,
            Err(error) => error.duration(),
        };
        told.take_if(|told| apart(*told) >= STEP_MIN);
        *told.get_or_insert(by_now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_start_time_is_stable_until_the_clock_is_set() {
        let at = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        let run = Duration::from_millis;
        let began = ProcessStart::default();
        assert_eq!(began.by(at(10_000), run(1_000)), at(9_000));
        assert_eq!(began.by(at(20_003), run(11_000)), at(9_000));
        assert_eq!(began.by(at(29_998), run(21_000)), at(9_000));
        assert_eq!(began.by(at(95_000), run(31_000)), at(64_000));
        assert_eq!(began.by(at(50_000), run(41_000)), at(9_000));
    }
}
