//! How an exchange with a backend has ended.

use std::fmt;

use crate::connection_error::ConnectionError;
use crate::own_reply::OwnReply;
use registry::session_control::Ask;
use session::{Fingerprint, Outcome, Tally};
use wire::StatusFlags;

/// The flags that describe the session; the other flags describe one reply.
pub const LASTING: StatusFlags = StatusFlags(
    StatusFlags::IN_TRANS.0
        | StatusFlags::AUTOCOMMIT.0
        | StatusFlags::NO_BACKSLASH_ESCAPES.0
        | StatusFlags::IN_TRANS_READONLY.0
        | StatusFlags::ANSI_QUOTES.0,
);

/// An exchange whose reply has ended.
#[derive(Debug)]
pub struct Done {
    /// Whether the reply was an ERR.
    pub outcome: Outcome,
    /// The counts and flags of the reply.
    pub tally: Tally,
    /// The sequence id that the next packet would have.
    pub next_sequence: u8,
    /// The fingerprint of a reply that may have to be compared with another one.
    pub fingerprint: Option<Fingerprint>,
    /// The text of the error with which the reply ended.
    pub message: Option<Box<[u8]>>,
}

impl Done {
    /// An exchange that the proxy has answered itself.
    pub fn answered_by_proxy() -> Self {
        Self {
            outcome: Outcome::Ok,
            tally: Tally::default(),
            next_sequence: 0,
            fingerprint: None,
            message: None,
        }
    }
}

/// A failed exchange, and how far the command and its reply had come.
#[derive(Debug)]
pub struct ExchangeError {
    /// Why it failed.
    pub cut: Cut,
    /// How far the command and its reply had come.
    pub reached: Reached,
    /// The sequence id that an ERR to the client would have; `None` within a packet.
    pub sequence: Option<u8>,
}

/// How far a command, or its reply, had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// No byte of the command was sent.
    Nobody,
    /// The backend may have received the command.
    Backend,
    /// The client has received a part of the reply.
    Client,
}

impl ExchangeError {
    /// The command has not been sent.
    pub fn unsent(cut: Cut) -> Self {
        Self {
            cut,
            reached: Reached::Nobody,
            sequence: None,
        }
    }

    /// The session's connection is gone.
    pub fn no_connection() -> Self {
        Self::unsent(ConnectionError::Unexpected("no connection").into())
    }

    /// The command was sent, and no byte of its reply has arrived.
    pub fn unanswered(cut: Cut) -> Self {
        Self {
            reached: Reached::Backend,
            ..Self::unsent(cut)
        }
    }
}

/// Why an exchange did not end as it should.
#[derive(Debug)]
pub enum Cut {
    /// The connection to the backend broke.
    Backend(ConnectionError),
    /// The client has disconnected.
    Client(String),
    /// The worker wants the session to end.
    Asked(Ask),
    /// The connection could not be brought into the state that the session needs.
    RestoreFailed(RestoreFailed),
    /// The server takes no writes, and has refused a read with this ERR payload. The client has not received it.
    Refused(Box<[u8]>),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backend(broken) => broken.fmt(f),
            Self::Client(how) => write!(f, "the client left: {how}"),
            Self::Asked(_) => f.write_str("it is to end"),
            Self::RestoreFailed(unequal) => unequal.fmt(f),
            Self::Refused(_) => f.write_str("the server takes no writes"),
        }
    }
}

impl From<ConnectionError> for Cut {
    fn from(broken: ConnectionError) -> Self {
        Self::Backend(broken)
    }
}

/// The connection could not be brought into the state that its session needs.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct RestoreFailed {
    /// Why, for the log.
    pub cause: String,
    /// The backend's own ERR payload.
    pub error: Option<Vec<u8>>,
    /// The requirement that the connection does not meet.
    pub lack: Lack,
}

/// A requirement of the session that a connection does not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// The state of the session.
    State,
    /// The session's schema, which does not exist or is denied to this account. Otherwise the connection works.
    Schema,
    /// The writes that the session has to see did not arrive in time. Otherwise the connection works.
    Position,
    /// The session's transaction: the server has refused to begin it.
    Transaction,
}

impl RestoreFailed {
    /// The backend has refused to change the connection's state.
    pub fn refused(own: &OwnReply) -> Self {
        let cause = own.error().map(|err| {
            format!(
                "error {}: {}",
                err.number,
                String::from_utf8_lossy(err.text)
            )
        });
        Self {
            cause: cause.unwrap_or_default(),
            error: Some(own.first_payload().to_vec()),
            lack: Lack::State,
        }
    }

    /// The backend has refused the schema; nothing after that statement was sent.
    pub fn without_schema(own: &OwnReply) -> Self {
        Self {
            lack: Lack::Schema,
            ..Self::refused(own)
        }
    }

    /// The server has refused the BEGIN in front of the statement.
    pub fn begin_refused(own: &OwnReply) -> Self {
        Self {
            lack: Lack::Transaction,
            ..Self::refused(own)
        }
    }

    /// The connection's state can only be restored by a reset.
    pub fn reset() -> Self {
        Self {
            cause: "it would have to be reset, and its statements with it".to_owned(),
            error: None,
            lack: Lack::State,
        }
    }

    /// The connection lacks writes that the session has to see.
    pub fn behind() -> Self {
        Self {
            cause: "it has not yet what was written before".to_owned(),
            error: None,
            lack: Lack::Position,
        }
    }
}
