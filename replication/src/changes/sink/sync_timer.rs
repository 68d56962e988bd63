//! When a sink has to sync: a while after it has got something, together with what comes in that while.

use std::time::Duration;

use net::clock;
use tokio::time::Instant;

/// How long something may wait.
const DELAY: Duration = Duration::from_secs(1);

/// Since when something waits.
#[derive(Debug, Default)]
pub struct SyncTimer {
    since: Option<Instant>,
}

impl SyncTimer {
    /// Something waits from now on, if nothing has waited.
    pub fn begin(&mut self) {
        self.since.get_or_insert_with(clock::now);
    }

    /// Nothing waits any more.
    pub fn clear(&mut self) {
        self.since = None;
    }

    /// In how long it is due; none if nothing waits.
    pub fn due(&self) -> Option<Duration> {
        let since = self.since?;
        Some(DELAY.saturating_sub(since.elapsed()))
    }
}
