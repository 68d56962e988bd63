//! What decides over all statements of a session where they go, and what its reads must see.

use std::cell::Cell;
use std::sync::Arc;

use auth::Account;
use config::{Config, Consistency, LaneUse, ListenerConfig, ReplicaUse};
use route::{BackendId, ClusterId, Position, Roles, Use, Written};

use login::destination::{Destination, roles_of};
use relay::relay_env::RelayEnv;
use script_host::script_route::ScriptRoute;

/// Whether a session's transactions may begin on a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimistic {
    No,
    Yes,
    /// What the last one had read on a replica was not the same on the primary: the next one begins there.
    NotTheNext,
}

impl Optimistic {
    fn allowed(is_allowed: bool) -> Self {
        if is_allowed { Self::Yes } else { Self::No }
    }

    /// A transaction has begun at the primary.
    pub(crate) fn begins_at_primary(&mut self) {
        *self = Self::allowed(*self != Self::No);
    }
}

/// How far the BEGIN of a session's transaction has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BeginProgress {
    /// No transaction is open, or more of it than its BEGIN has run.
    #[default]
    Past,
    /// The client has had the reply to BEGIN, and no server has got it yet.
    Deferred,
    /// Nothing but BEGIN has run, and it could run elsewhere as well.
    Alone,
}

/// One session's.
#[derive(Debug)]
pub struct RoutingState {
    /// The cluster of its backends.
    pub cluster: ClusterId,
    pub(crate) replicas: ReplicaUse,
    pub(crate) consistency: Consistency,
    /// Its transactions may begin on a replica.
    pub(crate) optimistic: Optimistic,
    /// How far the BEGIN of its transaction has come.
    pub(crate) begin: BeginProgress,
    /// Which of its statements may ride shared lanes.
    pub(crate) lanes: LaneUse,
    /// Decides over percentages of sessions.
    pub(crate) luck: u64,
    /// What it has written, as far as its reads are to see it.
    pub(crate) written: Arc<Written>,
    /// Its open transaction may have written.
    pub(super) has_unsaid_writes: bool,
    /// Where its last command ran.
    pub last: Option<BackendId>,
    /// Where its last read went that was for a replica.
    pub(crate) replica: Option<BackendId>,
    /// What scripts have said of backends.
    pub choice: ScriptRoute,
    /// What its command needs of a primary.
    pub(crate) use_for: Cell<Use>,
    /// Its next command is a read that went to the primary since nobody knows where in the stream its
    /// writes are.
    pub(crate) wants_position: bool,
    /// What the connection that it has got is not known to have, and must have for its next command.
    pub(crate) awaited: Option<Box<Position>>,
}

impl RoutingState {
    /// The account's word goes before the listener's, and that before what holds for all.
    pub(crate) fn of(
        env: &RelayEnv,
        config: &Config,
        listener: &ListenerConfig,
        account: Option<&Account>,
    ) -> Self {
        let all = &config.routing;
        let topology = env.pool.topology.borrow();
        let Destination { cluster, .. } = Destination::of(&topology, config, listener, account);
        let replicas = account.and_then(|account| account.routing.replicas);
        let consistency = account.and_then(|account| account.routing.consistency);
        let is_optimistic = account.and_then(|account| account.routing.optimistic_transactions);
        let lanes = account.and_then(|account| account.routing.lanes);
        Self {
            cluster,
            replicas: replicas
                .or(listener.routing.replicas)
                .unwrap_or(all.replicas),
            consistency: consistency
                .or(listener.routing.consistency)
                .unwrap_or(all.consistency),
            optimistic: Optimistic::allowed(
                is_optimistic
                    .or(listener.routing.optimistic_transactions)
                    .unwrap_or(all.optimistic_transactions),
            ),
            begin: BeginProgress::Past,
            lanes: lanes.or(listener.routing.lanes).unwrap_or(all.lanes),
            luck: env.login.dice.borrow_mut().throw(),
            written: Written::nothing(),
            has_unsaid_writes: false,
            last: None,
            replica: None,
            choice: ScriptRoute::default(),
            use_for: Cell::default(),
            wants_position: false,
            awaited: None,
        }
    }

    /// The same session's course in another cluster, where it has written nothing yet.
    pub(crate) fn elsewhere(state: &Self, cluster: ClusterId) -> Self {
        Self {
            cluster,
            replicas: state.replicas,
            consistency: state.consistency,
            // Nobody reads its replies.
            optimistic: Optimistic::No,
            begin: BeginProgress::Past,
            lanes: state.lanes,
            luck: state.luck,
            written: Written::nothing(),
            has_unsaid_writes: false,
            last: None,
            replica: None,
            choice: ScriptRoute::default(),
            use_for: Cell::default(),
            wants_position: false,
            awaited: None,
        }
    }

    /// The roles that the session's own backend may have.
    pub fn roles(&self) -> Roles {
        roles_of(self.replicas)
    }

    /// Among which backends the session's own one is chosen.
    pub(crate) fn destination(&self) -> Destination {
        Destination {
            cluster: self.cluster,
            roles: self.roles(),
        }
    }
}
