//! What a client wants.

pub mod reading;
pub mod unknown;

use route::KillScope;
use stats::StatsTable;

use crate::table::Schema;

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// A result of this statement, which SQLite reads.
    Query(String),
    /// The warnings of the statement before it.
    Warnings,
    /// How many there were.
    WarningCount,
    /// Another schema to begin with.
    Use(Schema),
    /// Figures of the whole proxy are counted from nothing.
    ResetStatus,
    /// A change of a table's rows, which SQLite reads.
    Change(String),
    /// A change of these settings.
    Set(Vec<(String, Option<String>)>),
    /// What comes is gathered until its end.
    Begin,
    /// All that was gathered takes effect.
    Commit,
    /// Nothing of it does.
    Rollback,
    /// What is not as in the file.
    Changes,
    /// The file is to say what holds.
    Save,
    /// What the file says is to hold.
    Revert,
    /// Nothing that would change anything here: what clients say of their session.
    Nothing,
    /// An end of a session, or of its statement.
    Kill(u32, KillScope),
    /// What is kept about statements is to be counted from nothing again.
    Reset(StatsTable),
    /// Plans and indexes are to be asked for again.
    ResetIndexUsage,
    /// Failed logins of hosts are to be forgotten: no host is blocked any more.
    FlushHosts,
    /// Files of logs are to be opened again.
    FlushLogs,
}

impl Statement {
    /// Whether it changes something of the proxy's; ends of sessions apart.
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

    /// What the audit log says of it: no value, however it was written.
    pub fn audited(&self, text: &str) -> String {
        let Self::Set(settings) = self else {
            let digest = sql::digest(text.as_bytes(), sql::Flags::default());
            return String::from_utf8_lossy(digest.text()).into_owned();
        };
        let settings = settings.iter().map(|(name, _)| format!("{name} = ?"));
        format!("SET GLOBAL {}", settings.collect::<Vec<_>>().join(", "))
    }
}
