//! The limits of one key in one worker, and how long its connections live.

use std::time::Duration;

/// The limits of one key in one worker. A limit that spans workers is a [`ConnectionLimit`](crate::ConnectionLimit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of connections, in any state.
    pub connections_max: u32,
    /// Connections kept idle and ready, opened ahead of need.
    pub idle_min: u32,
    /// Idle connections at most; further ones are closed when they come back.
    pub idle_max: u32,
    /// A session that finds no idle connection waits until one comes back. It waits as long as opening a connection
    /// takes, and no longer than this; then it opens one. Zero: it opens one at once.
    pub open_wait_max: Duration,
    /// Waiters at most; later sessions are refused.
    pub waiters_max: usize,
    /// A connection older than this is closed as soon as no session has it.
    pub age_max: Option<Duration>,
    /// Each connection's [`age_max`](Self::age_max) is shortened by a random part of this, so that
    /// connections opened together do not end together.
    pub age_jitter: Duration,
    /// A connection unused for this long is closed, down to [`idle_min`](Self::idle_min).
    pub idle_time_max: Option<Duration>,
    /// An idle connection is pinged when it was neither used nor pinged for this long.
    pub ping_interval: Option<Duration>,
    /// The maximum number of idle connections that a request compares, the most recently used first.
    pub compared_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections_max: 100,
            idle_min: 0,
            idle_max: 100,
            open_wait_max: Duration::from_millis(20),
            waiters_max: usize::MAX,
            age_max: Some(Duration::from_secs(3600)),
            age_jitter: Duration::from_secs(360),
            idle_time_max: Some(Duration::from_secs(300)),
            ping_interval: Some(Duration::from_secs(30)),
            compared_max: 16,
        }
    }
}

impl Limits {
    /// When a connection opened `now` is too old; `chance` is any even random number.
    pub(crate) fn expiry(&self, now: Duration, chance: u64) -> Option<Duration> {
        let most = u64::try_from(self.age_jitter.as_nanos()).unwrap_or(u64::MAX);
        let part = (u128::from(most) * u128::from(chance)) >> 64;
        let jitter = Duration::from_nanos(part as u64);
        self.age_max
            .map(|age| now.saturating_add(age.saturating_sub(jitter)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_shortens_a_life_by_no_more_than_itself() {
        let limits = Limits {
            age_max: Some(Duration::from_secs(100)),
            age_jitter: Duration::from_secs(10),
            ..Limits::default()
        };
        let expiry = |chance| limits.expiry(Duration::from_secs(1), chance).unwrap();
        assert_eq!(expiry(0), Duration::from_secs(101));
        assert_eq!(expiry(1 << 63), Duration::from_secs(96));
        assert!(expiry(u64::MAX) >= Duration::from_secs(91));
    }
}
