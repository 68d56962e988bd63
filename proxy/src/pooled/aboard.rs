//! Statements that may ride a shared lane: who may, what is done where the ride ends otherwise than
//! well, and what is asked later of one that has ridden.

use std::rc::Rc;
use std::sync::Arc;

use config::LaneUse;
use route::ride::{Habit, Seen, Stays, may_ride};
use route::{Backend, BackendId};
use session::state::Needs;
use session::{Outcome, Tally};
use sql::{Facts, Kind};
use tokio::time::Instant;
use wire::query::Query;
use wire::{Capabilities, Command, ErrorCode};

use super::aim::Aim;
use super::conn::{BackendConn, Broken, OwnReply};
use super::exchange::{Done, Part};
use super::incoming::Incoming;
use super::lane::{SharedLane, is_like};
use super::query::Ending;
use super::ride::{Ridden, Ride, Trip};
use super::session::{After, CutOff, Pooled};

/// A longer statement has a connection of its own.
const STATEMENT_BYTES_MAX: usize = 16 << 10;

/// ER_QUERY_INTERRUPTED.
const INTERRUPTED: ErrorCode = ErrorCode {
    number: 1317,
    sqlstate: *b"70100",
};

const INTERRUPTED_TEXT: &str = "Query execution was interrupted";

/// A statement that may ride: how long its like take, and where.
struct Fare {
    backend: Arc<Backend>,
    digest: u64,
    lane: Rc<SharedLane>,
    habit: Habit,
}

/// A statement that would ride if a lane had room, or a connection were idle for another one.
struct RideWish {
    digest: u64,
    habit: Habit,
}

/// A statement of whose like nobody knows how long they take: it is measured.
pub(crate) struct Probe {
    backend: BackendId,
    digest: u64,
    begun: Instant,
}

/// What a session keeps of its rides.
#[derive(Default)]
pub(crate) struct Riding {
    /// Its place on lanes, since its first ride.
    pub ride: Option<Rc<Ride>>,
    /// The last statement, if it has ridden and left what its client may ask for.
    pub ridden: Option<Past>,
    /// The statement of the moment, where it is measured.
    probe: Option<Probe>,
    /// The same, where it would ride.
    wish: Option<RideWish>,
}

/// How to leave on a connection what a statement that has ridden would have left.
pub(crate) enum Past {
    /// By running it again: this is its argument.
    Again(Vec<u8>),
    /// It was killed.
    Interrupted,
}

/// What became of it.
pub(crate) enum Aboard {
    Told(Ending),
    /// It has a connection of its own: it did not ride, or has to be sent again.
    Ashore {
        has_ridden: bool,
    },
}

impl Pooled {
    /// Over a shared lane, if it may ride.
    pub(crate) async fn say_aboard(
        &mut self,
        incoming: &Incoming,
        facts: &Facts,
        aim: Aim,
        part: Part,
    ) -> Result<Aboard, CutOff> {
        self.riding.probe = None;
        self.riding.wish = None;
        match self.fare(incoming, facts, aim, part) {
            Ok(fare) => self.travel(incoming, facts, aim, fare).await,
            Err(stays) => {
                self.worker.lanes.counts.stays(stays);
                Ok(Aboard::Ashore { has_ridden: false })
            }
        }
    }

    /// The same over a new lane, if it would have ridden and no connection was idle for that: the one
    /// that it has waited for is shared with those who come next.
    pub(crate) async fn say_on_new_lane(
        &mut self,
        incoming: &Incoming,
        facts: &Facts,
        aim: Aim,
    ) -> Result<Aboard, CutOff> {
        match self.new_lane() {
            Some(fare) => self.travel(incoming, facts, aim, fare).await,
            None => Ok(Aboard::Ashore { has_ridden: false }),
        }
    }

    fn new_lane(&mut self) -> Option<Fare> {
        let RideWish { digest, habit } = self.riding.wish.take()?;
        let lent = self.lent.take()?;
        let backend = Arc::clone(&lent.conn.backend);
        let shelf = self.shelf(&backend);
        let lanes = &self.worker.lanes;
        let waits = self.course.awaited.is_some() || self.course.wants_position;
        let fits = is_like(&lent.conn, &self.state) && lent.conn.answers_owed() == 0 && !waits;
        if !fits || !lanes.has_room(shelf) {
            self.lent = Some(lent);
            return None;
        }
        let lane = lanes.open(&self.worker, shelf, lent);
        Some(Fare {
            backend,
            digest,
            lane,
            habit,
        })
    }

