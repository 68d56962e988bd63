//! Where one command is to go.

use route::Roles;

/// What decides which backend gets a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTarget {
    /// The session's own backend: a primary, where reads and writes are split.
    Home,
    /// A replica that is fit for it.
    Replica,
    /// The same, or the session's own backend where there is none.
    Optimistic,
    /// Where the session's last command ran.
    Same,
    /// Its own backend, or any other one where that cannot be had.
    Any,
    /// Where rules or hints say, on backends of these roles.
    Ordered(Roles),
}
