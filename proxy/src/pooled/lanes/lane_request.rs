//! A statement on a shared lane, seen from its session: it boards, waits, and notes what came.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use pool::Seat;
use route::KillScope;
use session::state::Changes;
use wire::{Capabilities, StatusFlags};

use super::lane::{Boarding, Load, SharedLane};
use crate::pooled::backend::connection::Broken;
use crate::pooled::backend::connection::note_changes;
use crate::pooled::command::statement::Statement;
use crate::pooled::exchange::forward_reply::Cut;
use crate::pooled::exchange::{CutReply, Done, Reached};
use crate::pooled::session::{LASTING, PooledSession};
use link::leg::Leg;
use registry::session_control::Ask;
use session::track_settings::SessionTrackSettings;

/// One session's place on a lane; used again and again.
pub(crate) struct LaneRequest {
    client: RefCell<Leg>,
    sight: RefCell<Option<Rc<SessionTrackSettings>>>,
    changes: RefCell<Changes>,
    /// What its client's packets look like.
    seen: Capabilities,
    /// Bytes of its reply.
    bytes: Cell<u64>,
    end: RefCell<Option<End>>,
    waker: RefCell<Option<Waker>>,
}

/// How a ride ends.
pub(crate) enum End {
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
pub(crate) enum LaneReply {
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
pub(crate) struct LanePlan {
    /// Its part of what all that were under way with it have taken.
    pub took: Duration,
    pub bytes: u64,
    pub left: Duration,
    pub ended: Duration,
}

impl LaneRequest {
    fn new(seen: Capabilities) -> Self {
        Self {
            client: RefCell::new(Leg::gone()),
            sight: RefCell::default(),
            changes: RefCell::default(),
            seen,
            bytes: Cell::default(),
            end: RefCell::default(),
            waker: RefCell::default(),
        }
    }

    /// Bytes of its reply, as they are.
    pub(crate) fn pass(&self, bytes: &[u8], context: &mut Context<'_>) {
        self.bytes.set(self.bytes.get() + bytes.len() as u64);
        let mut client = self.client.borrow_mut();
        if client.push(bytes, context).is_err() {
            // Its session learns that when it listens.
            client.give_up();
        }
    }

    /// A packet that tells of changes: its client hears of those that it wants to hear of. Says
    /// whether the connection is another than it was.
    pub(crate) fn pass_changes(
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
        let sight = self.sight.borrow();
        match &*sight {
            Some(sight) => {
                let packet = sight.rewrite(packet, capabilities, self.seen);
                self.pass(&packet, context);
            }
            None => self.pass(packet, context),
        }
        has_changed
    }

    /// Bytes of its reply that have come.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Whether its client has had some of its reply.
    pub(crate) fn has_some(&self) -> bool {
        self.bytes.get() > 0
    }

    /// Ready when its client has taken enough of what it has been sent.
    pub(crate) fn poll_room(&self, bytes_max: usize, context: &mut Context<'_>) -> Poll<()> {
        let mut client = self.client.borrow_mut();
        if client.unsent() <= bytes_max {
            return Poll::Ready(());
        }
        client.poll_drain_or_break(context)
    }

