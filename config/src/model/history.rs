//! Settings of the history: what digests have cost, and the load of the proxy.

use std::path::PathBuf;
use std::time::Duration;

use super::{Config, DAY, SECOND};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// The cost of digests and the load of the proxy, from interval to interval: the tables `digest_history` and
    /// `load_history`. See [The history of digests](insight.md#digest_history).
    pub struct HistoryConfig in Config [history], "History" {
        /// The place where the history is kept.
        place: HistoryPlace = HistoryPlace::File, Traits::RELOAD;

        /// SQLite file that keeps the history over restarts. Its folder must be there. Without this setting the file
        /// is `history.db` in the state directory that the service manager has made (`STATE_DIRECTORY`); without a
        /// state directory the history is kept in memory.
        file: Option<PathBuf> = None, Traits::RELOAD;

        /// The time of one row of `digest_history`.
        interval: Duration = Duration::from_secs(60), Traits::RELOAD.within(SECOND, DAY);

        /// The time of one row of `load_history`.
        load_interval: Duration = Duration::from_secs(10), Traits::RELOAD.within(SECOND, DAY);

        /// How long rows are kept.
        retention: Duration = Duration::from_secs(7 * 86_400),
            Traits::RELOAD.within(60 * SECOND, 3660 * DAY);

        /// So many digests have rows of their own in each interval, those that took the longest in all; the
        /// others have one together.
        digests_max: usize = 200, Traits::RELOAD.within(1, 100_000);

        /// The file grows no larger than that: the oldest rows make room. In memory the history has no more than 64
        /// MiB.
        bytes_max: u64 = 256 << 20, Traits::RELOAD.within(1 << 20, 1 << 50);
    }
}

choices! {
    /// The place where the history is kept.
    pub enum HistoryPlace {
        /// A file: `history.file`, or `history.db` in the state directory. Without both it is memory.
        File = "file",
        /// Memory. A restart of the proxy loses the history.
        Memory = "memory",
    }
}
