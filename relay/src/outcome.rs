//! What becomes of a session after a command, and where its statements run.

use std::sync::Arc;

use link::dialogue::Legs;
use link::failure::Failure;
use route::{Backend, SessionSlot};

use crate::relay::Relay;
use link::session_end::SessionEnd;

/// The backend that a session goes to as long as that can be used.
pub struct Home {
    /// The backend.
    pub backend: Arc<Backend>,
    /// The place of the session there.
    pub slot: SessionSlot,
}

/// What becomes of a session after a command.
pub enum After {
    /// The next command.
    Next,
    /// The session has ended.
    Ended(SessionEnd),
    /// It goes on over one connection, unread.
    Relayed(Box<Relayed>),
}

/// What a session that is relayed takes along.
pub struct Relayed {
    /// Its two sides.
    pub relay: Relay,
    /// How private both legs are.
    pub legs: Legs,
    /// The last scramble that its client had of this backend; empty where it had none.
    pub scramble: Vec<u8>,
    /// The id of its connection at the backend.
    pub thread_id: u32,
    /// Its place there, if that is not the one at home.
    pub slot: Option<SessionSlot>,
}

/// How a session is cut off.
pub struct SessionError {
    /// Why.
    pub failure: Failure,
    /// The sequence id of an ERR that would fit; `None` within a packet.
    pub sequence: Option<u8>,
}

impl SessionError {
    /// A session cut off by `failure`; see [`SessionError::sequence`].
    pub fn new(failure: Failure, sequence: Option<u8>) -> Self {
        Self { failure, sequence }
    }
}
