//! What a session keeps of its statements on shared lanes.

use std::rc::Rc;
use std::sync::Arc;

use route::lane_check::DigestStats;
use route::{Backend, BackendId};

use backend::recorded_reads::Execution;
use command::statement::Statement;
use lanes::lane::SharedLane;
use lanes::lane_request::LaneRequest;

/// A statement that may use a lane: how long statements with its digest take, and where.
pub(crate) struct LaneChoice {
    pub backend: Arc<Backend>,
    pub digest: u64,
    pub lane: Rc<SharedLane>,
    pub stats: DigestStats,
}

/// A statement that would use a lane if one had room, or a connection were idle for another one.
pub(crate) struct LaneWish {
    pub digest: u64,
    pub stats: DigestStats,
}

/// A statement with whose digest too few have run: it is measured.
pub(crate) struct Probe {
    pub backend: BackendId,
    pub digest: u64,
}

/// What a session keeps of its statements on lanes.
#[derive(Default)]
pub(crate) struct LaneUseState {
    /// Its place on lanes, since its first ride.
    pub lane_request: Option<Rc<LaneRequest>>,
    /// The last statement, if it has ridden and left what its client may ask for.
    pub on_lane: Option<Past>,
    /// The statement of the moment, where it is measured.
    pub probe: Option<Probe>,
    /// The same, where it would ride.
    pub wish: Option<LaneWish>,
}

impl LaneUseState {
    /// What was noted of the statement before is forgotten.
    pub(crate) fn begin_statement(&mut self) {
        self.probe = None;
        self.wish = None;
    }
}

/// How to leave on a connection what a statement that has ridden would have left.
pub(crate) enum Past {
    /// By running it again: this is its argument.
    Again(Vec<u8>),
    /// The same of what is prepared.
    Executed(Box<Execution>),
    /// It was killed.
    Interrupted,
}

impl Past {
    /// None: such statements do not ride.
    pub(crate) fn of(statement: &Statement<'_>) -> Option<Self> {
        match statement {
            Statement::Text(query) => Some(Self::Again(query.argument().to_vec())),
            Statement::Execution(executing) => {
                Some(Self::Executed(Box::new(executing.execution())))
            }
            Statement::Bulk(_) | Statement::Command(_) => None,
        }
    }
}
