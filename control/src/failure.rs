//! Why a backend counts as down, in words for a log line and for the clients told of it.

use std::io;
use std::time::Duration;

use wire::{ErrPacket, Malformed};

/// Why a probe of a backend, or a question to it, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// No connection, or the connection broke.
    #[error("{0}")]
    Io(String),
    /// The server accepted the connection and sent no greeting: it is stopped, or overloaded.
    #[error("no greeting within {0:?}")]
    NoGreeting(Duration),
    /// The server greeted and then did not answer.
    #[error("no answer within {0:?}")]
    NoAnswer(Duration),
    /// The server closed before it had sent the item.
    #[error("it closed without {0}")]
    Closed(&'static str),
    /// Something else listens there, or speaks another protocol.
    #[error("it is no MySQL server: {0}")]
    NotMysql(String),
    /// The server refuses connections from this host, or the statement.
    #[error("it refused with error {number}: {}", printable(.text.as_bytes()))]
    Refused {
        /// The server's error number.
        number: u16,
        /// The server's text, as sent.
        text: String,
    },
    /// The server refuses the monitor account; the server's text.
    #[error("it refuses the monitor account: {0}")]
    AccountRefused(String),
    /// The server asks for the monitor account's password in full, over a connection without TLS.
    #[error("{0}")]
    NotPrivate(auth::NotPrivate),
    /// TLS is required and could not be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// The backend's name has no address.
    #[error("cannot resolve {host}: {reason}")]
    Unresolved {
        /// The host name.
        host: String,
        /// The resolver's error.
        reason: String,
    },
}

/// An error that a server answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Its number.
    pub number: u16,
    /// The server's text, as sent.
    pub message: String,
}

impl ServerError {
    /// The error in an ERR packet.
    pub(crate) fn of(err: &ErrPacket<'_>) -> Self {
        Self {
            number: err.number,
            message: String::from_utf8_lossy(err.text).into_owned(),
        }
    }
}

/// The longest text of a server's error that is repeated, in characters; MySQL's own limit is 512
/// bytes.
const TEXT_CHARACTERS_MAX: usize = 512;

/// Errors that mean a missing privilege, or an account that may do nothing until its password is changed.
const NOT_ALLOWED: [u16; 4] = [
    1045, // ER_ACCESS_DENIED_ERROR
    1142, // ER_TABLEACCESS_DENIED_ERROR
    1227, // ER_SPECIFIC_ACCESS_DENIED_ERROR
    1820, // ER_MUST_CHANGE_PASSWORD
];

impl Failure {
    /// Whether the monitor account is the cause, and not the server's state.
    pub(crate) fn is_missing_privilege(&self) -> bool {
        match self {
            Failure::AccountRefused(_) => true,
            Failure::Refused { number, .. } => NOT_ALLOWED.contains(number),
            _ => false,
        }
    }

    /// Whether the server has reached its limit of connections. A server that answers so is well.
    pub(crate) fn is_full(&self) -> bool {
        const CON_COUNT_ERROR: u16 = 1040;
        matches!(self, Failure::Refused { number, .. } if *number == CON_COUNT_ERROR)
    }

    /// The failure that an ERR packet means.
    pub(crate) fn refused(err: &ErrPacket<'_>) -> Failure {
        Failure::Refused {
            number: err.number,
            text: String::from_utf8_lossy(err.text).into_owned(),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(words(&error))
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Failure {
        Failure::NotMysql(malformed.to_string())
    }
}

/// A server's text as one line for a log.
pub(crate) fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let printable = |character: char| match character.is_control() {
        true => ' ',
        false => character,
    };
    text.chars()
        .take(TEXT_CHARACTERS_MAX)
        .map(printable)
        .collect()
}

/// The text of an error of the operating system, without the number at its end.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
