//! The statements of the admin port.

pub mod reading;
pub mod unknown;

use route::KillScope;
use stats::StatsTable;

use crate::table::Schema;

/// A statement of the admin port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// A query that SQLite runs.
    Query(String),
    /// SHOW WARNINGS: the warnings of the statement before it.
    Warnings,
    /// The number of those warnings.
    WarningCount,
    /// USE: another default schema.
    Use(Schema),
    /// FLUSH STATUS: reset the proxy's counts.
    ResetStatus,
    /// INSERT, UPDATE or DELETE, which SQLite runs.
    Change(String),
    /// SET of these settings.
    Set(Vec<(String, Option<String>)>),
    /// BEGIN: gather changes until COMMIT.
    Begin,
    /// COMMIT: apply the gathered changes.
    Commit,
    /// ROLLBACK: drop the gathered changes.
    Rollback,
    /// SHOW CHANGES: the differences from the file.
    Changes,
    /// SAVE: write the configuration to the file.
    Save,
    /// REVERT: apply the file's configuration again.
    Revert,
    /// A statement without effect here: clients set up their session with it.
    Nothing,
    /// KILL of a session, or of its statement.
    Kill(u32, KillScope),
    /// RESET of a table of statement statistics.
    Reset(StatsTable),
    /// RESET of plans and indexes, which are then asked for again.
    ResetIndexUsage,
    /// FLUSH HOSTS: forget hosts' failed logins, so that no host is blocked any more.
    FlushHosts,
    /// FLUSH LOGS: close the log files and open them again.
    FlushLogs,
}

impl Statement {
    /// Whether the statement changes something in the proxy; KILL does not count.
    pub fn changes_the_proxy(&self) -> bool {
        matches!(
            self,
            Self::Reset(_)
                | Self::ResetIndexUsage
                | Self::ResetStatus
                | Self::FlushLogs
                | Self::FlushHosts
                | Self::Change(_)
                | Self::Set(_)
                | Self::Commit
                | Self::Save
                | Self::Revert
        )
    }

    /// The text of the statement for the audit log, without values.
    pub fn audited(&self, text: &str) -> String {
        let Self::Set(settings) = self else {
            let digest = sql::digest(text.as_bytes(), sql::Flags::default());
            return String::from_utf8_lossy(digest.text()).into_owned();
        };
        let settings = settings.iter().map(|(name, _)| format!("{name} = ?"));
        format!("SET GLOBAL {}", settings.collect::<Vec<_>>().join(", "))
    }
}
