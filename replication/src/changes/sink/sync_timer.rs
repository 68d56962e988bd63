//! Decides when a sink syncs: a second after new data, so that one sync covers the data of that second.

use std::time::Duration;

use net::clock;
use tokio::time::Instant;

/// How long data may wait for a sync.
const DELAY: Duration = Duration::from_secs(1);

/// The time since which data waits.
#[derive(Debug, Default)]
pub struct SyncTimer {
    since: Option<Instant>,
}

impl SyncTimer {
    /// Starts the timer, unless data waits already.
    pub fn begin(&mut self) {
        self.since.get_or_insert_with(clock::now);
    }

    /// Stops the timer after a sync.
    pub fn clear(&mut self) {
        self.since = None;
    }

    /// Returns the time until the sync is due; none if no data waits.
    pub fn due(&self) -> Option<Duration> {
        let since = self.since?;
        Some(DELAY.saturating_sub(since.elapsed()))
    }
}
