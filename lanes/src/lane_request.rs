//! The place of a session's statement on a shared lane: what the lane needs of the session, and how the reply ends.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use session::state::Changes;
use wire::Capabilities;

use backend::exchange_outcome::Done;
use backend::own_reply::note_changes;
use link::leg::Leg;
use session::track_settings::SessionTrackSettings;

/// The place of one session on a lane. It is used again for each statement.
pub struct LaneRequest {
    /// The leg of the client, while the statement is on the lane.
    pub client: RefCell<Leg>,
    /// The session tracking settings of the client.
    pub track_settings: RefCell<Option<Rc<SessionTrackSettings>>>,
    /// The changes that the reply has reported.
    pub changes: RefCell<Changes>,
    /// The client's capabilities, which give the form of its packets.
    seen: Capabilities,
    /// The bytes of the reply that have come.
    pub bytes: Cell<u64>,
    /// How the request has ended.
    pub end: RefCell<Option<LaneRequestEnd>>,
    /// Wakes the session at the end.
    pub waker: RefCell<Option<Waker>>,
}

/// How a request on a lane ends.
pub enum LaneRequestEnd {
    /// The reply has ended.
    Over(Done, LanePlan),
    /// No part of the reply has come, and none will: the statement runs elsewhere.
    Elsewhere,
    /// A replica has refused the statement because it writes. No part of the reply was passed on.
    Refused,
    /// The connection broke after a part of the reply had come. The value: the id of an ERR that may follow.
    Broken(String, Option<u8>),
}

/// The result of a statement on a lane.
pub enum LaneReply {
    /// The client has its reply.
    Done(Done, LanePlan),
    /// The statement is sent again, on a connection of the session's own.
    Elsewhere,
    /// A replica has refused the statement because it writes.
    Refused,
    /// The statement was killed by a client, or by a limit.
    Killed,
}

/// How long a statement took, the size of its reply, when it left, and when its reply had come.
#[derive(Debug, Clone, Copy)]
pub struct LanePlan {
    /// Its share of the time that all statements in flight with it have taken.
    pub took: Duration,
    /// The size of its reply, in bytes.
    pub bytes: u64,
    /// When it left, as the time since the process began.
    pub left: Duration,
    /// When its reply had come, as the time since the process began.
    pub ended: Duration,
}

impl LaneRequest {
    /// A place for the statements of a client with these capabilities.
    pub fn new(seen: Capabilities) -> Self {
        Self {
            client: RefCell::new(Leg::gone()),
            track_settings: RefCell::default(),
            changes: RefCell::default(),
            seen,
            bytes: Cell::default(),
            end: RefCell::default(),
            waker: RefCell::default(),
        }
    }

    /// Passes bytes of the reply on to the client, unchanged.
    pub fn pass(&self, bytes: &[u8], context: &mut Context<'_>) {
        self.bytes.set(self.bytes.get() + bytes.len() as u64);
        let mut client = self.client.borrow_mut();
        if client.push(bytes, context).is_err() {
            // The session finds that out when it reads from the client.
            client.give_up();
        }
    }

    /// Passes on a packet with changes, in the form that the client wants. Returns whether the connection's state has
    /// changed.
    pub fn pass_changes(
        &self,
        packet: &[u8],
        capabilities: Capabilities,
        context: &mut Context<'_>,
    ) -> bool {
        let has_changed = {
            let mut changes = self.changes.borrow_mut();
            note_changes(packet, capabilities, &mut changes);
            !changes.is_empty()
        };
        let track_settings = self.track_settings.borrow();
        match &*track_settings {
            Some(track_settings) => {
                let packet = track_settings.rewrite(packet, capabilities, self.seen);
                self.pass(&packet, context);
            }
            None => self.pass(packet, context),
        }
        has_changed
    }

    /// The number of bytes of the reply that have come.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Whether the client has had a part of the reply.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.bytes.get() > 0
    }

    /// Ready when the client has taken enough of the bytes that were sent to it.
    pub fn poll_room(&self, bytes_max: usize, context: &mut Context<'_>) -> Poll<()> {
        let mut client = self.client.borrow_mut();
        if client.unsent() <= bytes_max {
            return Poll::Ready(());
        }
        client.poll_drain_or_break(context)
    }

    /// Ends the request, and wakes its session.
    pub fn end(&self, end: LaneRequestEnd) {
        *self.end.borrow_mut() = Some(end);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Whether an OK packet reports changes that matter.
pub fn tells_changes(packet: &[u8], capabilities: Capabilities) -> bool {
    let mut changes = Changes::default();
    note_changes(packet, capabilities, &mut changes);
    !changes.is_empty()
}
