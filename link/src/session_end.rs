//! How a session ended well, and how a client is told that its login has not.

use std::fmt;
use std::time::Duration;

use tokio::time::timeout;
use wire::errors;

use crate::failure::{Failure, FailureKind};
use crate::packets::PacketStream;

/// How long a client may take to accept the ERR that ends its session.
pub const TIMEOUT_TELL: Duration = Duration::from_secs(1);

/// How a session ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// The client said COM_QUIT.
    Quit,
    /// The client closed between two exchanges.
    ClientClosed,
    /// The backend closed between two exchanges (`wait_timeout`, KILL, shutdown).
    BackendClosed,
    /// The proxy stops.
    Drained,
    /// It has read a binary log, and the role of its backend is another one now.
    RoleChanged,
}

impl fmt::Display for SessionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quit => "the client quit",
            Self::ClientClosed => "the client closed the connection",
            Self::BackendClosed => "the backend closed the connection",
            Self::Drained => "the proxy stops",
            Self::RoleChanged => "the backend's role has changed",
        })
    }
}

/// The client has taken longer to log in than `limit`.
pub fn late(limit: Duration) -> Failure {
    let error = errors::login_timeout(format_args!("{limit:?}"));
    Failure::saying(FailureKind::LoginTimeout, error)
}

/// The client's connection broke with the last packet of its login.
pub fn lost_at_login() -> Failure {
    Failure::new(
        FailureKind::LoginAbandoned,
        "the connection to the client was lost at the end of the login",
    )
}

/// Tells the client what ended its login, if it listens.
pub async fn send_error(client: &mut PacketStream, failure: &Failure, with_sqlstate: bool) {
    if let Some(payload) = failure.err_payload(with_sqlstate) {
        let _ = timeout(TIMEOUT_TELL, client.finish_with(&payload)).await;
    }
}
