//! Settings of the digests' history.

use std::path::PathBuf;
use std::time::Duration;

use super::{Config, DAY, SECOND};
use crate::Traits;
use crate::define::settings;

settings! {
    /// The cost of digests from interval to interval: the table `digest_history`. See [The history of
    /// digests](insight.md#digest_history).
    pub struct HistoryConfig in Config [history], "History of digests" {
        /// SQLite file that keeps it over restarts; without one it is kept in 16 MiB of memory. Its folder
        /// must be there.
        file: Option<PathBuf> = None, Traits::RELOAD;

        /// How much time a row is about.
        interval: Duration = Duration::from_secs(60), Traits::RELOAD.within(SECOND, DAY);

        /// How long rows are kept.
        retention: Duration = Duration::from_secs(7 * 86_400),
            Traits::RELOAD.within(60 * SECOND, 3660 * DAY);

        /// So many digests have rows of their own in each interval, those that took the longest in all; the
        /// others have one together.
        digests_max: usize = 200, Traits::RELOAD.within(1, 100_000);

        /// The file grows no larger than that: the oldest rows make room.
        bytes_max: u64 = 256 << 20, Traits::RELOAD.within(1 << 20, 1 << 50);
    }
}
