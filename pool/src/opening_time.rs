//! How long it takes to open a connection.

use std::time::Duration;

/// How long an opening takes, by the last ones.
#[derive(Debug, Default)]
pub(crate) struct OpeningTime(Option<Duration>);

impl OpeningTime {
    /// An opening took so long; it counts for a quarter of the estimate.
    pub(crate) fn learn(&mut self, took: Duration) {
        self.0 = Some(match self.0 {
            Some(known) => (known * 3 + took) / 4,
            None => took,
        });
    }

    /// How long the last openings took; zero before the first.
    pub(crate) fn estimate(&self) -> Duration {
        self.0.unwrap_or_default()
    }
}
