//! What a session keeps of its statements on shared lanes.

use std::rc::Rc;
use std::sync::Arc;

use route::ride::Habit;
use route::{Backend, BackendId};

use super::lane::SharedLane;
use super::lane_request::LaneRequest;
use crate::pooled::command::statement::Statement;
use crate::pooled::optimistic::history::Execution;

/// A statement that may ride: how long its like take, and where.
pub(crate) struct LaneChoice {
    pub backend: Arc<Backend>,
    pub digest: u64,
    pub lane: Rc<SharedLane>,
    pub habit: Habit,
}

/// A statement that would ride if a lane had room, or a connection were idle for another one.
pub(crate) struct LaneWish {
    pub digest: u64,
    pub habit: Habit,
}

/// A statement of whose like nobody knows how long they take: it is measured.
pub(crate) struct Probe {
    pub backend: BackendId,
    pub digest: u64,
}

/// What a session keeps of its rides.
#[derive(Default)]
pub(crate) struct LaneUseState {
    /// Its place on lanes, since its first ride.
    pub ride: Option<Rc<LaneRequest>>,
    /// The last statement, if it has ridden and left what its client may ask for.
    pub ridden: Option<Past>,
    /// The statement of the moment, where it is measured.
    pub probe: Option<Probe>,
    /// The same, where it would ride.
    pub wish: Option<LaneWish>,
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
