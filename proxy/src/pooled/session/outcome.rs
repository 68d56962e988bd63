//! What becomes of a session after a command, and where its statements run.

use std::sync::Arc;

use link::dialogue::Legs;
use link::failure::Failure;
use route::{Backend, SessionSlot};

use link::session_end::SessionEnd;
use relay::relay::Relay;

/// The backend that a session goes to as long as that can be used.
pub(crate) struct Home {
    pub backend: Arc<Backend>,
    pub slot: SessionSlot,
}

/// What becomes of a session after a command.
pub(crate) enum After {
    /// The next command.
    Next,
    Ended(SessionEnd),
    /// It goes on over one connection, unread.
    Relayed(Box<Relayed>),
}

/// What a session that is relayed takes along.
pub(crate) struct Relayed {
    pub relay: Relay,
    pub legs: Legs,
    /// The last scramble that its client had of this backend; empty where it had none.
    pub scramble: Vec<u8>,
    pub thread_id: u32,
    /// Its place there, if that is not the one at home.
    pub slot: Option<SessionSlot>,
}

/// How a session is cut off.
pub(crate) struct CutOff {
    pub failure: Failure,
    /// The sequence id of an ERR that would fit; `None` within a packet.
    pub sequence: Option<u8>,
}

impl CutOff {
    pub(crate) fn new(failure: Failure, sequence: Option<u8>) -> Self {
        Self { failure, sequence }
    }
}
