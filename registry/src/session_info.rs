//! The description of a session. A session writes it when it changes, never for a statement.

use std::sync::Arc;
use std::time::Duration;

use auth::AccountId;
use config::{ListenerConfig, SessionMode};
use net::Endpoint;
use route::Moment;

/// The description of one session.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// The session's id in the proxy: the id that the client sees, if the proxy has given it.
    pub id: u32,
    /// The client's address.
    pub client: Endpoint,
    /// The listener that the client has connected to.
    pub listener: Arc<ListenerConfig>,
    /// When the client connected.
    pub began: Moment,
    /// The user; empty before the login.
    pub user: Box<str>,
    /// The schema that the login named.
    pub schema: Box<str>,
    /// How the session is served.
    pub kind: SessionKind,
    /// The id of the session's permanent backend connection; 0 if it has none.
    pub thread_id: u32,
    /// How long the session's transactions may be idle, if its account sets a limit.
    pub timeout_idle_transaction: Option<Duration>,
    /// The account of a pooled session.
    pub account: Option<AccountId>,
}

/// How a session is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// The session has not logged in yet.
    Login,
    /// The proxy has answered the login; the session keeps connections by this mode.
    Pooled(SessionMode),
    /// The session has a backend connection of its own.
    Relayed,
    /// The session has a backend connection of its own, and the kernel passes the bytes on.
    Joined,
    /// The session runs a script.
    Scripted,
}

impl SessionKind {
    /// The name that the admin interface shows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Pooled(mode) => mode.name(),
            Self::Relayed => SessionMode::Transparent.name(),
            Self::Joined => SessionMode::Kernel.name(),
            Self::Scripted => "script",
        }
    }
}
