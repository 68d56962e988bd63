//! Settings of what is kept about statements: figures by digest, their history, and what `pilotfish plan` reads.

use std::path::PathBuf;
use std::time::Duration;

use super::units::{DAY, MS, SECOND};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// Figures about statements that the admin port shows, their history, and what is kept for `pilotfish plan`. The
    /// proxy counts only if the admin port or the HTTP port is open. See
    /// [Digests, slow statements, errors](insight.md).
    pub struct StatementStatsConfig in [statement_stats], "Statement statistics" {
        /// Whether statements are counted by digest, schema, account and backend, and errors by number,
        /// account and backend.
        digests: bool = true, Traits::RELOAD;

        /// Whether statements of sessions that are not pooled are seen as well: by digest, one by one, and as
        /// the figures of the whole. It costs them the reading of their text, and two looks at the clock.
        transparent: bool = false, Traits::RELOAD;

        /// Memory for what is counted by digest, over all workers. Each has an even share. Digests that were
        /// not seen for the longest time make room. From then on they are counted together.
        digests_bytes_max: u64 = 64 << 20, Traits::RELOAD.within(1 << 20, 1 << 40);

        /// Statements that take so long or longer, from their arrival to the end of the reply, are kept one by
        /// one.
        slow_statements: Duration = Duration::from_secs(1),
            Traits::RELOAD.within(MS, DAY).nothing("none");

        /// How many of these each worker keeps: the latest.
        slow_statements_max: usize = 1000, Traits::RELOAD.within(1, 100_000);

        /// Whether values may be seen: a sample of each digest, slow statements as they were said, messages
        /// of errors with what they quote. Without it only digests are.
        include_values: bool = false, Traits::RELOAD;

        /// Whether the proxy asks servers by EXPLAIN how they run the SELECT, UPDATE and DELETE of pooled
        /// sessions. It asks for each digest once in a while. The answers show which indexes are used and
        /// which tables are read whole. No statement runs for that. See [Index usage](index-usage.md).
        index_usage: bool = false, Traits::RELOAD;

        /// How much time there is at least between two EXPLAIN of one digest in one schema.
        explain_interval: Duration = Duration::from_secs(600),
            Traits::RELOAD.within(SECOND, DAY);

        /// No more statements than these are explained within a second. Each worker has an even share, at
        /// least one.
        explains_per_second_max: u32 = 10, Traits::RELOAD.within(1, 1000);

        /// The place where the cost of digests and the load of the proxy are kept from interval to interval: the tables
        /// `digest_history` and `load_history`. See [The history of digests](insight.md#digest_history).
        history: HistoryStorage = HistoryStorage::File, Traits::RELOAD;

        /// SQLite file that keeps the history over restarts. Its folder must be there. Without this setting the file
        /// is `history.db` in the state directory that the service manager has made (`STATE_DIRECTORY`); without a
        /// state directory the history is kept in memory.
        history_file: Option<PathBuf> = None, Traits::RELOAD;

        /// The time of one row of `digest_history`.
        history_interval: Duration = Duration::from_secs(60), Traits::RELOAD.within(SECOND, DAY);

        /// The time of one row of `load_history`.
        history_load_interval: Duration = Duration::from_secs(10), Traits::RELOAD.within(SECOND, DAY);

        /// How long rows of the history are kept.
        history_retention: Duration = Duration::from_secs(7 * 86_400),
            Traits::RELOAD.within(60 * SECOND, 3660 * DAY);

        /// So many digests have rows of their own in each interval, those that took the longest in all; the
        /// others have one together.
        history_digests_max: usize = 200, Traits::RELOAD.within(1, 100_000);

        /// The file of the history grows no larger than that: the oldest rows make room. In memory the history has no
        /// more than 64 MiB.
        history_bytes_max: u64 = 256 << 20, Traits::RELOAD.within(1 << 20, 1 << 50);

        /// File to which digests that were seen of late are written, from time to time and at the end, for
        /// `pilotfish plan`; nothing is written unless it is given. Only pooled sessions' statements are seen. See
        /// [Explaining](explain.md).
        plan_file: Option<PathBuf> = None, Traits::RELOAD;

        /// How many digests each worker keeps for `plan_file`, of each account and schema for itself; those seen
        /// last stay.
        plan_digests_max: u32 = 1000, Traits::RELOAD.within(1, 100_000);

        /// Time between two writings of `plan_file`, give or take five seconds.
        plan_interval: Duration = Duration::from_secs(60), Traits::RELOAD.within(SECOND, DAY);
    }
}

choices! {
    /// The place where the history is kept.
    pub enum HistoryStorage {
        /// A file: `history_file`, or `history.db` in the state directory. Without both it is memory.
        File = "file",
        /// Memory. A restart of the proxy loses the history.
        Memory = "memory",
    }
}
