//! The errors that end a stream, with texts for a log line and for the table `replication`.

use binlog::EventError;
use control::ClientError;

/// The reason why a stream ended.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The server cannot be reached or refuses a statement, or the connection broke.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// The server has sent a damaged or unknown event.
    #[error("{event}: {cause}")]
    Event {
        /// The event's type and position.
        event: String,
        /// The fault of the event.
        cause: EventError,
    },
    /// The server has ended the stream with an error.
    #[error("the server ended the stream: error {number}: {text}")]
    Refused {
        /// The server's error number.
        number: u16,
        /// The server's error message.
        text: String,
    },
    /// Another replica with the same id has replaced the proxy at the server.
    #[error(
        "another replica or proxy with the same server_id or server_uuid has connected to the server, so the server ended \
         this stream ({0}). Give each its own server_id, and each proxy its own schema history. The proxy waits longer \
         each time, so that the two do not end each other's streams without end"
    )]
    Displaced(String),
    /// The server has deleted the next transactions.
    #[error("{0}")]
    Purged(Purged),
    /// The server has ended the stream without an error.
    #[error("the server ended the stream")]
    Ended,
    /// The server has sent events out of order.
    #[error("the server does not keep to the order of its log: {0}")]
    Disorder(String),
    /// The server cannot be followed.
    #[error("{0}")]
    Unfit(String),
    /// The server sent nothing, not even a heartbeat.
    #[error("the server has sent nothing for {0} s, not even a heartbeat")]
    Silent(u64),
    /// The database of the history cannot be written.
    #[error("the schema history cannot be written: {0}")]
    Store(#[from] rusqlite::Error),
    /// The relay files cannot be read or written.
    #[error("{0}")]
    Relay(#[from] crate::relay::RelayError),
    /// An event cannot be filtered.
    #[error("{0}")]
    Filter(#[from] crate::filter::error::FilterError),
    /// The stream must follow another server of the cluster now.
    #[error("the stream goes on from {0}")]
    Moved(String),
}

/// Transactions that a server has deleted before the stream has received them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server has deleted binary logs that the stream needs; missing: {missing}. Let the proxy follow a server that \
     still has them, or set on_purged = \"continue\" to leave them out{detail}"
)]
pub struct Purged {
    /// The missing transactions, as far as the server reports them.
    pub missing: String,
    /// The server's message in parentheses, or an empty text.
    pub detail: String,
}

impl StreamError {
    /// The label of the error in metrics and log lines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Client(_) => "connection",
            Self::Event { .. } => "event",
            Self::Refused { .. } => "refused",
            Self::Displaced(_) => "displaced",
            Self::Purged(_) => "purged",
            Self::Ended => "ended",
            Self::Disorder(_) => "disorder",
            Self::Unfit(_) => "unfit",
            Self::Silent(_) => "silent",
            Self::Store(_) => "store",
            Self::Relay(_) => "relay",
            Self::Filter(_) => "filter",
            Self::Moved(_) => "moved",
        }
    }
}
