//! Limits of statements per second: a token bucket for each key, stored as the moment at which it is full
//! again (the generic cell rate algorithm, ITU-T I.371).

use std::collections::HashMap;
use std::time::Duration;

use config::OnLimit;

use super::actions::Limit;
use super::judge::Limited;
use crate::Moment;

/// The most keys with a bucket of their own; further keys share one bucket for each rule.
pub const KEYS_MAX: usize = 10_000;

/// The time between two sweeps, which remove full buckets.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// The buckets of all rules.
#[derive(Debug, Default)]
pub struct Rates {
    /// The moment at which each bucket is full again.
    full_at: HashMap<u64, Moment>,
    /// The next sweep is not before this moment.
    next_sweep: Moment,
}

/// When a statement may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// At once.
    Now,
    /// After this time; its token is reserved.
    After(Duration),
    /// Not at all: the limit is reached, and the statement may not wait, or not that long.
    Refused,
}

impl Rates {
    /// Asks whether a statement may be sent, and takes a token unless it is refused. A limit without a rate
    /// admits all statements.
    pub fn admit(&mut self, limited: &Limited<'_>, now: Moment) -> Admission {
        let Some(rate) = limited.limit.rate else {
            return Admission::Now;
        };
        let key = self.bucket(limited, now);
        let full_at = self.full_at.get(&key).map_or(now, |it| (*it).max(now));
        let interval = interval(rate);
        let turn = admit(limited.limit, interval, full_at.since(now));
        if turn != Admission::Refused {
            self.full_at.insert(key, full_at + interval);
        }
        turn
    }

    /// How many buckets are kept.
    pub fn len(&self) -> usize {
        self.full_at.len()
    }

    /// Whether no bucket is kept.
    pub fn is_empty(&self) -> bool {
        self.full_at.is_empty()
    }

    /// Returns the key of the statement's own bucket, or of the rule's shared one if there are too many.
    fn bucket(&mut self, limited: &Limited<'_>, now: Moment) -> u64 {
        let is_known = self.full_at.contains_key(&limited.key);
        if is_known || self.full_at.len() < KEYS_MAX {
            return limited.key;
        }
        if now >= self.next_sweep {
            self.next_sweep = now + SWEEP_INTERVAL;
            // A full bucket means the same as a missing one.
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        match self.full_at.len() < KEYS_MAX {
            true => limited.key,
            false => limited.strangers_key,
        }
    }
}

fn admit(limit: &Limit, interval: Duration, missing: Duration) -> Admission {
    let tolerance = interval.saturating_mul(limit.burst.saturating_sub(1));
    let wait = missing.saturating_sub(tolerance);
    if wait.is_zero() {
        Admission::Now
    } else if limit.on_limit == OnLimit::Queue && wait <= limit.timeout {
        Admission::After(wait)
    } else {
        Admission::Refused
    }
}

/// Returns the time between two tokens.
fn interval(rate: f64) -> Duration {
    const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    Duration::try_from_secs_f64(1.0 / rate)
        .unwrap_or(LONGEST)
        .clamp(Duration::from_nanos(1), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::LimitBy;

    fn limit(rate: f64, burst: u32, on_limit: OnLimit) -> Limit {
        Limit {
            rate: Some(rate),
            burst,
            concurrency: None,
            by: LimitBy::Digest,
            on_limit,
            timeout: Duration::from_secs(1),
        }
    }

    fn limited(limit: &Limit, key: u64) -> Limited<'_> {
        Limited {
            limit,
            key,
            strangers_key: u64::MAX,
        }
    }

    fn at(milliseconds: u64) -> Moment {
        Moment(Duration::from_millis(milliseconds))
    }

    #[test]
    fn a_burst_goes_at_once_and_then_one_for_each_interval() {
        let limit = limit(10.0, 3, OnLimit::Refuse);
        let one = limited(&limit, 1);
        let mut rates = Rates::default();
        let turns: Vec<_> = (0..4).map(|_| rates.admit(&one, at(0))).collect();
        assert_eq!(
            turns,
            [
                Admission::Now,
                Admission::Now,
                Admission::Now,
                Admission::Refused
            ]
        );
        assert_eq!(rates.admit(&one, at(99)), Admission::Refused);
        assert_eq!(rates.admit(&one, at(100)), Admission::Now);
        assert_eq!(rates.admit(&one, at(100)), Admission::Refused);
        // Another key has its own bucket.
        assert_eq!(rates.admit(&limited(&limit, 2), at(100)), Admission::Now);
    }

    #[test]
    fn a_waiting_statement_keeps_its_place_until_its_time_limit() {
        let limit = limit(10.0, 1, OnLimit::Queue);
        let one = limited(&limit, 1);
        let mut rates = Rates::default();
        let turns: Vec<_> = (0..13).map(|_| rates.admit(&one, at(0))).collect();
        assert_eq!(turns[0], Admission::Now);
        for (place, turn) in (1..=10).zip(&turns[1..]) {
            assert_eq!(*turn, Admission::After(Duration::from_millis(100 * place)));
        }
        assert_eq!(turns[11..], [Admission::Refused; 2]);
    }

    #[test]
    fn in_the_long_run_the_rate_holds() {
        for rate in [0.5, 3.0, 1000.0] {
            let limit = limit(rate, 5, OnLimit::Refuse);
            let one = limited(&limit, 1);
            let mut rates = Rates::default();
            let seconds = 20;
            let went = (0..seconds * 10_000u64).filter(|tick| {
                let now = Moment(Duration::from_micros(tick * 100));
                rates.admit(&one, now) == Admission::Now
            });
            let (went, most) = (went.count() as f64, 5.0 + rate * seconds as f64);
            assert!(
                went <= most && went >= most - 6.0,
                "{went} of {most} at {rate}"
            );
        }
    }

    #[test]
    fn too_many_keys_share_a_bucket_and_full_ones_are_forgotten() {
        let limit = limit(1.0, 1, OnLimit::Refuse);
        let mut rates = Rates::default();
        for key in 0..KEYS_MAX as u64 {
            assert_eq!(rates.admit(&limited(&limit, key), at(0)), Admission::Now);
        }
        assert_eq!(rates.admit(&limited(&limit, 20_000), at(0)), Admission::Now);
        assert_eq!(
            rates.admit(&limited(&limit, 20_001), at(0)),
            Admission::Refused
        );
        assert_eq!(rates.len(), KEYS_MAX + 1);
        assert_eq!(
            rates.admit(&limited(&limit, 20_001), at(1500)),
            Admission::Now
        );
        assert_eq!(rates.len(), 1);
    }
}
