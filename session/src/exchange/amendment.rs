//! What a client is told otherwise than its backend said, at the end of a reply.

use wire::Capabilities;

/// What is told otherwise at the end of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amendment {
    /// Another reply to the same command follows it.
    pub has_more: bool,
    /// So many warnings.
    pub warnings: Option<u16>,
    /// No EOF flags changes, of which it could not tell anyway: they are what the proxy wants to learn of.
    pub hides_changes: bool,
}

impl Amendment {
    /// What a client is told otherwise whose replies look like this, on a connection of the proxy's.
    pub fn of_shared(capabilities: Capabilities) -> Self {
        Self {
            hides_changes: !capabilities.contains(Capabilities::DEPRECATE_EOF),
            ..Self::default()
        }
    }
}
