//! Why a connection to a backend is of no use any more.

use std::io;

/// Why a connection is of no use any more.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The other side has closed it.
    #[error("it closed the connection")]
    Closed,
    /// Its backend was disabled.
    #[error("an administrator has disabled it")]
    Disabled,
    /// The server has ended it with an error that answers nothing.
    #[error("it ended the connection with error {0}")]
    Farewell(u16),
    /// The account has reached one of its limits there; the backend's ERR.
    #[error("its account has reached one of its limits")]
    Limited(Box<[u8]>),
    /// Reading or writing has failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Its packets are in no order that the protocol knows.
    #[error("it broke the protocol: {0}")]
    Protocol(#[from] session::Violation),
    /// A packet does not hold what it must.
    #[error("it broke the protocol: {0}")]
    Malformed(#[from] wire::Malformed),
    /// It does what no server does.
    #[error("it broke the protocol: {0}")]
    Unexpected(&'static str),
}
