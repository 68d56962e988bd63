//! The errors of a relay log, for its writer and its readers.

use std::io;
use std::path::PathBuf;

use binlog::FileError;

use crate::position::Position;

/// The reason why the relay files cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// An operation of the operating system fails.
    #[error("the relay file {file} cannot be {what}: {error}", file = file.display())]
    Io {
        /// Which file or folder.
        file: PathBuf,
        /// The operation that failed.
        what: &'static str,
        /// The system's words.
        error: io::Error,
    },
    /// Another process or stream uses the folder.
    #[error("another proxy or stream writes into the relay folder {}", .0.display())]
    InUse(PathBuf),
    /// A file is damaged at a place that cannot be repaired.
    #[error("the relay file {file}: {error}", file = file.display())]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// The fault, and its place.
        error: FileError,
    },
    /// A file was not written by the proxy.
    #[error(
        "the file {} is no relay file: {what}. Empty the folder to begin the relay anew",
        file.display()
    )]
    Strange {
        /// Which file.
        file: PathBuf,
        /// The difference to a relay file.
        what: &'static str,
    },
    /// The relay lacks transactions that the stream has processed.
    #[error(
        "the relay files lack transactions that the stream has had: {missing}. Empty the folder {} to begin the relay \
         anew; replicas must then be as far as the stream",
        folder.display()
    )]
    Behind {
        /// The folder.
        folder: PathBuf,
        /// The missing transactions.
        missing: Position,
    },
    /// The server's events cannot be stored.
    #[error("{0}")]
    Unfit(&'static str),
}

/// The reason why a replica gets no more events.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The relay has deleted the next file.
    #[error("the relay files that hold the next transactions are deleted")]
    Deleted,
    /// The system refuses something.
    #[error("a relay file cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A file is damaged.
    #[error("a relay file is damaged: {0}")]
    Damaged(#[from] binlog::EventError),
}
