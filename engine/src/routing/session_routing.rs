//! What one session remembers for the routing of its commands.

use super::routing_state::RoutingState;
use crate::failure::cut_transaction::CutTransaction;
use crate::lanes::lane_use::LaneUseState;
use backend::recorded_reads::OptimisticTransaction;
use relay::outcome::Home;
use script_host::shadow_queue::Reflection;

/// Where the commands of one session go.
pub struct Routing {
    /// What decides where its commands go.
    pub state: RoutingState,
    /// The backend that the session's writes go to as long as that can be used.
    pub home: Option<Home>,
    /// Its transaction may write, and has only read yet, on a replica.
    pub optimistic_state: Option<Box<OptimisticTransaction>>,
    /// Its transaction was cut off, and the client has not ended it yet.
    pub(crate) cut_transaction: Option<CutTransaction>,
    /// Its statements that go to another cluster as well.
    pub(crate) reflection: Reflection,
    pub(crate) lane_use: LaneUseState,
}

impl Routing {
    /// A session's routing before its first command.
    pub(crate) fn new(state: RoutingState, reflection: Reflection) -> Self {
        Self {
            state,
            home: None,
            optimistic_state: None,
            cut_transaction: None,
            reflection,
            lane_use: LaneUseState::default(),
        }
    }
}
