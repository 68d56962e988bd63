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

/// One session's place on a lane; used again and again.
pub struct LaneRequest {
    /// The leg of the client, while the statement is on the lane.
    pub client: RefCell<Leg>,
    /// Which changes the client is told of.
    pub track_settings: RefCell<Option<Rc<SessionTrackSettings>>>,
    /// The changes that its reply has told of.
    pub changes: RefCell<Changes>,
    /// What its client's packets look like.
    seen: Capabilities,
    /// Bytes of its reply.
    pub bytes: Cell<u64>,
    /// How it has ended.
    pub end: RefCell<Option<LaneRequestEnd>>,
    /// Wakes the session at the end.
    pub waker: RefCell<Option<Waker>>,
}

/// How a request on a lane ends.
pub enum LaneRequestEnd {
    /// With its reply.
    Over(Done, LanePlan),
    /// Nothing of it has come, and nothing will: it runs elsewhere.
    Elsewhere,
    /// A replica has refused it because it writes. Nothing was passed on.
    Refused,
    /// Some of it has come when the connection broke; with the id of an ERR that would fit.
    Broken(String, Option<u8>),
}

/// What became of it.
pub enum LaneReply {
    /// With its reply.
    Done(Done, LanePlan),
    /// It is sent again, on a connection of its own.
    Elsewhere,
    /// A replica has refused it because it writes.
    Refused,
    /// Its client, or a limit, had it killed.
    Killed,
}

/// How long it took, how large its reply was, when it left, and when its reply had come.
#[derive(Debug, Clone, Copy)]
pub struct LanePlan {
    /// Its part of what all that were under way with it have taken.
    pub took: Duration,
    /// Bytes of its reply.
    pub bytes: u64,
    /// When it left, since the process began.
    pub left: Duration,
    /// When its reply had come.
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

    /// Bytes of its reply, as they are.
    pub fn pass(&self, bytes: &[u8], context: &mut Context<'_>) {
        self.bytes.set(self.bytes.get() + bytes.len() as u64);
        let mut client = self.client.borrow_mut();
        if client.push(bytes, context).is_err() {
            // Its session learns that when it listens.
            client.give_up();
        }
    }

    /// A packet that tells of changes: its client learns of those that it wants to learn of. Says
    /// whether the connection is another than it was.
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

    /// Bytes of its reply that have come.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Whether its client has had some of its reply.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.bytes.get() > 0
    }

    /// Ready when its client has taken enough of what it has been sent.
    pub fn poll_room(&self, bytes_max: usize, context: &mut Context<'_>) -> Poll<()> {
        let mut client = self.client.borrow_mut();
        if client.unsent() <= bytes_max {
            return Poll::Ready(());
        }
        client.poll_drain_or_break(context)
    }

    /// It has ended.
    pub fn end(&self, end: LaneRequestEnd) {
        *self.end.borrow_mut() = Some(end);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Whether an OK packet tells of changes that matter.
pub fn tells_changes(packet: &[u8], capabilities: Capabilities) -> bool {
    let mut changes = Changes::default();
    note_changes(packet, capabilities, &mut changes);
    !changes.is_empty()
}
