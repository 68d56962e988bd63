//! The replication state of a backend: its lag and its position at the control plane's last probe. They
//! change all the time, so the snapshot does not contain them but points to a shared cell.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use crate::Position;

/// The control plane writes it a few times a second; workers read it if a statement depends on it.
/// There is no lock, and readers do not contend. It outlives snapshots and reloads.
#[derive(Debug)]
pub struct Standing {
    /// Milliseconds, or `UNKNOWN` or `STOPPED`.
    lag: AtomicU64,
    /// The time of one answer, in nanoseconds; 0 while unknown.
    latency: AtomicU64,
    /// Milliseconds that a replica may lag to come back, or [`UNKNOWN`] while it is not left out.
    lag_return: AtomicU64,
    /// Raised whenever the backend may have lost transactions that it had before.
    era: AtomicU32,
    position: ArcSwapOption<Position>,
}

const UNKNOWN: u64 = u64::MAX;
const STOPPED: u64 = u64::MAX - 1;

/// The lag of a replica behind its primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Lag {
    /// Not yet asked, or the account may not read it. An unknown lag exceeds no limit.
    #[default]
    Unknown,
    /// The lag, in whole seconds as the servers count.
    Behind(Duration),
    /// Its replication does not run, so its lag grows without end.
    Stopped,
}

impl Lag {
    /// Whether the lag is more than `max`; false if there is no limit.
    pub fn exceeds(self, max: Option<Duration>) -> bool {
        match (self, max) {
            (_, None) | (Lag::Unknown, _) => false,
            (Lag::Behind(behind), Some(max)) => behind > max,
            (Lag::Stopped, Some(_)) => true,
        }
    }
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lag::Unknown => f.write_str("has a lag that is not known"),
            Lag::Behind(Duration::ZERO) => f.write_str("does not lag"),
            Lag::Behind(behind) => write!(f, "lags {behind:?}"),
            Lag::Stopped => f.write_str("has stopped replicating"),
        }
    }
}

impl Default for Standing {
    /// Nothing is known.
    fn default() -> Standing {
        Standing {
            lag: AtomicU64::new(UNKNOWN),
            latency: AtomicU64::new(0),
            lag_return: AtomicU64::new(UNKNOWN),
            era: AtomicU32::new(0),
            position: ArcSwapOption::empty(),
        }
    }
}

impl Standing {
    /// The lag as last seen.
    pub fn lag(&self) -> Lag {
        match self.lag.load(Ordering::Relaxed) {
            UNKNOWN => Lag::Unknown,
            STOPPED => Lag::Stopped,
            milliseconds => Lag::Behind(Duration::from_millis(milliseconds)),
        }
    }

    /// The largest lag at which a replica that is left out may come back; none if the replica is not
    /// left out.
    pub fn lag_return(&self) -> Option<Duration> {
        match self.lag_return.load(Ordering::Relaxed) {
            UNKNOWN => None,
            milliseconds => Some(Duration::from_millis(milliseconds)),
        }
    }

    /// The time of its last answer to the control plane, on a connection that was already open.
    pub fn latency(&self) -> Option<Duration> {
        match self.latency.load(Ordering::Relaxed) {
            0 => None,
            nanoseconds => Some(Duration::from_nanos(nanoseconds)),
        }
    }

    /// Grows whenever the backend may have lost transactions. Positions that were seen before are then invalid.
    pub fn era(&self) -> u32 {
        self.era.load(Ordering::Acquire)
    }

    /// Whether the backend is known to have all transactions of `wanted`.
    pub fn has(&self, wanted: &Position) -> bool {
        let position = self.position.load();
        position.as_ref().is_some_and(|it| it.contains(wanted))
    }

    /// The last seen position, if it is known.
    pub fn position(&self) -> Option<Arc<Position>> {
        self.position.load_full()
    }

    /// For the control plane: sets the lag.
    pub fn set_lag(&self, lag: Lag) {
        let milliseconds = match lag {
            Lag::Unknown => UNKNOWN,
            Lag::Stopped => STOPPED,
            Lag::Behind(behind) => u64::try_from(behind.as_millis()).map_or(STOPPED - 1, |it| {
                // Far longer than anything lives.
                it.min(STOPPED - 1)
            }),
        };
        self.lag.store(milliseconds, Ordering::Relaxed);
    }

