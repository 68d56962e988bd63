//! Why a connection to a backend cannot be used any more.

use std::io;

/// Why a connection cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The backend has closed the connection.
    #[error("it closed the connection")]
    Closed,
    /// An administrator has disabled the backend.
    #[error("an administrator has disabled it")]
    Disabled,
    /// The server has ended the connection with an error that answers no command.
    #[error("it ended the connection with error {0}")]
    Farewell(u16),
    /// The account has reached one of its limits at the backend; the backend's ERR.
    #[error("its account has reached one of its limits")]
    Limited(Box<[u8]>),
    /// Reading or writing has failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The packets come in an order that the protocol does not allow.
    #[error("it broke the protocol: {0}")]
    Protocol(#[from] session::Violation),
    /// A packet lacks something that it must contain.
    #[error("it broke the protocol: {0}")]
    Malformed(#[from] wire::Malformed),
    /// The backend does something that no server does.
    #[error("it broke the protocol: {0}")]
    Unexpected(&'static str),
}
