//! Finds the limit with the most throughput: a little above and a little below are tried in turns.
//!
//! ```text
//!   limit × 1.2 ──┐           ┌───────┐           ┌── …      each for three looks, of which the first is not counted:
//!                 │           │       │           │          what was begun under the other has to end
//!   limit ÷ 1.2   └───────────┘       └───────────┘
//! ```
//!
//! After two of each, their throughput is compared. If it grows at least a fifth as fast as the limit, the server can
//! do more, and the limit grows. If it does not grow at all, more statements only wait, in the server instead of the
//! queue, and the limit falls: that is the knee of the curve (Kleinrock's "power", 1979). A limit for which no
//! transaction waits stays as it is.

use std::time::Duration;

/// The limit to begin with.
const FIRST: u32 = 32;
/// The search tries the limit times this, and the limit divided by this.
const REACH: f64 = 1.2;
/// Updates at one limit; the first is not counted.
const LOOKS: u32 = 3;
/// How often each of the two is tried.
const TRIES: u32 = 2;
/// How much the throughput has to grow, as a part of the limit's growth (both as logarithms), for a higher limit.
const WORTH: f64 = 0.2;
/// Below this part, the limit falls.
const IDLE: f64 = 0.05;
/// The factor of one step.
const STEP: f64 = 1.15;
/// The factor of a step when the throughput grows nearly as fast as the limit.
const LEAP: f64 = 1.5;
const LEAP_WORTH: f64 = 0.6;

/// The search for one limit.
#[derive(Debug, Clone)]
pub struct Climb {
    limit: f64,
    bounds: (u32, u32),
    looks: u32,
    /// The statements that ended above the limit and below it, and in which time.
    above: Throughput,
    below: Throughput,
}

#[derive(Debug, Clone, Copy, Default)]
struct Throughput {
    ended: u64,
    time: Duration,
}

impl Throughput {
    fn add(&mut self, ended: u64, time: Duration) {
        self.ended += ended;
        self.time += time;
    }

    fn rate(self) -> f64 {
        self.ended as f64 / self.time.as_secs_f64().max(1e-6)
    }
}

impl Climb {
    /// A search that begins in the middle, within these bounds.
    pub fn new(min: u32, max: u32) -> Self {
        let mut new = Self {
            limit: f64::from(FIRST),
            bounds: (min, max),
            looks: 0,
            above: Throughput::default(),
            below: Throughput::default(),
        };
        new.set_bounds(min, max);
        new
    }

    /// Changes the bounds.
    pub fn set_bounds(&mut self, min: u32, max: u32) {
        self.bounds = (min.min(max), max);
        self.limit = self.within(self.limit);
        self.pause();
    }

    /// The limit that is tried now.
    pub fn limit(&self) -> u32 {
        let tried = match self.is_above() {
            true => self.limit * REACH,
            false => self.limit / REACH,
        };
        let rounded = match self.is_above() {
            true => tried.ceil(),
            false => tried.floor(),
        };
        self.within(rounded) as u32
    }

    /// So many statements have ended in this time, while transactions waited.
    pub fn note(&mut self, ended: u64, time: Duration) {
        if !self.looks.is_multiple_of(LOOKS) {
            let tried = match self.is_above() {
                true => &mut self.above,
                false => &mut self.below,
            };
            tried.add(ended, time);
        }
        self.looks += 1;
        if self.looks == 2 * LOOKS * TRIES {
            self.decide();
            self.pause();
        }
    }

    /// Discards what has been measured, because no transaction waits.
    pub fn pause(&mut self) {
        self.looks = 0;
        self.above = Throughput::default();
        self.below = Throughput::default();
    }

    fn is_above(&self) -> bool {
        (self.looks / LOOKS).is_multiple_of(2)
    }

    fn decide(&mut self) {
        let (above, below) = (self.above.rate(), self.below.rate());
        if above <= 0.0 || below <= 0.0 {
            return;
        }
        let worth = (above / below).ln() / (REACH * REACH).ln();
        let factor = match worth {
            _ if worth >= LEAP_WORTH => LEAP,
            _ if worth >= WORTH => STEP,
            _ if worth < IDLE => 1.0 / STEP,
            _ => 1.0,
        };
        self.limit = self.within(self.limit * factor);
    }

    fn within(&self, limit: f64) -> f64 {
        limit.clamp(f64::from(self.bounds.0), f64::from(self.bounds.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean limit at the end of the search, for a throughput by running statements. `noise` is a ratio.
    fn settled(throughput: impl Fn(f64) -> f64, noise: f64) -> f64 {
        let mut climb = Climb::new(2, 1000);
        let mut chance = 7u64;
        let mut sum = 0.0;
        let looks = 100 * 2 * LOOKS * TRIES;
        for look in 0..looks {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let part = (chance >> 11) as f64 / (1u64 << 53) as f64;
            let ended = throughput(f64::from(climb.limit())) * 0.1;
            let seen = ended * (1.0 + noise * (part - 0.5) * 2.0);
            climb.note(seen as u64, Duration::from_millis(100));
            if look >= looks / 2 {
                sum += climb.limit;
            }
        }
        sum / f64::from(looks / 2)
    }

    /// The throughput of a server that runs `cores` statements at once, and loses some for each statement above that.
    fn server(cores: f64, loss: f64) -> impl Fn(f64) -> f64 {
        move |running| 10_000.0 * running.min(cores) / (1.0 + loss * (running - cores).max(0.0))
    }

    #[test]
    fn the_limit_goes_to_where_the_throughput_grows_no_more() {
        for cores in [4.0, 16.0, 64.0, 300.0] {
            for (loss, noise) in [(0.0, 0.0), (0.005, 0.0), (0.005, 0.03), (0.0, 0.03)] {
                let found = settled(server(cores, loss), noise);
                let is_near = found > cores * 0.8 && found < cores * 1.6;
                assert!(is_near, "{cores} cores, {loss}, {noise}: {found}");
            }
        }
    }

    #[test]
    fn the_limit_approaches_its_maximum_if_throughput_grows_with_it() {
        assert!(settled(|running| 100.0 * running, 0.03) > 900.0);
    }

    #[test]
    fn the_limit_stays_within_its_bounds() {
        let mut climb = Climb::new(8, 8);
        assert_eq!(climb.limit(), 8);
        for _ in 0..100 {
            climb.note(1, Duration::from_millis(100));
            assert_eq!(climb.limit(), 8);
        }
        climb.set_bounds(20, 10);
        assert_eq!(climb.limit(), 10);
    }
}
