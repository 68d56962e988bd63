//! A connection for a session's next command: to which backend, and which one of those there are.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::{BalanceConfig, Fallback, ReadPolicy};
use net::clock;
use pool::CloseReason;
use route::{Arrival, Backend, BackendId, NoBackend, Role, Roles, Use, Whole, Wish, Written};
use session::state::distance;
use tokio::time::{timeout, timeout_at};

use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::pending_answers::PendingAnswers;
use backend::running_statements::{self, RunningStatement};
use backend::sub_pool::{SubPool, SubPoolId};
use backend::worker_pool::{CheckoutStep, HeldConnection, Wait};
use command::target::CommandTarget;
use link::failure::{Failure, FailureKind};
use registry::session_control::Ask;
use relay::outcome::Home;

/// When no backend can be used, and none is heard of, all are tried again after so long.
const PAUSE_RETRY: Duration = Duration::from_millis(250);

impl PooledSession {
    /// Sees to it that the session has a connection for a command with this aim. One that it cannot
    /// leave is kept.
    pub(crate) async fn hold(&mut self, command_target: CommandTarget) -> Result<(), Failure> {
        if self.held.lease.is_some() {
            return Ok(());
        }
        self.is_left_one()?;
        if self.sql_state.aftermath.is_saving() {
            Box::pin(self.outwait_saving()).await;
        }
        self.take_up_saved();
        let backend = self.backend(command_target, &[]);
        let admitted = match &backend {
            // What is asked about the session's last statement is short, and so is what a KILL asks first.
            Ok(_) if command_target == CommandTarget::Same => None,
            Ok(backend) => match self.admitted(backend) {
                Ok(admitted) => admitted,
                Err(sub_pool) => Some(Box::pin(self.stand_in_line(sub_pool)).await?),
            },
            Err(_) => None,
        };
        let mut begun = match &backend {
            Ok(backend) if !self.leaves_answers(backend) => Some(self.begin(backend)),
            _ => None,
        };
        if let Some(CheckoutStep::Waits(wait)) = begun {
            begun = self.outwait_others(wait).await;
        }
        let mut lent = match begun {
            Some(CheckoutStep::HeldConnection(lent)) => lent,
            begun => Box::pin(self.hold_slowly(command_target, backend, begun)).await?,
        };
        lent.admit(admitted);
        let is_apart = self.sql_state.aftermath.is_apart_from(&lent.conn);
        self.held.lease = Some(lent);
        if is_apart {
            Box::pin(self.recall()).await?;
            if self.held.lease.is_none() {
                return Box::pin(self.hold(command_target)).await;
            }
        }
        self.routing.riding.ridden = None;
        self.keep_inherited();
        // Others may have asked while it waited for a connection.
        self.take_up_saved();
        Ok(())
    }

    /// Whether a transaction may begin on a backend now, or where it has to wait.
    #[inline]
    fn admitted(
        &mut self,
        backend: &Arc<Backend>,
    ) -> Result<Option<RunningStatement>, Rc<SubPool>> {
        self.sub_pool(backend);
        let Some(known) = &self.held.sub_pool else {
            return Ok(None);
        };
        match RunningStatement::begin(&known.sub_pool) {
            Some(admitted) => Ok(Some(admitted)),
            None => Err(Rc::clone(&known.sub_pool)),
        }
    }

    /// Waits until a transaction may begin.
    async fn stand_in_line(&mut self, sub_pool: Rc<SubPool>) -> Result<RunningStatement, Failure> {
        self.note_queued();
        let env = Rc::clone(&self.env);
        let patience = self.settings.config.pool.timeout_wait;
        let turn = running_statements::stand_in_line(&env.pool_env, &sub_pool);
        let waited = self.wait_unless_killed(timeout(patience, turn)).await?;
        waited.map_err(|_| running_statements::no_turn_in_time(&sub_pool, patience))
    }

