//! What workers tell the control plane of the backends and the clients they met.

use std::fmt;

use crate::BackendId;

/// One observation or request, from a worker to the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// No connection, or no greeting in time: the backend counts as down at once. Not for a
    /// refused login, which a server that is well gives.
    ConnectFailed {
        /// Which one.
        backend: BackendId,
        /// As logged and told to clients.
        cause: String,
    },
    /// It accepted and greeted. Worth sending when the snapshot does not say [`Health::Up`].
    ///
    /// [`Health::Up`]: crate::Health::Up
    Connected {
        /// Which one.
        backend: BackendId,
    },
    /// A connection broke in the middle of a session: a hint, which makes the control plane look
    /// for itself at once.
    SessionBroken {
        /// Which one.
        backend: BackendId,
        /// As logged.
        cause: String,
    },
    /// It has refused a write because it is read-only, and counts as the primary.
    WritesRefused {
        /// Which one.
        backend: BackendId,
    },
    /// A statement runs on that nobody waits for any more.
    KillStatement {
        /// Where it runs.
        backend: BackendId,
        /// The connection's id there, from the server's greeting.
        thread_id: u32,
        /// Decides what is killed, see [`KillReason::scope`].
        why: KillReason,
    },
    /// Somebody could not log in whom the current accounts do not know, or know otherwise: they
    /// are learned again soon, where they are learned at all. Worth sending once a failed login.
    UnknownAccount {
        /// As the client named itself.
        user: String,
    },
    /// A user logs in whose accounts were asked for some time ago: they are asked for by the user's name, where
    /// accounts are learned. Worth sending for each login; they are asked for once a second at most.
    CheckAccount {
        /// As the client named itself.
        user: String,
    },
    /// A statement has changed views, routines, triggers or tables: their definitions are learned again soon,
    /// where they are learned at all.
    DefinitionsChanged,
    /// A backend refused what an account is known by, or was proven by, to the proxy: accounts are
    /// learned again soon, and the log is told, once in a while.
    CredentialRefused {
        /// Which one.
        backend: BackendId,
        /// The user that was refused there.
        user: String,
        /// The backend's words.
        cause: String,
    },
}

/// Why a statement must not run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KillReason {
    /// The client closed its connection in the middle of an exchange.
    ClientGone,
    /// The statement is over its time limit; the session goes on.
    OverTime,
    /// The proxy stops, and the statement did not end in the time left for it.
    Stopping,
    /// Somebody with the right to do so wants it ended; the session goes on.
    Asked,
    /// Its backend was disabled.
    Disabled,
}

impl KillReason {
    /// What is to be killed.
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
    /// `KILL`: the connection with its transaction, which nobody will use again.
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
