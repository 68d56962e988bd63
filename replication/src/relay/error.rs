//! The faults of a relay log, for its writer and for those who read it.

use std::io;
use std::path::PathBuf;

use binlog::FileError;

use crate::position::Position;

/// Why the relay files cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The system refuses something.
    #[error("the relay file {file} cannot be {what}: {error}", file = file.display())]
    Io {
        /// Which file or folder.
        file: PathBuf,
        /// What was tried.
        what: &'static str,
        /// The system's words.
        error: io::Error,
    },
    /// Another process or stream writes there.
    #[error("another proxy or stream writes into the relay folder {}", .0.display())]
    InUse(PathBuf),
    /// A file is damaged where it cannot be repaired.
    #[error("the relay file {file}: {error}", file = file.display())]
    Damaged {
        /// Which file.
        file: PathBuf,
        /// What is wrong, and where.
        error: FileError,
    },
    /// A file is not as the proxy writes it.
    #[error(
        "the file {} is no relay file: {what}. Empty the folder to begin the relay anew",
        file.display()
    )]
    Strange {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The stream has had transactions that the relay has not.
    #[error(
        "the relay files lack transactions that the stream has had: {missing}. Empty the folder {} to begin the relay \
         anew; replicas must then be as far as the stream",
        folder.display()
    )]
    Behind {
        /// The folder.
        folder: PathBuf,
        /// What is missing.
        missing: Position,
    },
    /// The server's events cannot be kept.
    #[error("{0}")]
    Unfit(&'static str),
}

/// Why a replica cannot be fed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The relay has deleted what comes next.
    #[error("the relay files that hold the next transactions are deleted")]
    Deleted,
    /// The system refuses something.
    #[error("a relay file cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A file is damaged.
    #[error("a relay file is damaged: {0}")]
    Damaged(#[from] binlog::EventError),
}