    /// It waits for whichever backend comes, and for none in particular.
    fn note_queued(&mut self) {
        self.command.timing.queues();
        self.watch.unsettle();
        self.watch.note(self.env.relay.clock.now(), false);
    }

    /// Asks for a connection to a backend; in the usual case one lies idle.
    fn begin(&mut self, backend: &Arc<Backend>) -> CheckoutStep {
        let sub_pool = self.sub_pool(backend);
        if self.sql_state.aftermath.is_owed()
            && let Some(own) = self.take_own(sub_pool)
        {
            return CheckoutStep::HeldConnection(own);
        }
        let patience = self.settings.config.pool.timeout_wait;
        let (state, aftermath) = (&self.sql_state.session, &self.sql_state.aftermath);
        let place = &mut self.held.waiter;
        self.env.pool.begin(sub_pool, patience, place, |conn| {
            nearness(conn, state, aftermath)
        })
    }

    /// Waits for one that comes back, or for leave to open one; `None` where it was dead: begin again.
    async fn outwait_others(&mut self, wait: Wait) -> Option<CheckoutStep> {
        self.note_queued();
        match self.wait_unless_killed(wait.granting).await {
            Ok(granted) => {
                wait.ticket.spend();
                let patience = self.settings.config.pool.timeout_wait;
                let desk = &self.env.pool;
                desk.granted(wait.sub_pool, granted, patience)
            }
            Err(failure) => Some(CheckoutStep::Refused(failure)),
        }
    }

    /// The other cases: one has to be opened, or there is no backend. `found` is the one that the aim
    /// leads to now, and `begun` what came of asking there.
    async fn hold_slowly(
        &mut self,
        command_target: CommandTarget,
        mut found: Result<Arc<Backend>, NoBackend>,
        mut begun: Option<CheckoutStep>,
    ) -> Result<HeldConnection, Failure> {
        let env = Rc::clone(&self.env);
        let mut since = None;
        let mut tried: Vec<BackendId> = Vec::new();
        let mut last: Option<Failure> = None;
        self.note_queued();
        loop {
            match found {
                Ok(backend) => match self.check_out_of(&backend, begun.take()).await {
                    Ok(lent) => return Ok(lent),
                    Err(failure)
                        if matches!(
                            failure.kind,
                            FailureKind::NoBackend
                                | FailureKind::BackendLogin
                                | FailureKind::BackendsFull
                        ) =>
                    {
                        self.routing.home = self
                            .routing
                            .home
                            .take()
                            .filter(|it| it.backend.id != backend.id);
                        tried.push(backend.id);
                        last = Some(failure);
                    }
                    Err(failure) => return Err(failure),
                },
                Err(none) => {
                    if let Some(known) = self.backend_once_known(command_target, &tried).await {
                        found = Ok(known);
                        continue;
                    }
                    let now = clock::now();
                    let patience = self.patience(last.as_ref(), command_target);
                    let deadline = *since.get_or_insert(now) + patience;
                    if now >= deadline {
                        let none = || Failure::new(FailureKind::NoBackend, none.to_string());
                        return Err(last.unwrap_or_else(none));
                    }
                    let until = deadline.min(now + PAUSE_RETRY);
                    // Whether or not anything was heard, all are tried again.
                    let _ = self
                        .wait_unless_killed(timeout_at(until, env.pool.news()))
                        .await?;
                    tried.clear();
                }
            }
            found = self.backend(command_target, &tried);
        }
    }

    /// How long a backend is waited for after such a failure: while a server is full, as long as while the pool is.
    fn patience(&self, last: Option<&Failure>, command_target: CommandTarget) -> Duration {
        let config = &self.settings.config;
        let Some(full) = last.filter(|it| it.kind == FailureKind::BackendsFull) else {
            return patience(&config.balance, command_target);
        };
        tracing::warn!(
            kind = "server_full",
            cause = full.cause,
            limit = "pool.timeout_wait",
            "a server takes no more connections; a session waits for one"
        );
        config.pool.timeout_wait
    }

