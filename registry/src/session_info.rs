//! Who a session is. A session writes this when it changes, never for a statement.

use std::sync::Arc;
use std::time::Duration;

use auth::AccountId;
use config::{ListenerConfig, SessionMode};
use net::Endpoint;
use route::Moment;

/// One session's.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// What the proxy calls it: the id that its client sees, where that is the proxy's own.
    pub id: u32,
    /// The client's address.
    pub client: Endpoint,
    /// The listener that the client has connected to.
    pub listener: Arc<ListenerConfig>,
    /// When the client connected.
    pub began: Moment,
    /// Empty before its login.
    pub user: Box<str>,
    /// The schema that its login named.
    pub schema: Box<str>,
    /// How the session is served.
    pub kind: SessionKind,
    /// The id of the one backend connection that it has for good; 0 without.
    pub thread_id: u32,
    /// How long its transactions may be idle, if its account says so.
    pub timeout_idle_transaction: Option<Duration>,
    /// The account that a pooled one has logged in to.
    pub account: Option<AccountId>,
}

/// How a session is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// It has not logged in yet.
    Login,
    /// Its login was answered here, and it keeps connections for so long.
    Pooled(SessionMode),
    /// It has a backend connection of its own.
    Relayed,
    /// It has one, and the kernel passes the bytes.
    Joined,
    /// It runs a script.
    Scripted,
}

impl SessionKind {
    /// As people are told it.
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