    /// It has ended.
    pub(crate) fn end(&self, end: End) {
        *self.end.borrow_mut() = Some(end);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Whether an OK packet tells of changes that matter.
pub(crate) fn tells_changes(packet: &[u8], capabilities: Capabilities) -> bool {
    let mut changes = Changes::default();
    note_changes(packet, capabilities, &mut changes);
    !changes.is_empty()
}

impl PooledSession {
    /// Boards a lane and waits for the reply. None where the lane takes nobody any more.
    pub(crate) async fn ride(
        &mut self,
        lane: &Rc<SharedLane>,
        statement: &Statement<'_>,
        habit: Duration,
    ) -> Result<Option<LaneReply>, CutReply> {
        let seen = self.client.capabilities;
        let Some(load) = Load::of(statement, seen) else {
            return Ok(None);
        };
        let ride = self
            .routing
            .riding
            .ride
            .get_or_insert_with(|| Rc::new(LaneRequest::new(seen)));
        let ride = Rc::clone(ride);
        self.tracking.changes.clear();
        if self.tracking.settings.is_none() {
            self.tracking.settings = lane.sight();
        }
        self.swap_luggage(&ride);
        *ride.end.borrow_mut() = None;
        ride.bytes.set(0);
        let boarding = Boarding {
            ride: Rc::clone(&ride),
            load,
            sequence: statement.sequence(),
            habit,
        };
        let Some(seat) = lane.board(boarding) else {
            self.swap_luggage(&ride);
            return Ok(None);
        };
        self.sql_state.aftermath.rides();
        let passenger = Passenger {
            lane,
            seat,
            ride: &ride,
        };
        let outcome = poll_fn(|context| self.poll_ride(&passenger, context)).await;
        drop(passenger);
        self.swap_luggage(&ride);
        outcome.map(Some)
    }

    /// What the lane needs of the session goes to it, and comes back.
    fn swap_luggage(&mut self, ride: &LaneRequest) {
        std::mem::swap(&mut self.client.leg, &mut ride.client.borrow_mut());
        std::mem::swap(&mut self.tracking.settings, &mut ride.sight.borrow_mut());
        std::mem::swap(&mut self.tracking.changes, &mut ride.changes.borrow_mut());
    }

    fn poll_ride(
        &mut self,
        passenger: &Passenger<'_>,
        context: &mut Context<'_>,
    ) -> Poll<Result<LaneReply, CutReply>> {
        let ride = passenger.ride;
        if let Some(end) = ride.end.borrow_mut().take() {
            return Poll::Ready(self.arrive(end));
        }
        {
            let mut waker = ride.waker.borrow_mut();
            if !waker
                .as_ref()
                .is_some_and(|it| it.will_wake(context.waker()))
            {
                *waker = Some(context.waker().clone());
            }
        }
        self.watch.note(self.worker.clock.now(), false);
        std::mem::swap(&mut self.client.leg, &mut ride.client.borrow_mut());
        let meanwhile = self.poll_aboard(passenger, context);
        std::mem::swap(&mut self.client.leg, &mut ride.client.borrow_mut());
        match meanwhile {
            Poll::Ready(Err(cut)) => Poll::Ready(Err(CutReply {
                cut,
                reached: match ride.bytes.get() {
                    0 => Reached::Backend,
                    _ => Reached::Client,
                },
                sequence: None,
            })),
            Poll::Ready(Ok(())) => Poll::Ready(Ok(LaneReply::Killed)),
            Poll::Pending => Poll::Pending,
        }
    }

    /// What may happen meanwhile. A kill of the statement alone is seen to on a connection of its own,
    /// unless some of the reply has come: then all of it will.
    fn poll_aboard(
        &mut self,
        passenger: &Passenger<'_>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Cut>> {
        let asked = self.watch.poll_asked(context);
        if asked.contains(Ask::KillStatement)
            && self.watch.takes_kill(self.command.timing.read())
            && passenger.ride.bytes.get() == 0
        {
            self.kill_aboard(passenger);
            return Poll::Ready(Ok(()));
        }
        self.poll_meanwhile(context)
    }

    /// Kills a statement that is aboard, and nobody else's: where the server is at it, all others go
    /// elsewhere first, and the connection is closed behind it.
    fn kill_aboard(&self, passenger: &Passenger<'_>) {
        if passenger.lane.leave(passenger.seat)
            && let Some(running) = passenger.lane.isolate()
        {
            self.kill_thread(&running, KillScope::Statement);
        }
    }

    fn arrive(&mut self, end: End) -> Result<LaneReply, CutReply> {
        match end {
            End::Elsewhere => Ok(LaneReply::Elsewhere),
            End::Refused => Ok(LaneReply::Refused),
            End::Broken(cause, sequence) => Err(CutReply {
                cut: Cut::Backend(Broken::Io(std::io::Error::other(cause))),
                reached: Reached::Client,
                sequence,
            }),
            End::Over(done, trip) => {
                if let Some(status) = done.tally.status {
                    self.client.status = StatusFlags(status.0 & LASTING.0);
                }
                Ok(LaneReply::Done(done, trip))
            }
        }
    }
}

/// Who is aboard; one that goes before its reply has come leaves its place.
struct Passenger<'a> {
    lane: &'a Rc<SharedLane>,
    seat: Seat,
    ride: &'a LaneRequest,
}

impl Drop for Passenger<'_> {
    fn drop(&mut self) {
        self.lane.leave(self.seat);
        self.ride.waker.borrow_mut().take();
    }
}
