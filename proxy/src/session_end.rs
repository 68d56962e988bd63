//! How a session ended well.

use std::fmt;

/// How a session ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The client said COM_QUIT.
    Quit,
    /// The client closed between two exchanges.
    ClientClosed,
    /// The backend closed between two exchanges (`wait_timeout`, KILL, shutdown).
    BackendClosed,
    /// The proxy stops.
    Drained,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quit => "the client quit",
            Self::ClientClosed => "the client closed the connection",
            Self::BackendClosed => "the backend closed the connection",
            Self::Drained => "the proxy stops",
        })
    }
}
