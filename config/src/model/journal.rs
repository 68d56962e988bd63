//! Settings of the logs of statements and of logins.

use std::path::PathBuf;
use std::time::Duration;

use super::units::{DAY, MS};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// Slow statements of pooled sessions, each with where its time went. See [Logs of statements and
    /// logins](journals.md).
    pub struct SlowLogConfig in [slow_log], "Slow log" {
        /// File to append to; no slow log unless given. Its folder must be there.
        file: Option<PathBuf> = None, Traits::RELOAD;

        /// How an entry looks.
        format: StatementFormat = StatementFormat::Mysql, Traits::RELOAD;

        /// Statements that take so long or longer, from their arrival to the end of the reply, are written.
        threshold: Duration = Duration::from_secs(1),
            Traits::RELOAD.within(MS, DAY).nothing("all");

        /// One of so many of them is written, by chance.
        sample_one_in: u32 = 1, Traits::RELOAD.within(1, 1_000_000_000);

        /// Whether statements are written as they were said, with their values, and not as digests.
        include_values: bool = false, Traits::RELOAD;
    }
}

settings! {
    /// Statements of pooled sessions, all or a sample of them. See [Logs of statements and
    /// logins](journals.md).
    pub struct QueryLogConfig in [query_log], "Query log" {
        /// File to append to; no query log unless given. Its folder must be there.
        file: Option<PathBuf> = None, Traits::RELOAD;

        /// How an entry looks.
        format: StatementFormat = StatementFormat::Json, Traits::RELOAD;

        /// One of so many statements is written, by chance.
        sample_one_in: u32 = 1, Traits::RELOAD.within(1, 1_000_000_000);

        /// So many are written in a second at most, over all workers; each has an even share.
        per_second_max: u32 = 0, Traits::RELOAD.within(1, 1_000_000_000).nothing("no limit");

        /// Whether statements are written as they were said, with their values, and not as digests.
        include_values: bool = false, Traits::RELOAD;
    }
}

settings! {
    /// Logins, good and failed, ends of sessions, and what administrators do, one JSON object a line. See
    /// [Logs of statements and logins](journals.md).
    pub struct AuditLogConfig in [audit_log], "Audit log" {
        /// File to append to; no audit log unless given. Its folder must be there.
        file: Option<PathBuf> = None, Traits::RELOAD;
    }
}

choices! {
    /// How a log of statements looks.
    pub enum StatementFormat {
        /// One JSON object a line.
        Json = "json",
        /// As the servers' slow logs, for programs that read these.
        Mysql = "mysql",
    }
}
