//! Why a script cannot run for a session.

use std::fmt;

use wire::errors::{self, ProxyError};

/// Why a script cannot run for a session, with the text for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFault {
    /// The script cannot be read, or does not parse.
    Unreadable(String),
    /// The script's body has raised an error.
    Raised(String),
}

impl SessionFault {
    /// The error for the client.
    pub fn client_error(&self) -> ProxyError {
        match self {
            Self::Unreadable(_) => errors::script_not_loaded(),
            Self::Raised(_) => errors::script_not_run(),
        }
    }
}

impl fmt::Display for SessionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unreadable(text) | Self::Raised(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for SessionFault {}
