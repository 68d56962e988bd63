//! The events that a tracker reports for passed bytes, and the errors that end its connection.

use wire::{Command, Malformed, StatusFlags};

use crate::reply::Outcome;

/// An event that the tracker found in passed bytes. The events of one direction do not depend on how the bytes
/// were split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The first byte of a command has passed.
    CommandBegun(Command),
    /// The last byte of a command has passed.
    CommandEnded(Command),
    /// One result of several ended.
    ResultEnded(StatusFlags),
    /// The last byte of a reply has passed: the exchange is over.
    ReplyEnded {
        /// The command that was answered.
        command: Command,
        /// How the reply ended.
        outcome: Outcome,
    },
    /// The backend asks for a file of the client.
    LocalInfile,
    /// The backend sent a reply without a command: usually an ERR before it closes the connection.
    Unsolicited(Outcome),
    /// The tracker can no longer follow the connection. Bytes are still relayed.
    Lost(LostReason),
}

/// Why a tracker gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LostReason {
    /// A command that hands the connection to another protocol (COM_CLONE and the like).
    #[error("{0} goes on in another protocol")]
    ForeignProtocol(Command),
    /// A reply of an unknown shape.
    #[error("the shape of the reply to {0} is not known")]
    UnknownReply(Command),
    /// The backend sent a reply without a command, and it was no ERR.
    #[error("the backend spoke without being asked, and it was no error")]
    UnknownUnsolicited,
    /// Commands were sent behind a command whose reply takes the client's bytes for something else.
    #[error("commands were sent behind {0}, whose reply may ask the client for bytes")]
    PipelinedBehindDialogue(Command),
}

/// A breach of the protocol after which the connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A sequence id that does not follow.
    #[error("packet out of order: sequence id {found} where {expected} belongs")]
    Sequence {
        /// The id that belongs there.
        expected: u8,
        /// The id that came.
        found: u8,
    },
    /// A payload beyond the configured limit.
    #[error("payload longer than the limit of {limit} bytes")]
    PayloadTooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// A payload that lacks a part.
    #[error("malformed packet, {0}")]
    Malformed(#[from] Malformed),
}
