//! Why a backend counts as down, in words for a log line and for the clients told of it.

use std::io;
use std::time::Duration;

use wire::{ErrPacket, Malformed};

/// What a look at a backend met.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// No connection, or it broke.
    #[error("{0}")]
    Io(String),
    /// It accepted and said nothing: stopped, or overloaded.
    #[error("no greeting within {0:?}")]
    NoGreeting(Duration),
    /// It greeted and then said nothing.
    #[error("no answer within {0:?}")]
    NoAnswer(Duration),
    /// It closed in the middle of what it was to say.
    #[error("it closed without {0}")]
    Closed(&'static str),
    /// Something else listens there, or speaks another protocol.
    #[error("it is no MySQL server: {0}")]
    NotMysql(String),
    /// It takes nobody from here.
    #[error("it refused with error {number}: {}", printable(.text.as_bytes()))]
    Refused {
        /// The server's error number.
        number: u16,
        /// Its words, as it sent them.
        text: String,
    },
    /// It will not have the monitor account; its words.
    #[error("it refuses the monitor account: {0}")]
    AccountRefused(String),
    /// It wants the monitor account's password in full, over a connection in clear.
    #[error("{0}")]
    NotPrivate(auth::NotPrivate),
    /// TLS is demanded and did not come about.
    #[error("TLS: {0}")]
    Tls(String),
    /// Its name has no address.
    #[error("cannot resolve {host}: {reason}")]
    Unresolved {
        /// The name.
        host: String,
        /// The resolver's words.
        reason: String,
    },
}

/// An error that a server has answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// Its number.
    pub number: u16,
    /// The server's words, as it sent them.
    pub message: String,
}

impl ServerError {
    /// What an ERR packet says.
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

/// Errors for want of a privilege, or of an account that may do anything.
const NOT_ALLOWED: [u16; 4] = [
    1045, // ER_ACCESS_DENIED_ERROR
    1142, // ER_TABLEACCESS_DENIED_ERROR
    1227, // ER_SPECIFIC_ACCESS_DENIED_ERROR
    1820, // ER_MUST_CHANGE_PASSWORD
];

impl Failure {
    /// Is the monitor account the cause, and not the server's state?
    pub(crate) fn is_missing_privilege(&self) -> bool {
        match self {
            Failure::AccountRefused(_) => true,
            Failure::Refused { number, .. } => NOT_ALLOWED.contains(number),
            _ => false,
        }
    }

    /// Has the server as many connections as it takes? It is well then.
    pub(crate) fn is_full(&self) -> bool {
        const CON_COUNT_ERROR: u16 = 1040;
        matches!(self, Failure::Refused { number, .. } if *number == CON_COUNT_ERROR)
    }

    /// What an ERR packet says.
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

/// An error of the operating system without its number, which says nothing more.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
