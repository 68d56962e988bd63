//! What is logged, how and where.

use std::path::PathBuf;
use std::time::Duration;

use super::units::{DAY, MS};
use crate::Traits;
use crate::define::{choices, settings};

settings! {
    /// The level, format and place of the log.
    pub struct LogConfig in [log], "Log" {
        /// The least important lines that are written. MySQL Proxy's names are read as well.
        level: LogLevel = LogLevel::Info, Traits::RELOAD;

        /// How a line looks.
        format: LogFormat = LogFormat::Text, Traits::RESTART;

        /// File to append to; standard error unless given. A reload opens it again.
        file: Option<PathBuf> = None, Traits::RESTART;

        /// Statements of pooled sessions that take so long or longer are recorded: what they were, where
        /// they went, and why. Sessions that have begun keep what held then.
        slow_statements: Duration = Duration::ZERO,
            Traits::RELOAD.within(MS, DAY).nothing("none");

        /// Statements of pooled sessions that end with an error are recorded.
        failed_statements: bool = false, Traits::RELOAD;

        /// One of so many statements of pooled sessions is recorded, by chance.
        sample_one_in: u32 = 0, Traits::RELOAD.within(1, 1_000_000_000).nothing("none");
    }
}

choices! {
    /// How important a log line is, the most important first.
    pub enum LogLevel {
        /// Something failed for a client or the proxy.
        Error = "error" also "critical",
        /// Something will fail unless an operator acts.
        Warning = "warning" also "warn",
        /// What an operator wants to know.
        Info = "info" also "message",
        /// What a developer wants to know.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

choices! {
    /// How a log line looks.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}