    /// A read that may not fall back to the primary, where nobody knows what it has to wait for: the
    /// primary is asked for that, and it goes where that leads.
    async fn backend_once_known(
        &mut self,
        command_target: CommandTarget,
        tried: &[BackendId],
    ) -> Option<Arc<Backend>> {
        let is_placed = matches!(
            command_target,
            CommandTarget::Replica | CommandTarget::Ordered(_)
        );
        if !is_placed || *self.must_see() != Written::Unknown {
            return None;
        }
        let primary = self.primary()?;
        let checked_out = self.check_out(&primary, None).await;
        if let Err(failure) = &checked_out
            && failure.kind == FailureKind::StatementKilled
        {
            // Whoever waits next hears it.
            self.watch.ask(Ask::KillStatement);
        }
        let mut lent = checked_out.ok()?;
        let env = Rc::clone(&self.env);
        let nobody = Rc::default();
        let asked =
            match backend::settle_answers::settle(&env.pool_env, &mut lent.conn, &nobody).await {
                Ok(()) => self.ask_position(&mut lent.conn).await,
                broken => broken,
            };
        self.take_up_saved();
        match asked {
            Ok(()) => env.pool.give_back(lent),
            Err(_) => {
                env.pool.forget(lent, CloseReason::Broken);
                return None;
            }
        }
        self.backend(command_target, tried).ok()
    }

    /// The primary of the cluster where the command of the moment reads.
    fn primary(&self) -> Option<Arc<Backend>> {
        let env = &self.env;
        let topology = Arc::clone(&env.pool_env.topology.borrow());
        let seat = self.routing.home.as_ref().map(|home| home.backend.id);
        let wish = Wish {
            seats: seat.as_slice(),
            ..Wish::to(self.level().0, Roles::Primary)
        };
        let now = env.now();
        let dice = &mut env.relay.login.dice.borrow_mut();
        let placed = route::place(&topology, &wish, &env.loads, now, dice, &mut ());
        placed.ok().map(|placed| Arc::clone(placed.backend))
    }

    async fn check_out_of(
        &mut self,
        backend: &Arc<Backend>,
        begun: Option<CheckoutStep>,
    ) -> Result<HeldConnection, Failure> {
        if begun.is_none() && self.leaves_answers(backend) {
            self.take_answers_along().await?;
        }
        self.check_out(backend, begun).await
    }

    /// A connection to a backend that can be had without waiting, and without anybody waiting for it then.
    pub async fn check_out_if_free(&mut self, backend: &Arc<Backend>) -> Option<HeldConnection> {
        match self.begin(backend) {
            CheckoutStep::HeldConnection(lent) => Some(lent),
            CheckoutStep::Permit(sub_pool, permit) => {
                let opened = self.env.pool.open(sub_pool, permit).await;
                opened.ok()
            }
            CheckoutStep::Waits(_) | CheckoutStep::Refused(_) => None,
        }
    }

    /// A connection to this backend, if need be after a wait for one.
    pub async fn check_out(
        &mut self,
        backend: &Arc<Backend>,
        mut begun: Option<CheckoutStep>,
    ) -> Result<HeldConnection, Failure> {
        loop {
            match begun.take().unwrap_or_else(|| self.begin(backend)) {
                CheckoutStep::HeldConnection(lent) => return Ok(lent),
                CheckoutStep::Refused(failure) => return Err(failure),
                CheckoutStep::Permit(sub_pool, permit) => {
                    return self.env.pool.open(sub_pool, permit).await;
                }
                CheckoutStep::Waits(wait) => begun = self.outwait_others(wait).await,
            }
        }
    }

    /// Waits for what it needs to get a connection, as long as the client is there and its statement not
    /// killed.
    pub(crate) async fn wait_unless_killed<T>(
        &mut self,
        event: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let waited = self.unless_killed(event).await;
        waited.map_err(|cut| crate::failure::retry::waiting(&cut))
    }

