//! Who a session is, for whoever looks at all of them: written when that changes, never for a statement.

use std::sync::Arc;

use config::{ListenerConfig, SessionMode};
use net::Endpoint;
use route::Moment;

/// One session's.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    /// What the proxy calls it: the id that its client sees, where that is the proxy's own.
    pub id: u32,
    pub client: Endpoint,
    pub listener: Arc<ListenerConfig>,
    pub began: Moment,
    /// Empty before its login.
    pub user: Box<str>,
    /// The schema that its login named.
    pub schema: Box<str>,
    pub way: Way,
    /// The id of the one backend connection that it has for good; 0 without.
    pub thread_id: u32,
}

/// How a session is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It has not logged in yet.
    Login,
    /// Its login was answered here, and it keeps connections for so long.
    Pooled(SessionMode),
    /// It has a backend connection of its own.
    Relayed,
    /// It runs a script.
    Scripted,
}

impl Way {
    /// As people are told it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Pooled(mode) => mode.name(),
            Self::Relayed => SessionMode::Transparent.name(),
            Self::Scripted => "script",
        }
    }
}
