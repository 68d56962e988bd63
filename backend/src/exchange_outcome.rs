//! How an exchange with a backend has ended.

use std::fmt;

use crate::connection_error::ConnectionError;
use crate::own_reply::OwnReply;
use registry::session_control::Ask;
use session::{Fingerprint, Outcome, Tally};
use wire::StatusFlags;

/// The flags that say something of the session; the others say something of one reply.
pub const LASTING: StatusFlags = StatusFlags(
    StatusFlags::IN_TRANS.0
        | StatusFlags::AUTOCOMMIT.0
        | StatusFlags::NO_BACKSLASH_ESCAPES.0
        | StatusFlags::IN_TRANS_READONLY.0
        | StatusFlags::ANSI_QUOTES.0,
);

/// A reply that has ended.
#[derive(Debug)]
pub struct Done {
    /// Whether it was an ERR.
    pub outcome: Outcome,
    /// What was counted in it.
    pub tally: Tally,
    /// The id of a packet that would follow.
    pub next_sequence: u8,
    /// Of a reply that may have to be compared with another.
    pub fingerprint: Option<Fingerprint>,
    /// What the error says that it ended with.
    pub message: Option<Box<[u8]>>,
}

impl Done {
    /// The proxy has said the reply itself.
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

/// A cut, and how far the command and its reply had come.
#[derive(Debug)]
pub struct ExchangeError {
    /// Why.
    pub cut: Cut,
    /// How far they had come.
    pub reached: Reached,
    /// The id of an ERR that would fit; `None` within a packet.
    pub sequence: Option<u8>,
}

/// How far a command, or its reply, had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// No byte of the command has left.
    Nobody,
    /// The backend may have it.
    Backend,
    /// The client has had some of the reply.
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

    /// The connection that was held is gone.
    pub fn no_connection() -> Self {
        Self::unsent(ConnectionError::Unexpected("no connection").into())
    }

    /// The command was sent; nothing of its reply has come.
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
    /// The backend's side broke.
    Backend(ConnectionError),
    /// The client has gone.
    Client(String),
    /// The worker wants the session to end.
    Asked(Ask),
    /// The connection did not become what the session needs.
    RestoreFailed(RestoreFailed),
    /// The server takes no writes, and has refused a read with this ERR payload. The client has not heard it.
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

/// A connection that did not become what its session needs.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct RestoreFailed {
    /// Why, for the log.
    pub cause: String,
    /// The backend's own ERR payload.
    pub error: Option<Vec<u8>>,
    /// What it did not become.
    pub lack: Lack,
}

/// What a connection did not become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Equal to the session in its state.
    State,
    /// In the session's schema, which is not there, or not for this account: it is in order otherwise.
    Schema,
    /// Up to date, in the time given: it is in order otherwise.
    Position,
    /// In the session's transaction: the server has refused to begin it.
    Transaction,
}

impl RestoreFailed {
    /// The backend has refused to change it.
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

    /// Nothing behind it was sent.
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

    /// Only a reset would help.
    pub fn reset() -> Self {
        Self {
            cause: "it would have to be reset, and its statements with it".to_owned(),
            error: None,
            lack: Lack::State,
        }
    }

    /// It lacks writes that the session has to see.
    pub fn behind() -> Self {
        Self {
            cause: "it has not yet what was written before".to_owned(),
            error: None,
            lack: Lack::Position,
        }
    }
}
