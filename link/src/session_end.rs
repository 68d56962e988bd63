//! The proper ends of a session, and the error to a client whose login has failed.

use std::fmt;
use std::time::Duration;

use tokio::time::timeout;
use wire::errors;

use crate::failure::{Failure, FailureKind};
use crate::packets::PacketStream;

/// How long a client may take to accept the ERR that ends its session.
pub const TIMEOUT_TELL: Duration = Duration::from_secs(1);

/// How a session ended properly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// The client sent COM_QUIT.
    Quit,
    /// The client closed between two exchanges.
    ClientClosed,
    /// The backend closed between two exchanges (`wait_timeout`, KILL, shutdown).
    BackendClosed,
    /// The proxy stops.
    Drained,
    /// The session has read a binary log, and the role of its backend has changed.
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

/// The failure if the client has taken longer than `limit` to log in.
pub fn late(limit: Duration) -> Failure {
    let error = errors::login_timeout(format_args!("{limit:?}"));
    Failure::saying(FailureKind::LoginTimeout, error)
}

/// The failure if the client's connection broke with the last packet of the login.
pub fn lost_at_login() -> Failure {
    Failure::new(
        FailureKind::LoginAbandoned,
        "the connection to the client was lost at the end of the login",
    )
}

/// Sends the client the error that ended its login, if the client still reads.
pub async fn send_error(client: &mut PacketStream, failure: &Failure, with_sqlstate: bool) {
    if let Some(payload) = failure.err_payload(with_sqlstate) {
        let _ = timeout(TIMEOUT_TELL, client.finish_with(&payload)).await;
    }
}
