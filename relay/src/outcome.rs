//! The next state of a session after a command, and where its statements run.

use std::sync::Arc;

use link::dialogue::Legs;
use link::failure::Failure;
use route::{Backend, SessionSlot};

use crate::relay::Relay;
use link::session_end::SessionEnd;

/// The backend that a session uses as long as it is usable.
pub struct Home {
    /// The backend.
    pub backend: Arc<Backend>,
    /// The place of the session there.
    pub slot: SessionSlot,
}

/// The next state of a session after a command.
pub enum After {
    /// The session waits for the next command.
    Next,
    /// The session has ended.
    Ended(SessionEnd),
    /// The session continues as a relayed one, over one connection.
    Relayed(Box<Relayed>),
}

/// The parts that a session keeps when it becomes a relayed session.
pub struct Relayed {
    /// The two sides of the session.
    pub relay: Relay,
    /// How private both connections are.
    pub legs: Legs,
    /// The last scramble that the client received from this backend; empty if there was none.
    pub scramble: Vec<u8>,
    /// The connection's id at the backend.
    pub thread_id: u32,
    /// The session's place at the backend, if that is not its home backend.
    pub slot: Option<SessionSlot>,
}

/// Why and how a session is cut off.
pub struct SessionError {
    /// Why the session is cut off.
    pub failure: Failure,
    /// The sequence id that an ERR to the client would have; `None` within a packet.
    pub sequence: Option<u8>,
}

impl SessionError {
    /// A session cut off by `failure`; see [`SessionError::sequence`].
    pub fn new(failure: Failure, sequence: Option<u8>) -> Self {
        Self { failure, sequence }
    }
}