    async fn travel(
        &mut self,
        incoming: &Incoming,
        facts: &Facts,
        aim: Aim,
        fare: Fare,
    ) -> Result<Aboard, CutOff> {
        let worker = Rc::clone(&self.worker);
        let counts = &worker.lanes.counts;
        let flight = worker.loads.begin(fare.backend.id);
        self.course.last = Some(fare.backend.id);
        self.watch.settle(fare.backend.id);
        let alarm = self.alarm();
        let ridden = self.ride(&fare.lane, incoming, fare.habit.takes()).await;
        drop((flight, alarm));
        match ridden {
            Ok(None) => {
                counts.stays(Stays::NoLane);
                Ok(Aboard::Ashore { has_ridden: false })
            }
            Ok(Some(Ridden::Elsewhere)) => {
                counts.moves();
                Ok(Aboard::Ashore { has_ridden: true })
            }
            Ok(Some(Ridden::Killed)) => {
                self.interrupted(incoming.sequence);
                Ok(Aboard::Told(Ending::last(After::Next)))
            }
            Ok(Some(Ridden::Done(done, trip))) => {
                counts.rides();
                self.has_ridden(incoming, facts, &fare, &done, trip);
                Ok(Aboard::Told(Ending::of(&done)))
            }
            Err(cut) => {
                let repeat = self.repeat_of(super::broken::effect_of(facts), aim);
                let ended = self.cut_short(cut, incoming.sequence, Command::QUERY, repeat);
                ended.map(Ending::last).map(Aboard::Told)
            }
        }
    }

    /// Which of its statements may ride: as a rule says, or else account, listener, or the pool.
    fn lanes(&self) -> LaneUse {
        let ordered = self.order.as_ref().and_then(|order| order.lanes);
        ordered.unwrap_or(self.course.lanes)
    }

    /// Whether a statement rides, and on which lane.
    fn fare(
        &mut self,
        incoming: &Incoming,
        facts: &Facts,
        aim: Aim,
        part: Part,
    ) -> Result<Fare, Stays> {
        if incoming.is_cut {
            return Err(Stays::TooLong);
        }
        self.may_board(incoming.packets.len(), facts, part)?;
        let backend = self.backend(aim, &[]).map_err(|_| Stays::NoLane)?;
        if self.course.awaited.is_some() || self.course.wants_position {
            return Err(Stays::Waits);
        }
        let worker = Rc::clone(&self.worker);
        let digest = {
            let argument = incoming.argument();
            let query = Query::decode(&argument, self.capabilities);
            let text = query.map(|query| query.text).unwrap_or_default();
            worker.lanes.digest(text, self.state.flags())
        };
        let habit = worker.lanes.habit(backend.id, digest);
        if let Err(stays) = habit.is_short() {
            self.riding.probe = Some(Probe {
                backend: backend.id,
                digest,
                begun: Instant::now(),
            });
            return Err(stays);
        }
        if worker.loads.in_flight(backend.id) == 0 {
            return Err(Stays::Alone);
        }
        let shelf = self.shelf(&backend);
        let state = &self.state;
        let lane = worker.lanes.lane(&worker, shelf, state, || {
            let nearness = |conn: &BackendConn| match is_like(conn, state) {
                true => conn.answers_owed(),
                false => u32::MAX,
            };
            let lent = worker.desk.take_idle(&worker, shelf, nearness)?;
            if is_like(&lent.conn, state) && lent.conn.answers_owed() == 0 {
                return Some(lent);
            }
            worker.desk.give_back(&worker, lent);
            None
        });
        let lane = lane.inspect_err(|_| self.riding.wish = Some(RideWish { digest, habit }))?;
        Ok(Fare {
            backend,
            digest,
            lane,
            habit,
        })
    }

    /// Whether a statement would ride, if others were on their way to the same backend.
    pub(crate) fn would_ride(
        &self,
        text: &[u8],
        facts: &Facts,
        backend: Option<BackendId>,
    ) -> Result<(), Stays> {
        self.may_board(text.len(), facts, Part::Whole)?;
        let backend = backend.ok_or(Stays::NoLane)?;
        let lanes = &self.worker.lanes;
        let digest = lanes.digest(text, self.state.flags());
        lanes.habit(backend, digest).is_short()
    }