    pub(crate) fn sub_pool(&mut self, backend: &Arc<Backend>) -> SubPoolId {
        let env = &self.env;
        let (known, kind, login) = (
            &mut self.held.sub_pool,
            &self.identity.key,
            &self.identity.login,
        );
        env.pool.shelf_again(known, backend, kind, login)
    }

    /// The backend that the aim leads to.
    pub fn backend(
        &mut self,
        command_target: CommandTarget,
        tried: &[BackendId],
    ) -> Result<Arc<Backend>, NoBackend> {
        match self.backends_out() {
            [] => self.backend_but(command_target, tried),
            out => {
                let but = [out, tried].concat();
                self.backend_but(command_target, &but)
            }
        }
    }

    fn backend_but(
        &mut self,
        command_target: CommandTarget,
        tried: &[BackendId],
    ) -> Result<Arc<Backend>, NoBackend> {
        self.routing.course.awaited = None;
        self.routing.course.wants_position = false;
        match self.target_of_transaction(command_target) {
            CommandTarget::Home => self.at_home(tried),
            CommandTarget::Replica => match self.only_backend(tried) {
                Some(only) => Ok(only),
                None => self.placed(Roles::Replica, tried),
            },
            CommandTarget::Optimistic => self.at_replica_or_home(tried),
            CommandTarget::Ordered(roles) => self.placed(roles, tried),
            CommandTarget::Same => match self.last_backend(tried) {
                Some(last) => Ok(last),
                None => self.anywhere(tried),
            },
            CommandTarget::Any => self.anywhere(tried),
        }
    }

    /// The only backend that there is, where it is the session's own or a primary: a read that is for a
    /// replica falls back to it without a choice.
    fn only_backend(&self, tried: &[BackendId]) -> Option<Arc<Backend>> {
        let topology = self.env.pool_env.topology.borrow();
        let [only] = &topology.backends[..] else {
            return None;
        };
        let is_home = match &self.routing.home {
            Some(home) => home.backend.id == only.id && only.role != Some(Role::Replica),
            None => {
                only.role == Some(Role::Primary)
                    && only.cluster == self.routing.course.cluster
                    && only.sessions_max.is_none()
            }
        };
        let falls_back = self.settings.config.balance.fallback == Fallback::Primary;
        let is_free = self.command.policy.is_none()
            && self.routing.course.choice.backend().is_none()
            && tried.is_empty();
        (is_home && falls_back && is_free && only.is_usable()).then(|| Arc::clone(only))
    }

    /// A replica that takes it, at once or behind a wait, or the session's own backend.
    fn at_replica_or_home(&mut self, tried: &[BackendId]) -> Result<Arc<Backend>, NoBackend> {
        if let Ok(backend) = self.placed(Roles::Replica, tried)
            && backend.role == Some(Role::Replica)
        {
            return Ok(backend);
        }
        // Where nobody knows what to wait for, that is asked there, for the next one.
        self.routing.course.awaited = None;
        self.at_home(tried)
    }

    /// The session's own backend, or another one where that is not to be had.
    fn anywhere(&mut self, tried: &[BackendId]) -> Result<Arc<Backend>, NoBackend> {
        match self.at_home(tried) {
            Err(_) if self.is_split() => self.placed(Roles::Any, tried),
            home => home,
        }
    }

    /// The backend of the session's last command, while it can be used.
    pub fn last_backend(&self, tried: &[BackendId]) -> Option<Arc<Backend>> {
        let last = self
            .routing
            .course
            .last
            .filter(|last| !tried.contains(last))?;
        let topology = self.env.pool_env.topology.borrow();
        let backend = topology.backend(last)?;
        backend.is_usable().then(|| Arc::clone(backend))
    }

