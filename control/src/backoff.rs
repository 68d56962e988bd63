//! How long to wait before a backend that is down is probed again.

use std::time::Duration;

use route::Dice;

/// A wait that doubles while probes fail.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// The wait before this one; `None` before the first.
    last: Option<Duration>,
}

impl Backoff {
    /// The next wait: `first`, doubled with each call up to `max`. The wait is shortened at random by up to a fifth,
    /// so that many proxies do not probe a returning server all at once.
    pub(crate) fn next(&mut self, first: Duration, max: Duration, dice: &mut Dice) -> Duration {
        let wait = self
            .last
            .map_or(first, |last| last.saturating_mul(2))
            .min(max.max(first));
        self.last = Some(wait);
        wait - wait.mul_f64(dice.below(201) as f64 / 1000.0)
    }

    /// Starts again with the first wait.
    pub(crate) fn reset(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_secs(1);
    const MAX: Duration = Duration::from_secs(30);

    #[test]
    fn backoff_doubles_up_to_its_maximum_with_a_fifth_of_jitter() {
        let mut backoff = Backoff::default();
        let mut dice = Dice::new(1);
        for seconds in [1, 2, 4, 8, 16, 30, 30, 30] {
            let whole = Duration::from_secs(seconds);
            let wait = backoff.next(FIRST, MAX, &mut dice);
            assert!(wait <= whole && wait >= whole * 4 / 5, "{wait:?}");
        }
        backoff.reset();
        assert!(backoff.next(FIRST, MAX, &mut dice) <= FIRST);
    }

    #[test]
    fn a_bound_below_the_first_wait_does_not_shorten_it() {
        let mut backoff = Backoff::default();
        let wait = backoff.next(FIRST, Duration::ZERO, &mut Dice::new(1));
        assert!(wait >= FIRST * 4 / 5);
    }
}
