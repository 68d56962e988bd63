//! Why a stream has ended, in words for a log line and for the table `replication`.

use binlog::EventError;
use control::ClientError;

/// Why a stream cannot go on as it is.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The server cannot be reached, refuses something, or the connection broke.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// The server has sent an event that is damaged, or one that is not known here.
    #[error("{event}: {cause}")]
    Event {
        /// Which event it is.
        event: String,
        /// What is wrong with it.
        cause: EventError,
    },
    /// The server has ended the stream with an error.
    #[error("the server ended the stream: error {number}: {text}")]
    Refused {
        /// The server's error number.
        number: u16,
        /// Its words.
        text: String,
    },
    /// The server has given the proxy's place to another replica.
    #[error(
        "another replica or proxy with the same server_id or server_uuid has connected to the server, so the server ended \
         this stream ({0}). Give each its own server_id, and each proxy its own schema history. The proxy waits longer \
         each time, so that the two do not end each other's streams without end"
    )]
    Displaced(String),
    /// The server does not have the next transactions any more.
    #[error("{0}")]
    Purged(Purged),
    /// The server has ended the stream without an error.
    #[error("the server ended the stream")]
    Ended,
    /// The server does not keep to the order of its own log.
    #[error("the server does not keep to the order of its log: {0}")]
    Disorder(String),
    /// The server cannot be followed.
    #[error("{0}")]
    Unfit(String),
    /// Nothing came, not even a heartbeat.
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
    /// Another server of the cluster is the one to follow now.
    #[error("the stream goes on from {0}")]
    Moved(String),
}

/// Transactions that a server has deleted before the stream could have them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server has deleted binary logs that the stream needs; missing: {missing}. Let the proxy follow a server that \
     still has them, or set on_purged = \"continue\" to leave them out{detail}"
)]
pub struct Purged {
    /// The set, as far as the server tells.
    pub missing: String,
    /// The server's own words, in parentheses; or nothing.
    pub detail: String,
}

impl StreamError {
    /// What a counter of errors calls it.
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
