//! The state of a session's statements on shared lanes.

use std::rc::Rc;
use std::sync::Arc;

use route::lane_check::{DigestStats, NotLaneable};
use route::{Backend, BackendId};
use wire::Capabilities;

use backend::recorded_reads::Execution;
use lanes::lane::SharedLane;
use lanes::lane_request::LaneRequest;

use crate::statement::Statement;

/// The lane for a statement, and how long statements with its digest take there.
pub struct LaneChoice {
    /// The backend of the lane.
    pub backend: Arc<Backend>,
    /// The hash of its digest.
    pub digest: u64,
    /// The lane.
    pub lane: Rc<SharedLane>,
    /// How long statements with its digest take there.
    pub stats: DigestStats,
}

/// What else is done for a statement that runs on a connection of the session's own.
#[derive(Clone, Copy)]
pub enum LaneFollowUp {
    /// Nothing.
    Nothing,
    /// Its time is measured, because too few statements with its digest have run on this backend.
    Measure {
        /// The backend where it runs.
        backend: BackendId,
        /// The hash of its digest.
        digest: u64,
    },
    /// Its connection becomes a lane, because no lane had room and no connection was idle for another lane.
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
    /// What else is done for the statement.
    pub follow_up: LaneFollowUp,
}

impl From<NotLaneable> for LaneRefusal {
    fn from(why: NotLaneable) -> Self {
        let follow_up = LaneFollowUp::Nothing;
        Self { why, follow_up }
    }
}

/// The state of a session's statements on lanes.
#[derive(Default)]
pub struct LaneUseState {
    /// The session's place on lanes, from its first statement there on.
    lane_request: Option<Rc<LaneRequest>>,
    /// The last statement, if it ran on a lane and its client may still ask about it.
    past: Option<Past>,
}

impl LaneUseState {
    /// The session's place on lanes, made for a client with these capabilities.
    pub fn request(&mut self, capabilities: Capabilities) -> Rc<LaneRequest> {
        let new = || Rc::new(LaneRequest::new(capabilities));
        Rc::clone(self.lane_request.get_or_insert_with(new))
    }

    /// Notes what the last statement has left on a lane. `None`: its client cannot ask about it there.
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

/// How a connection gets the diagnostics of a statement that ran on a lane.
pub enum Past {
    /// The statement runs again there, with this argument.
    Again(Vec<u8>),
    /// The same for an execution of a prepared statement.
    Executed(Box<Execution>),
    /// The statement was killed.
    Interrupted,
}

impl Past {
    /// Returns how to repeat this statement. `None`: such a statement does not use lanes.
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
