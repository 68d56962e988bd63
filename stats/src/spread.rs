//! A histogram of durations, with their sum and the longest. One thread writes;
//! others may read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Durations shorter than this, in nanoseconds, share one bar.
const FIRST: u64 = 1 << FIRST_OCTAVE;
const FIRST_OCTAVE: u32 = 10;

/// Bars from one power of two to the next: a bar is a fifth to a quarter wide.
const PARTS: usize = 1 << PARTS_BITS;
const PARTS_BITS: u32 = 2;

/// Powers of two that have bars of their own: up to 68 s.
const OCTAVES: usize = 26;

const BARS: usize = 1 + OCTAVES * PARTS;

/// A histogram that one thread writes.
#[derive(Debug)]
pub struct Spread {
    /// In nanoseconds.
    sum: AtomicU64,
    max: AtomicU64,
    bars: [AtomicU64; BARS],
}

/// A histogram at one moment, of one thread or of several.
#[derive(Debug, Clone)]
pub struct Spreads {
    sum: u64,
    max: u64,
    bars: [u64; BARS],
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            sum: AtomicU64::default(),
            max: AtomicU64::default(),
            bars: std::array::from_fn(|_| AtomicU64::default()),
        }
    }
}

impl Spread {
    /// Counts a duration. Only one thread writes, so no locked instruction is needed.
    pub fn note(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        add(&self.sum, nanoseconds);
        if nanoseconds > self.max.load(Ordering::Relaxed) {
            self.max.store(nanoseconds, Ordering::Relaxed);
        }
        add(&self.bars[bar_of(nanoseconds)], 1);
    }
}

/// Adds to a count that only one thread writes.
pub fn add(count: &AtomicU64, more: u64) {
    let sum = count.load(Ordering::Relaxed).wrapping_add(more);
    count.store(sum, Ordering::Relaxed);
}

/// The bar of a duration.
pub fn bar_of(nanoseconds: u64) -> usize {
    if nanoseconds < FIRST {
        return 0;
    }
    let octave = nanoseconds.ilog2();
    let part = (nanoseconds >> (octave - PARTS_BITS)) as usize % PARTS;
    (1 + (octave - FIRST_OCTAVE) as usize * PARTS + part).min(BARS - 1)
}

/// The upper end of a bar, in nanoseconds; the last bar has none.
pub fn bar_end(bar: usize) -> Option<u64> {
    (bar < BARS - 1).then(|| end_of(bar))
}

fn end_of(bar: usize) -> u64 {
    let (octave, part) = (bar / PARTS, (bar % PARTS) as u64);
    let first = FIRST << octave;
    first + part * (first >> PARTS_BITS)
}

impl Default for Spreads {
    fn default() -> Self {
        Self {
            sum: 0,
            max: 0,
            bars: [0; BARS],
        }
    }
}

impl Spreads {
    /// Adds the histogram of one thread.
    pub fn add(&mut self, spread: &Spread) {
        self.sum = self.sum.wrapping_add(spread.sum.load(Ordering::Relaxed));
        self.max = self.max.max(spread.max.load(Ordering::Relaxed));
        for (bar, more) in self.bars.iter_mut().zip(&spread.bars) {
            *bar += more.load(Ordering::Relaxed);
        }
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.bars.iter().sum()
    }

    /// The longest duration.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// The average duration.
    pub fn average(&self) -> Duration {
        Duration::from_nanos(self.sum / self.count().max(1))
    }

    /// The sum of all durations.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum)
    }

    /// How many durations are shorter than each of a series of limits. The limits double, from 33 µs to
    /// 34 s.
    pub fn steps(&self) -> Vec<(Duration, u64)> {
        let octaves = 5..=25;
        let step = |octave: usize| {
            let end = octave * PARTS;
            let count = self.bars.iter().take(end + 1).sum();
            (Duration::from_nanos(end_of(end)), count)
        };
        octaves.map(step).collect()
    }

    /// The duration that this percentage does not exceed, as exact as the bars are: never too low, and up to a
    /// quarter too high.
    pub fn percentile(&self, percent: u64) -> Duration {
        let wanted = (self.count() * percent).div_ceil(100);
        let mut counted = 0;
        let bar = self.bars.iter().position(|bar| {
            counted += bar;
            counted >= wanted
        });
        let end = bar.and_then(bar_end);
        Duration::from_nanos(end.unwrap_or(self.max).min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(durations: impl IntoIterator<Item = Duration>) -> Spreads {
        let spread = Spread::default();
        durations.into_iter().for_each(|it| spread.note(it));
        let mut all = Spreads::default();
        all.add(&spread);
        all
    }

    #[test]
    fn each_duration_lies_in_the_bar_that_ends_a_quarter_behind_it_at_most() {
        for nanoseconds in (0..36).flat_map(|octave| {
            let first = 1u64 << octave;
            [first, first + 1, first + first / 3, 2 * first - 1]
        }) {
            let bar = bar_of(nanoseconds);
            let end = end_of(bar);
            assert!(nanoseconds < end, "{nanoseconds} {bar}");
            assert!(bar == 0 || end_of(bar - 1) <= nanoseconds, "{nanoseconds}");
            assert!(
                bar == 0 || end <= nanoseconds + nanoseconds / 4 + 1,
                "{nanoseconds}"
            );
        }
        assert_eq!(bar_of(u64::MAX), BARS - 1);
    }

    #[test]
    fn histogram_steps_count_all_shorter_durations() {
        let durations = (1..=100_000).map(|it| Duration::from_micros(it * 7));
        let all: Vec<_> = durations.collect();
        let steps = of(all.iter().copied()).steps();
        assert_eq!(steps[0].0, Duration::from_nanos(1 << 15));
        for (end, count) in steps {
            let shorter = all.iter().filter(|it| **it < end).count();
            assert_eq!(count, shorter as u64, "{end:?}");
        }
    }

    #[test]
    fn percentiles_are_never_too_little_and_never_more_than_the_longest() {
        let spread = of((1..=1000).map(Duration::from_micros));
        assert_eq!(spread.count(), 1000);
        assert_eq!(spread.average(), Duration::from_nanos(500_500));
        for percent in [1, 50, 99, 100] {
            let exact = Duration::from_micros(10 * percent);
            let told = spread.percentile(percent);
            assert!(told >= exact && told <= exact * 5 / 4, "{percent} {told:?}");
        }
        assert_eq!(spread.percentile(100), spread.max());
        let long = of([Duration::from_secs(1000)]);
        assert_eq!(long.percentile(50), Duration::from_secs(1000));
        assert_eq!(of([]).percentile(99), Duration::ZERO);
    }
}
