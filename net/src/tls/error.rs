//! Why no TLS configuration could be made.

use std::io;
use std::path::PathBuf;

/// Why no TLS configuration could be made. An error about a file names the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// The kernel's reason.
        cause: io::Error,
    },
    /// The file does not contain what it must contain.
    #[error("{}: {reason}", path.display())]
    Faulty {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key are each valid but do not belong together, or are of an unknown kind.
    #[error("certificate {} and key {}: {reason}", certificate.display(), key.display())]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong with them.
        reason: String,
    },
    /// The system has no certificates to trust, and no CA file is given.
    #[error("no CA file is given and the system's certificates cannot be used: {0}")]
    NoSystemRoots(String),
    /// The cryptographic library fails to make a certificate or a ticket's key.
    #[error("cannot make keys for TLS: {0}")]
    NoKeys(String),
}
