//! What a session keeps of its statements on shared lanes.

use std::rc::Rc;
use std::sync::Arc;

use route::lane_check::{DigestStats, NotLaneable};
use route::{Backend, BackendId};
use wire::Capabilities;

use backend::recorded_reads::Execution;
use lanes::lane::SharedLane;
use lanes::lane_request::LaneRequest;

use crate::statement::Statement;

/// A statement that may use a lane: how long statements with its digest take, and where.
pub struct LaneChoice {
    /// Where it would run.
    pub backend: Arc<Backend>,
    /// The hash of its digest.
    pub digest: u64,
    /// The lane there.
    pub lane: Rc<SharedLane>,
    /// How long statements with its digest take there.
    pub stats: DigestStats,
}

/// What else is done about a statement that needs a connection of the session's own.
#[derive(Clone, Copy)]
pub enum LaneFollowUp {
    /// Nothing.
    Nothing,
    /// It is measured, because too few statements with its digest have run on this backend.
    Measure {
        /// This backend.
        backend: BackendId,
        /// The hash of its digest.
        digest: u64,
    },
    /// Its connection becomes a lane. It would use one if one had room, or if a connection were idle for another one.
    OpenLane {
        /// The hash of its digest.
        digest: u64,
        /// How long statements with that digest take.
        stats: DigestStats,
    },
}

/// Why a statement uses no lane.
pub struct LaneRefusal {
    /// The reason.
    pub why: NotLaneable,
    /// What else is done about it.
    pub follow_up: LaneFollowUp,
}

impl From<NotLaneable> for LaneRefusal {
    fn from(why: NotLaneable) -> Self {
        let follow_up = LaneFollowUp::Nothing;
        Self { why, follow_up }
    }
}

/// What a session keeps of its statements on lanes.
#[derive(Default)]
pub struct LaneUseState {
    /// Its place on lanes, since its first statement there.
    lane_request: Option<Rc<LaneRequest>>,
    /// The last statement, if it ran on a lane and left something that its client may ask for.
    past: Option<Past>,
}

impl LaneUseState {
    /// The session's place on lanes, made for a client with these capabilities.
    pub fn request(&mut self, capabilities: Capabilities) -> Rc<LaneRequest> {
        let new = || Rc::new(LaneRequest::new(capabilities));
        Rc::clone(self.lane_request.get_or_insert_with(new))
    }

    /// The last statement has left this on a lane; none: its client has nothing to ask for there.
    pub fn note_past(&mut self, past: Option<Past>) {
        self.past = past;
    }

    /// Takes what the last statement has left on a lane.
    pub fn take_past(&mut self) -> Option<Past> {
        self.past.take()
    }

    /// Whether the client may ask about a statement that ran on a lane.
    pub fn has_past(&self) -> bool {
        self.past.is_some()
    }
}

/// How to leave on a connection what a statement that ran on a lane would have left there.
pub enum Past {
    /// By running it again: this is its argument.
    Again(Vec<u8>),
    /// The same of what is prepared.
    Executed(Box<Execution>),
    /// It was killed.
    Interrupted,
}

impl Past {
    /// None: such statements use no lane.
    pub fn of(statement: &Statement<'_>) -> Option<Self> {
        match statement {
            Statement::Text(query) => Some(Self::Again(query.argument().to_vec())),
            Statement::Execution(executing) => {
                Some(Self::Executed(Box::new(executing.execution())))
            }
            Statement::Bulk(_) | Statement::Command(_) => None,
        }
    }
}
