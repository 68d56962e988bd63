//! The client of a scripted session.

use wire::{Capabilities, StatusFlags};

use link::client_command::Inbox;
use link::leg::Leg;

/// The client's connection, and the agreed properties of it.
pub(crate) struct ClientSide {
    pub(crate) leg: Leg,
    pub(crate) inbox: Inbox,
    /// The status flags that the client received last.
    pub(crate) status: StatusFlags,
    /// The client's character set, as its login named it.
    pub(crate) collation: u8,
    /// The capabilities that client and backend have agreed on.
    pub(crate) capabilities: Capabilities,
}
