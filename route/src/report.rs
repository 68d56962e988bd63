//! Reports from workers to the control plane, about backends and clients.

use std::fmt;

use crate::BackendId;

/// One observation or request, from a worker to the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The backend accepted no connection, or sent no greeting in time: it counts as down at once. Not for a
    /// refused login, because a healthy server also refuses logins.
    ConnectFailed {
        /// Which one.
        backend: BackendId,
        /// The reason, as it is logged and sent to clients.
        cause: String,
    },
    /// The backend accepted a connection and sent its greeting. Send it if the snapshot does not say [`Health::Up`].
    ///
    /// [`Health::Up`]: crate::Health::Up
    Connected {
        /// Which one.
        backend: BackendId,
    },
    /// A connection broke in the middle of a session. The control plane then probes the backend
    /// at once.
    SessionBroken {
        /// Which one.
        backend: BackendId,
        /// As logged.
        cause: String,
    },
    /// A backend that counts as the primary has refused a write because it is read-only.
    WritesRefused {
        /// Which one.
        backend: BackendId,
    },
    /// A statement must be killed on its backend.
    KillStatement {
        /// The statement's backend.
        backend: BackendId,
        /// The connection's id on the backend, from the server's greeting.
        thread_id: u32,
        /// Decides what is killed, see [`KillReason::scope`].
        why: KillReason,
    },
    /// A login failed because the current accounts do not have the user, or have other credentials. The accounts
    /// are loaded again soon, if the proxy loads accounts from backends. Send it once for each failed login.
    UnknownAccount {
        /// As the client named itself.
        user: String,
    },
    /// A user logs in whose accounts were loaded some time ago. They are loaded again by the user's name, if the
    /// proxy loads accounts from backends. Send it for each login; they are loaded at most once a second.
    CheckAccount {
        /// As the client named itself.
        user: String,
    },
    /// A statement has changed views, routines, triggers or tables. The definitions are loaded again soon,
    /// if the proxy loads definitions.
    DefinitionsChanged,
    /// A backend refused credentials that the proxy has for an account, or with which the client logged in. The
    /// accounts are loaded again soon, and a log line is written once in a while.
    CredentialRefused {
        /// Which one.
        backend: BackendId,
        /// The user that the backend refused.
        user: String,
        /// The backend's error text.
        cause: String,
    },
}

/// Why a statement is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KillReason {
    /// The client closed its connection in the middle of an exchange.
    ClientGone,
    /// The statement is over its time limit; the session goes on.
    OverTime,
    /// The proxy stops, and the statement did not end in the time left for it.
    Stopping,
    /// A user with the right to do so has asked for it; the session goes on.
    Asked,
    /// Its backend was disabled.
    Disabled,
}

impl KillReason {
    /// Returns what is killed: the statement, or the whole connection.
    pub fn scope(self) -> KillScope {
        match self {
            KillReason::ClientGone | KillReason::Stopping | KillReason::Disabled => {
                KillScope::Connection
            }
            KillReason::OverTime | KillReason::Asked => KillScope::Statement,
        }
    }
}

impl fmt::Display for KillReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KillReason::ClientGone => "client gone",
            KillReason::OverTime => "over its time limit",
            KillReason::Stopping => "proxy stopping",
            KillReason::Asked => "asked for",
            KillReason::Disabled => "backend disabled",
        })
    }
}

/// How much is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KillScope {
    /// `KILL QUERY`: the statement; the connection is still in use.
    Statement,
    /// `KILL`: the connection with its transaction; it is not used again.
    Connection,
}

impl fmt::Display for KillScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Statement => "statement",
            Self::Connection => "connection",
        })
    }
}
