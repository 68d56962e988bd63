//! The routing of one session's commands, with all that it remembers.

use std::sync::Arc;

use super::routing_state::{RoutingSettings, RoutingState};
use backend::recorded_reads::OptimisticTransaction;
use command::lane_use::LaneUseState;
use link::client_command::Incoming;
use relay::outcome::Home;
use route::{Backend, BackendId, SessionSlot};
use script_host::shadow_queue::{Reflection, ShadowSession};
use session_parts::cut_transaction::CutTransaction;

/// Where the commands of one session go.
pub struct Routing {
    /// The state by which the commands are routed.
    state: RoutingState,
    /// The backend that the session's writes go to, as long as it can be used.
    home: Option<Home>,
    /// Set while the session's transaction may write, has only read so far, and is on a replica.
    optimistic_state: Option<Box<OptimisticTransaction>>,
    /// Set if the session's transaction was cut off, and the client has not ended it yet.
    cut_transaction: Option<CutTransaction>,
    /// The copies of the session's statements for another cluster.
    reflection: Reflection,
    lane_use: LaneUseState,
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

    #[inline]
    pub fn settings(&self) -> &RoutingSettings {
        &self.state.settings
    }

    #[inline]
    pub fn state(&self) -> &RoutingState {
        &self.state
    }

    #[inline]
    pub fn state_mut(&mut self) -> &mut RoutingState {
        &mut self.state
    }

    /// Takes over the routing of another account. Returns the former routing.
    pub(crate) fn enter_account(&mut self, state: RoutingState) -> SavedRouting {
        // The shadow session belongs to the former account.
        self.reflection = Reflection::None;
        let before = std::mem::replace(&mut self.state, state);
        let is_same = before.settings.cluster == self.state.settings.cluster;
        if is_same {
            // The same client has another account now, and its reads have to see its own writes.
            self.state.written.clone_from(&before.written);
        }
        SavedRouting {
            state: before,
            home: self.home.take_if(|_| !is_same),
        }
    }

    /// Restores the former routing, because the change of the account has failed.
    pub(crate) fn return_to(&mut self, before: SavedRouting) {
        self.state = before.state;
        self.home = before.home;
    }

    /// The backend that the session's writes go to.
    #[inline]
    pub fn home(&self) -> Option<&Arc<Backend>> {
        self.home.as_ref().map(|home| &home.backend)
    }

    pub(crate) fn settle(&mut self, backend: Arc<Backend>, slot: SessionSlot) {
        self.home = Some(Home { backend, slot });
    }

    pub(crate) fn leave_home(&mut self) {
        self.home = None;
    }

    pub(crate) fn leave_home_at(&mut self, backend: BackendId) {
        self.home.take_if(|home| home.backend.id == backend);
    }

    pub(crate) fn into_home(self) -> Option<Home> {
        self.home
    }

    /// Whether the next command has to wait for a position, or has to ask for one.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.state.awaited.is_some() || self.state.wants_position
    }

    /// Forgets these waits, because another backend is chosen.
    #[inline]
    pub(crate) fn forget_waits(&mut self) {
        self.state.awaited = None;
        self.state.wants_position = false;
    }

    #[inline]
    pub fn optimistic(&self) -> Option<&OptimisticTransaction> {
        self.optimistic_state.as_deref()
    }

    pub(crate) fn optimistic_mut(&mut self) -> Option<&mut OptimisticTransaction> {
        self.optimistic_state.as_deref_mut()
    }

    pub(crate) fn begin_optimistic(&mut self, begin: Incoming) {
        self.optimistic_state = Some(Box::new(OptimisticTransaction::new(begin)));
    }

    pub(crate) fn end_optimistic(&mut self) {
        self.optimistic_state = None;
    }

    #[inline]
    pub(crate) fn cut_transaction(&self) -> Option<&CutTransaction> {
        self.cut_transaction.as_ref()
    }

    pub(crate) fn note_cut(&mut self, cut: CutTransaction) {
        self.cut_transaction = Some(cut);
    }

    pub(crate) fn forget_cut(&mut self) {
        self.cut_transaction = None;
    }

    pub(crate) fn reflection(&self) -> &Reflection {
        &self.reflection
    }

    pub(crate) fn reflect_into(&mut self, beside: ShadowSession) {
        self.reflection = Reflection::Into(Box::new(beside));
    }

    pub(crate) fn lane_use(&self) -> &LaneUseState {
        &self.lane_use
    }

    #[inline]
    pub(crate) fn lane_use_mut(&mut self) -> &mut LaneUseState {
        &mut self.lane_use
    }
}

/// The routing of a session before it became another account's.
pub(crate) struct SavedRouting {
    state: RoutingState,
    home: Option<Home>,
}
