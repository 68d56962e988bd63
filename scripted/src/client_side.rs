//! The client of a scripted session.

use wire::{Capabilities, StatusFlags};

use link::client_command::Inbox;
use link::leg::Leg;

/// The client's connection, and what was agreed on with it.
pub(crate) struct ClientSide {
    pub(crate) leg: Leg,
    pub(crate) inbox: Inbox,
    /// The flags that the client saw last.
    pub(crate) status: StatusFlags,
    /// The client's character set, as its login said.
    pub(crate) collation: u8,
    /// What client and backend have agreed on.
    pub(crate) capabilities: Capabilities,
}
