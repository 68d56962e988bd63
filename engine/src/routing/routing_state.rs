//! The state by which all statements of a session are routed, and the writes that its reads must see.

use std::sync::Arc;

use auth::Account;
use config::{Config, Consistency, LaneUse, ListenerConfig, ReplicaUse};
use route::{BackendId, ClusterId, Position, Roles, Written};

use login::destination::{Destination, roles_of};
use relay::relay_env::RelayEnv;
use script_host::script_route::ScriptRoute;

/// Where the settings of account, listener and configuration let a session's commands go.
#[derive(Clone, Copy, Debug)]
pub struct RoutingSettings {
    /// The cluster of its backends.
    pub cluster: ClusterId,
    pub(crate) replicas: ReplicaUse,
    pub(crate) consistency: Consistency,
    /// Which of its statements may use shared lanes.
    pub(crate) lanes: LaneUse,
    /// A random number, for rules about a percentage of the sessions.
    pub(crate) random: u64,
}

impl RoutingSettings {
    /// The roles that the session's own backend may have.
    pub fn roles(&self) -> Roles {
        roles_of(self.replicas)
    }

    /// The backends among which the session's own backend is chosen.
    pub(crate) fn destination(&self) -> Destination {
        Destination {
            cluster: self.cluster,
            roles: self.roles(),
        }
    }
}

/// Whether a session's transactions may begin on a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Optimistic {
    No,
    Yes,
    /// The last transaction's reads had other results on the primary, so the next transaction begins there.
    NotTheNext,
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

/// The routing state of one session. The state of one command is in its `CurrentCommand`.
#[derive(Debug)]
pub struct RoutingState {
    pub(super) settings: RoutingSettings,
    optimistic: Optimistic,
    begin: BeginProgress,
    /// The session's writes, as far as its reads have to see them.
    pub(super) written: Arc<Written>,
    /// The open transaction may have written.
    pub(super) has_unsaid_writes: bool,
    last: Option<BackendId>,
    /// The replica where the last read for a replica went.
    pub(super) replica: Option<BackendId>,
    choice: ScriptRoute,
    /// The position of the session's writes is not known. So the connection leads to the primary, which is asked for
    /// the position before the next statement there. If the session keeps its connection after the command, it keeps
    /// this flag, too.
    pub(super) wants_position: bool,
    /// The position that a replica must have reached before the next statement on its connection.
    pub(super) awaited: Option<Box<Position>>,
}

impl RoutingState {
    /// The account's settings go before the listener's, and those before the settings for all.
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
        let settings = RoutingSettings {
            cluster,
            replicas: replicas
                .or(listener.routing.replicas)
                .unwrap_or(all.replicas),
            consistency: consistency
                .or(listener.routing.consistency)
                .unwrap_or(all.consistency),
            lanes: lanes.or(listener.routing.lanes).unwrap_or(all.lanes),
            random: env.login.dice.borrow_mut().throw(),
        };
        let is_optimistic = is_optimistic
            .or(listener.routing.optimistic_transactions)
            .unwrap_or(all.optimistic_transactions);
        Self::new(settings, is_optimistic)
    }

    /// The same session's routing in another cluster, where it has written nothing yet. No client reads its replies.
    pub(crate) fn elsewhere(&self, cluster: ClusterId) -> Self {
        let settings = RoutingSettings {
            cluster,
            ..self.settings
        };
        Self::new(settings, false)
    }

    fn new(settings: RoutingSettings, is_optimistic: bool) -> Self {
        Self {
            settings,
            optimistic: match is_optimistic {
                true => Optimistic::Yes,
                false => Optimistic::No,
            },
            begin: BeginProgress::Past,
            written: Written::nothing(),
            has_unsaid_writes: false,
            last: None,
            replica: None,
            choice: ScriptRoute::default(),
            wants_position: false,
            awaited: None,
        }
    }

    /// The backend where the session's last command ran.
    pub fn last(&self) -> Option<BackendId> {
        self.last
    }

    pub(crate) fn runs_at(&mut self, backend: BackendId) {
        self.last = Some(backend);
    }

    /// The route that scripts have chosen.
    pub fn script_route(&self) -> &ScriptRoute {
        &self.choice
    }

    /// The same, for a script that changes it.
    pub fn script_route_mut(&mut self) -> &mut ScriptRoute {
        &mut self.choice
    }

    /// How far the BEGIN of the session's transaction has come.
    pub(crate) fn begin(&self) -> BeginProgress {
        self.begin
    }

    pub(crate) fn note_begin(&mut self, begin: BeginProgress) {
        self.begin = begin;
    }

    /// The position that the connection must have reached before the next statement there.
    pub(crate) fn awaited(&self) -> Option<&Position> {
        self.awaited.as_deref()
    }

    /// Whether the session's next transaction may begin on a replica.
    pub(crate) fn is_optimistic(&self) -> bool {
        self.optimistic == Optimistic::Yes
    }

    /// Notes that a transaction has begun at the primary.
    pub(crate) fn begins_at_primary(&mut self) {
        if self.optimistic == Optimistic::NotTheNext {
            self.optimistic = Optimistic::Yes;
        }
    }

    /// Notes that a transaction's reads had other results on the primary than on a replica.
    pub(crate) fn next_begins_at_primary(&mut self) {
        self.optimistic = Optimistic::NotTheNext;
    }
}
