//! The changes that the proxy makes at the end of a reply before the client gets it.

use wire::Capabilities;

/// The changes that the proxy makes at the end of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amendment {
    /// Another reply to the same command follows it.
    pub has_more: bool,
    /// The count of warnings that the client gets.
    pub warnings: Option<u16>,
    /// No EOF flags changes: it could not report them anyway, and they are what the proxy wants to learn.
    pub hides_changes: bool,
}

impl Amendment {
    /// Returns the changes for a client with these capabilities, on a connection of the proxy's.
    pub fn of_shared(capabilities: Capabilities) -> Self {
        Self {
            hides_changes: !capabilities.contains(Capabilities::DEPRECATE_EOF),
            ..Self::default()
        }
    }
}
