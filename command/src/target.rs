//! The target of one command.

use route::Roles;

/// The target of a command, by which its backend is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandTarget {
    /// The session's own backend: a primary, if reads and writes are split.
    Home,
    /// A replica that is fit for the command.
    Replica,
    /// A replica that is fit for the command, or else the session's own backend.
    Optimistic,
    /// The backend of the session's last command.
    Same,
    /// The session's own backend, or any other one if that cannot be used.
    Any,
    /// Where rules or hints send the command, on backends of these roles.
    Ordered(Roles),
}
