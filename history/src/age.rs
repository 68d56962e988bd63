//! Measures the age of rows. Rows have their begin by the wall clock, which can be set. If it jumps ahead, rows
//! must not be deleted as too old at once. Then a monotonic clock goes on from the time before the jump, for one
//! retention period.

use std::time::Instant;

use system::Clock;

/// A correction of the clock between two intervals is at most this many seconds. A larger step is a jump.
const CORRECTION_MAX: i64 = 60;

/// A moment by both clocks, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Seconds since 1970, by the wall clock.
    pub wall: i64,
    /// Seconds since any fixed moment, by the monotonic clock.
    pub steady: i64,
}

impl Now {
    /// Returns this moment. `beginning` is the zero of the monotonic clock.
    pub fn since(beginning: Instant, clock: &Clock) -> Self {
        let steady = clock.since(beginning).as_secs();
        Self {
            wall: Self::wall_clock(clock),
            steady: i64::try_from(steady).unwrap_or(i64::MAX),
        }
    }

    /// Returns the seconds since 1970, by the wall clock.
    pub fn wall_clock(clock: &Clock) -> i64 {
        i64::try_from(clock.unix_time().as_secs()).unwrap_or(i64::MAX)
    }
}

/// The time by which the age of rows is measured.
#[derive(Debug, Clone, Copy)]
pub struct Age {
    time: i64,
    steady: i64,
    /// Since when the wall clock is ahead of this time, by the monotonic clock.
    ahead_since: Option<i64>,
}

impl Age {
    /// Starts with a database whose newest row began at `newest`. Uses the wall clock, unless all rows would then
    /// be too old.
    pub fn new(newest: Option<i64>, now: Now, retention: i64) -> Self {
        let is_alive = |newest: &i64| *newest >= now.wall.saturating_sub(retention);
        Self {
            time: match newest.filter(|it| !is_alive(it)) {
                Some(newest) => newest,
                None => now.wall,
            },
            steady: now.steady,
            ahead_since: None,
        }
    }

    /// Returns the current time.
    pub fn time(&mut self, now: Now, retention: i64) -> i64 {
        let expected = self.time.saturating_add(now.steady - self.steady);
        self.steady = now.steady;
        let is_ahead = now.wall.saturating_sub(expected) > CORRECTION_MAX;
        let since = is_ahead.then(|| *self.ahead_since.get_or_insert(now.steady));
        self.ahead_since = since.filter(|since| now.steady - since <= retention);
        self.time = match self.ahead_since {
            Some(_) => expected,
            None => now.wall,
        };
        self.time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETENTION: i64 = 1000;

    fn times(age: &mut Age, moments: &[(i64, i64)]) -> Vec<i64> {
        let moments = moments.iter();
        moments
            .map(|(wall, steady)| {
                let now = Now {
                    wall: *wall,
                    steady: *steady,
                };
                age.time(now, RETENTION)
            })
            .collect()
    }

    fn begun(newest: Option<i64>) -> Age {
        let now = Now {
            wall: 5000,
            steady: 7,
        };
        Age::new(newest, now, RETENTION)
    }

    #[test]
    fn small_clock_corrections_are_applied_to_history_rows() {
        let told = times(&mut begun(None), &[(5060, 67), (5125, 127), (5100, 187)]);
        assert_eq!(told, [5060, 5125, 5100]);
    }

    #[test]
    fn a_clock_that_jumps_ahead_is_believed_when_all_before_has_had_its_time() {
        let mut age = begun(Some(4900));
        let moments = [(5060, 67), (90_000, 127), (90_900, 1027), (91_001, 1128)];
        assert_eq!(times(&mut age, &moments), [5060, 5120, 6020, 91_001]);
        // A clock that goes back before that time: the rows are as if it had never jumped.
        let mut age = begun(Some(4900));
        let moments = [(90_000, 67), (5120, 127), (5180, 187), (90_000, 247)];
        assert_eq!(times(&mut age, &moments), [5060, 5120, 5180, 5240]);
    }

    #[test]
    fn old_history_rows_are_kept_for_their_time_after_a_start() {
        let mut age = begun(Some(100));
        assert_eq!(times(&mut age, &[(5060, 67), (5960, 967)]), [160, 1060]);
        assert_eq!(times(&mut age, &[(6130, 1137)]), [6130]);
    }
}
