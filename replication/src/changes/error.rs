//! The errors that end a reader of changes, or keep it from beginning.

use crate::position::Position;
use crate::relay::ReadError;

/// Why a reader of changes cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefusal {
    /// The stream does not exist.
    #[error("{0}")]
    NoStream(String),
    /// The stream has no relay file yet.
    #[error(
        "the stream of cluster \"{0}\" has not begun to keep transactions yet: the proxy has not reached the server. Try \
         again"
    )]
    NotBegun(String),
    /// The text is not a valid position.
    #[error("from = \"{text}\" is no position of the cluster's servers: {reason}")]
    BadPosition {
        /// The text of the request.
        text: String,
        /// The reason why it is invalid.
        reason: String,
    },
    /// The relay files no longer contain the next transactions.
    #[error(
        "the relay files do not hold all transactions behind this position any more. The missing ones are {missing}. Read \
         the tables anew, and go on with from=now, or with from=oldest if that is enough. relay_bytes_max and \
         relay_age_max say how long transactions stay"
    )]
    Deleted {
        /// The missing transactions.
        missing: Position,
    },
    /// The position has transactions that the relay files lack.
    #[error(
        "the position has transactions that the relay files do not have yet: {0}. Wait until SHOW REPLICATION shows them, \
         or use a position of this cluster"
    )]
    Ahead(Position),
    /// The maximum number of readers is reached.
    #[error("{0} clients read changes already (http.change_readers_max)")]
    TooMany(usize),
    /// A thread cannot be started, or the history cannot be opened.
    #[error("changes cannot be read: {0}")]
    System(String),
}

/// Why a stream of changes ends.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The reader has disconnected, or the sink must end.
    #[error("nobody reads the changes any more")]
    Gone,
    /// The relay files cannot be read.
    #[error(transparent)]
    Relay(#[from] ReadError),
    /// An event is damaged.
    #[error("an event of the relay files is damaged: {0}")]
    Event(#[from] binlog::EventError),
    /// The history cannot be read.
    #[error("the schema history cannot be read: {0}")]
    History(#[from] rusqlite::Error),
    /// A table's columns have no names.
    #[error(
        "the names and signs of the columns of table {0} are not known: the server does not send them \
         (binlog_row_metadata), and the schema history has no definition at this position that fits. Set \
         binlog_row_metadata = FULL on the server; take the table out of `tables`; or go on from `next_position`, which \
         leaves this transaction out"
    )]
    UnknownColumns(String),
    /// The reader cannot begin, or cannot find its place again after the stream's settings have changed.
    #[error("{0}")]
    Refused(#[from] ChangeRefusal),
    /// The file that gets the changes cannot be written.
    #[error("{target} cannot be written: {error}")]
    Io {
        /// The path of the file.
        target: String,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// Kafka does not take the changes.
    #[error("{0}")]
    Kafka(String),
    /// Another process writes the file.
    #[error("another proxy or stream writes {0}")]
    InUse(String),
}

impl ChangeError {
    /// The name of the error, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Relay(ReadError::Deleted) => "deleted",
            Self::Relay(_) | Self::Event(_) => "damaged",
            Self::History(_) => "history",
            Self::UnknownColumns(_) => "unknown_columns",
            Self::Refused(ChangeRefusal::Deleted { .. }) => "deleted",
            Self::Refused(_) => "refused",
            Self::Io { .. } => "file",
            Self::Kafka(_) => "kafka",
            Self::InUse(_) => "in_use",
        }
    }
}