    /// For the control plane, after each new lag: a replica that exceeds `max` is left out until its lag
    /// is at most `back`.
    pub fn limit_lag(&self, max: Option<Duration>, back: Duration) {
        let lag = self.lag();
        let stays_out = max.is_some() && lag.exceeds(self.lag_return());
        let milliseconds = match lag.exceeds(max) || stays_out {
            true => u64::try_from(back.as_millis()).map_or(UNKNOWN - 1, |it| it.min(UNKNOWN - 1)),
            false => UNKNOWN,
        };
        self.lag_return.store(milliseconds, Ordering::Relaxed);
    }

    /// Whether the replica is left out because of its lag, with `max` as the limit.
    pub fn is_lagging(&self, max: Option<Duration>) -> bool {
        let lag = self.lag();
        lag.exceeds(max) || max.is_some() && lag.exceeds(self.lag_return())
    }

    /// For the control plane: sets the time of the last answer.
    pub fn set_latency(&self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.latency.store(nanoseconds.max(1), Ordering::Relaxed);
    }

    /// For the control plane: sets the position, or none if it is no longer known. If the new position lacks
    /// transactions of the one before, a new era begins.
    pub fn set_position(&self, position: Option<Position>) {
        let before = self.position.load();
        let is_same = before.as_deref() == position.as_ref();
        if is_same {
            return;
        }
        let has_less = match (before.as_ref(), &position) {
            (Some(before), Some(now)) => !now.contains(before),
            (Some(_), None) | (None, _) => true,
        };
        if has_less {
            self.era.fetch_add(1, Ordering::Release);
        }
        self.position.store(position.map(Arc::new));
    }

    /// For the control plane: forgets everything, because the server that comes back may be another one.
    pub fn forget(&self) {
        self.set_lag(Lag::Unknown);
        self.lag_return.store(UNKNOWN, Ordering::Relaxed);
        self.position.store(None);
        self.era.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(text: &str) -> Option<Position> {
        Position::parse_any(text.as_bytes()).ok()
    }

    fn has(standing: &Standing, text: &str) -> bool {
        position(text).is_some_and(|wanted| standing.has(&wanted))
    }

    #[test]
    fn a_lag_is_compared_with_its_limit() {
        let second = Duration::from_secs(1);
        let behind = |seconds| Lag::Behind(Duration::from_secs(seconds));
        for lag in [Lag::Unknown, Lag::Stopped, behind(0), behind(7)] {
            assert!(!lag.exceeds(None));
            let standing = Standing::default();
            standing.set_lag(lag);
            assert_eq!(standing.lag(), lag);
        }
        assert!(!Lag::Unknown.exceeds(Some(second)) && !behind(1).exceeds(Some(second)));
        assert!(Lag::Stopped.exceeds(Some(second)) && behind(2).exceeds(Some(second)));
    }

    #[test]
    fn a_lag_that_swings_around_its_limit_does_not_bring_a_replica_back() {
        let (max, back) = (Some(Duration::from_secs(5)), Duration::from_secs(4));
        let standing = Standing::default();
        let mut left_out = |lag| {
            standing.set_lag(lag);
            standing.limit_lag(max, back);
            standing.is_lagging(max)
        };
        let behind = |seconds| Lag::Behind(Duration::from_secs(seconds));
        let lags = [5, 6, 5, 6, 5, 4, 5, 6].map(behind).map(&mut left_out);
        assert_eq!(
            lags,
            [false, true, true, true, true, false, false, true],
            "5 is allowed to one that has come back, not to one that is out"
        );
        assert!(!left_out(Lag::Unknown) && !left_out(behind(5)));
        assert!(left_out(Lag::Stopped) && left_out(behind(5)) && !left_out(behind(0)));
        // Without a limit no replica is left out, and a replica that was left out returns.
        assert!(left_out(behind(6)) && !standing.is_lagging(None));
        standing.limit_lag(None, back);
        assert_eq!(standing.lag_return(), None);
    }

    #[test]
    fn a_backends_position_is_the_last_observed_one() {
        let standing = Standing::default();
        assert!(!has(&standing, "0-1-1"));
        standing.set_position(position("0-1-7"));
        assert!(has(&standing, "0-1-7") && !has(&standing, "0-1-8"));
        standing.set_position(None);
        assert!(!has(&standing, "0-1-7"));
    }

    #[test]
    fn a_position_that_goes_back_begins_another_era() {
        let standing = Standing::default();
        standing.set_position(position("0-1-7"));
        let era = standing.era();
        standing.set_position(position("0-1-7"));
        standing.set_position(position("0-1-8,1-1-1"));
        assert_eq!(standing.era(), era);
        standing.set_position(position("0-1-8"));
        assert_ne!(standing.era(), era);
        let era = standing.era();
        standing.forget();
        assert_ne!(standing.era(), era);
        assert!(!has(&standing, "0-1-7"));
    }
}