    /// The session's own backend, which is chosen anew when it cannot be used.
    fn at_home(&mut self, tried: &[BackendId]) -> Result<Arc<Backend>, NoBackend> {
        let env = Rc::clone(&self.env);
        let topology = Arc::clone(&env.pool_env.topology.borrow());
        let roles = self.routing.course.roles();
        let use_for = self.routing.course.use_for.get();
        let at_home = self.routing.home.as_ref().and_then(|home| {
            topology.backend(home.backend.id).filter(|backend| {
                backend.is_usable()
                    && roles.allow(backend.role)
                    && !tried.contains(&backend.id)
                    && !(use_for == Use::Writes && backend.is_read_only_primary())
            })
        });
        if let Some(backend) = at_home {
            return Ok(Arc::clone(backend));
        }
        let whole = Whole {
            cluster: self.routing.course.cluster,
            roles,
            tried,
            use_for,
        };
        loop {
            let now = env.now();
            let dice = &mut env.relay.login.dice.borrow_mut();
            let backend = route::choose(&topology, &whole, now, dice)?;
            // Another worker may have been faster; then the choice is made again.
            if let Some(slot) = backend.begin() {
                self.routing.home = Some(Home {
                    backend: Arc::clone(&backend),
                    slot,
                });
                return Ok(backend);
            }
        }
    }

    /// A backend for one statement, which may have to wait there for what it must see.
    fn placed(&mut self, roles: Roles, tried: &[BackendId]) -> Result<Arc<Backend>, NoBackend> {
        let env = Rc::clone(&self.env);
        let topology = Arc::clone(&env.pool_env.topology.borrow());
        let seat = self.routing.home.as_ref().map(|home| home.backend.id);
        let written = self.must_see();
        let wish = self.ordered(roles, tried, seat.as_slice(), &written);
        let now = env.now();
        let dice = &mut env.relay.login.dice.borrow_mut();
        let placed = route::place(&topology, &wish, &env.loads, now, dice, &mut ())?;
        if placed.arrival == Arrival::AfterWait {
            self.routing.course.awaited = written.position().cloned();
        }
        self.routing.course.wants_position = *written == Written::Unknown;
        self.routing.course.replica = Some(placed.backend.id);
        Ok(Arc::clone(placed.backend))
    }

    /// The replica that the session stays with, where the configuration has it stay.
    pub fn sticky(&self) -> Option<BackendId> {
        let policy = self.settings.config.balance.reads;
        self.routing
            .course
            .replica
            .filter(|_| policy == ReadPolicy::Sticky)
    }

    /// What a statement that may go to a replica asks for, but for what it must see.
    pub(crate) fn wish<'a>(
        &self,
        roles: Roles,
        tried: &'a [BackendId],
        seats: &'a [BackendId],
    ) -> Wish<'a> {
        let balance = &self.settings.config.balance;
        Wish {
            fallback: match balance.fallback {
                Fallback::Primary => route::Fallback::Primary,
                Fallback::Wait | Fallback::Error => route::Fallback::Nobody,
            },
            timeout_consistency: balance.timeout_consistency,
            sticky: self.sticky(),
            seats,
            tried,
            use_for: self.routing.course.use_for.get(),
            ..Wish::to(self.routing.course.cluster, roles)
        }
    }
}

/// How long a backend is waited for. Who has no replica left and wants an error gets it at once.
fn patience(balance: &BalanceConfig, command_target: CommandTarget) -> Duration {
    let is_for_replica = matches!(
        command_target,
        CommandTarget::Replica | CommandTarget::Ordered(Roles::Replica)
    );
    match is_for_replica && balance.fallback == Fallback::Error {
        true => Duration::ZERO,
        false => balance.timeout_backend_wait,
    }
}

/// How far a connection's state is from the session's. One that knows what this session may ask for
/// comes first, one that knows what another may ask for comes later.
fn nearness(
    conn: &BackendConn,
    state: &session::state::SessionState,
    aftermath: &Rc<PendingAnswers>,
) -> u32 {
    distance(state, &conn.state).saturating_add(aftermath.distance(conn))
}