    /// Whether it may, as far as it and its session decide.
    fn may_board(&self, bytes: usize, facts: &Facts, part: Part) -> Result<(), Stays> {
        if self.lanes() == LaneUse::Off {
            return Err(Stays::Off);
        }
        may_ride(facts, self.state.flags().server, self.transaction())?;
        let is_held = self.lent.is_some() || !self.cursors.is_empty() || !self.state.is_plain();
        let is_owed = self.aftermath.is_owed() && self.riding.ridden.is_none();
        let tells = self.shows.is_some() || !self.unseen.is_empty() || self.prepares_settings;
        let is_compressed = self.client.transport.is_compressed()
            || self.kind.capabilities.contains(Capabilities::COMPRESS);
        match () {
            () if is_held || is_owed || self.aftermath.is_saving() || tells => Err(Stays::Session),
            () if part != Part::Whole => Err(Stays::NoSelect),
            () if is_compressed => Err(Stays::Compressed),
            () if bytes > STATEMENT_BYTES_MAX => Err(Stays::TooLong),
            () => Ok(()),
        }
    }

    /// Its reply has gone to its client.
    fn has_ridden(
        &mut self,
        incoming: &Incoming,
        facts: &Facts,
        fare: &Fare,
        done: &Done,
        trip: Trip,
    ) {
        self.riding.ridden = None;
        self.note_written_aboard(&fare.backend);
        {
            let argument = incoming.argument();
            let query = Query::decode(&argument, self.capabilities);
            let text = query.map(|query| query.text).unwrap_or_default();
            if let Some(order) = &mut self.order {
                order.ended(&fare.backend, done.outcome);
            }
            self.observe(Command::QUERY, facts, text, done);
        }
        let is_owed = self.aftermath.is_owed();
        if is_owed {
            self.riding.ridden = Some(Past::Again(incoming.argument().into_owned()));
        }
        let seen = Seen {
            took: trip.took,
            bytes: trip.bytes,
            has_warned: is_owed,
        };
        self.worker.lanes.learn(fare.backend.id, fare.digest, &seen);
    }

    /// One that was measured has ended.
    pub(crate) fn learn(&mut self, done: &Done) {
        let Some(probe) = self.riding.probe.take() else {
            return;
        };
        let seen = Seen {
            took: probe.begun.elapsed(),
            bytes: done.tally.bytes,
            has_warned: done.outcome != Outcome::Ok || self.aftermath.is_owed(),
        };
        self.worker.lanes.learn(probe.backend, probe.digest, &seen);
    }

    /// It was killed, as KILL QUERY does it.
    fn interrupted(&mut self, sequence: u8) {
        self.say_error(sequence, INTERRUPTED, INTERRUPTED_TEXT);
        let tally = Tally {
            error: Some((INTERRUPTED.number, INTERRUPTED.sqlstate)),
            ..Tally::default()
        };
        let done = Done {
            outcome: Outcome::Err(INTERRUPTED.number),
            tally,
            next_sequence: sequence,
            fingerprint: None,
        };
        self.observe(Command::QUERY, &Facts::default(), b"", &done);
        self.riding.ridden = Some(Past::Interrupted);
    }

    /// What the client may ask of a statement that has ridden is left on the connection that is held:
    /// nobody hears of what is done for that.
    pub(crate) async fn relive(&mut self, past: Past) {
        let Some(mut lent) = self.lent.take() else {
            return;
        };
        let argument = match past {
            Past::Again(argument) => argument,
            Past::Interrupted => super::open::text(&lent.conn, interruption()),
        };
        let equal = self.become_equal(&mut lent.conn, &Needs::NONE).await;
        let asked = match equal {
            Ok(()) => lent.conn.ask(&self.worker, Command::QUERY, &argument).await,
            Err(_) => Err(Broken::Unexpected("it is not like the session")),
        };
        self.lent = Some(lent);
        // One that breaks is noticed by the command that follows.
        if let Ok(own) = asked {
            self.observe_relived(&argument, own);
        }
    }

    fn observe_relived(&mut self, argument: &[u8], own: OwnReply) {
        let Ok(query) = Query::decode(argument, self.capabilities) else {
            return;
        };
        let mut facts = self.worker.store.take_facts();
        facts.read(query.text, self.state.flags());
        if facts.kind == Kind::Signal {
            // It stands for another statement, which holds nothing.
            facts.read(b"", self.state.flags());
        }
        self.changes = own.changes;
        let done = Done {
            outcome: own.outcome,
            tally: own.tally,
            next_sequence: 1,
            fingerprint: None,
        };
        super::observe::observe(self, Command::QUERY, &facts, query.text, &done);
        self.worker.store.return_facts(facts);
    }
}

/// A statement that leaves what one leaves that was killed.
fn interruption() -> String {
    format!(
        "SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO={}, MESSAGE_TEXT='{INTERRUPTED_TEXT}'",
        INTERRUPTED.number
    )
}
