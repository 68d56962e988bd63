//! A connection that is not available at once: the session waits for one, opens one, or finds no backend.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::{BalanceConfig, Fallback};
use net::clock;
use pool::CloseReason;
use route::{Backend, BackendId, NoBackend, Roles, Wish, Written};
use tokio::time::{timeout, timeout_at};

use crate::session::PooledSession;
use backend::running_statements::{self, RunningStatement};
use backend::sub_pool::SubPool;
use backend::worker_pool::{CheckoutStep, HeldConnection, Wait};
use command::target::CommandTarget;
use link::failure::{Failure, FailureKind};
use registry::session_control::Ask;

/// If no backend can be used, and there is no news of any, all are tried again after this time.
const PAUSE_RETRY: Duration = Duration::from_millis(250);

impl PooledSession {
    /// Waits in the queue until a transaction may begin.
    pub(super) async fn join_queue(
        &mut self,
        sub_pool: Rc<SubPool>,
    ) -> Result<RunningStatement, Failure> {
        self.note_queued();
        let env = Rc::clone(&self.env);
        let patience = self.settings.config.pool.timeout_wait;
        let turn = running_statements::wait_in_queue(&env.pool_env, &sub_pool);
        let waited = self.wait_unless_killed(timeout(patience, turn)).await?;
        waited.map_err(|_| running_statements::queue_timed_out(&sub_pool, patience))
    }

    /// While the session is queued it has no backend. The admin view must not show one.
    pub(super) fn note_queued(&mut self) {
        self.command.timing.queues();
        self.control.unsettle();
        self.control.note(self.env.relay.clock.now(), false);
    }

    /// Waits for a connection that comes back, or for the permit to open one. `None`: that connection was dead, begin
    /// again.
    pub(super) async fn wait_for_others(&mut self, wait: Wait) -> Option<CheckoutStep> {
        self.note_queued();
        match self.wait_unless_killed(wait.granting).await {
            Ok(granted) => {
                wait.ticket.spend();
                let patience = self.settings.config.pool.timeout_wait;
                let worker_pool = &self.env.pool;
                worker_pool.granted(wait.sub_pool, granted, patience)
            }
            Err(failure) => Some(CheckoutStep::Refused(failure)),
        }
    }

    /// Acquires a connection in the other cases: it has to be opened, or there is no backend. `found`: the backend that
    /// the target leads to now. `begun`: the result of the first request there.
    pub(super) async fn hold_slowly(
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
                    Ok(lease) => return Ok(lease),
                    Err(failure)
                        if matches!(
                            failure.kind,
                            FailureKind::NoBackend
                                | FailureKind::BackendLogin
                                | FailureKind::BackendsFull
                        ) =>
                    {
                        self.routing.leave_home_at(backend.id);
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
                    // All backends are tried again, whether there was news or not.
                    let _ = self
                        .wait_unless_killed(timeout_at(until, env.pool.news()))
                        .await?;
                    tried.clear();
                }
            }
            found = self.backend(command_target, &tried);
        }
    }

    /// How long the session waits for a backend after this failure. If a server is full, as long as for a full pool.
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

    /// Chooses a backend for a read that may not fall back to the primary, if the position to wait for is not known:
    /// asks the primary for the position first.
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
            // The kill is kept, so that the session's next wait ends.
            self.control.ask(Ask::KillStatement);
        }
        let mut lease = checked_out.ok()?;
        let env = Rc::clone(&self.env);
        let nobody = Rc::default();
        let asked =
            match backend::settle_answers::settle(&env.pool_env, &mut lease.conn, &nobody).await {
                Ok(()) => self.ask_position(&mut lease.conn).await,
                broken => broken,
            };
        self.take_up_saved();
        match asked {
            Ok(()) => env.pool.give_back(lease),
            Err(_) => {
                env.pool.forget(lease, CloseReason::Broken);
                return None;
            }
        }
        self.backend(command_target, tried).ok()
    }

    /// The primary of the cluster where the current command reads.
    fn primary(&self) -> Option<Arc<Backend>> {
        let env = &self.env;
        let topology = Arc::clone(&env.pool_env.topology.borrow());
        let home_id = self.routing.home().map(|home| home.id);
        let wish = Wish {
            seats: home_id.as_slice(),
            ..Wish::to(self.level().0, Roles::Primary)
        };
        let now = env.now();
        let dice = &mut env.relay.login.dice.borrow_mut();
        let placed = route::select_backend(&topology, &wish, &env.loads, now, dice, &mut ());
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

    /// Returns a connection to a backend if this session need not wait for it, and no other session waits then.
    pub async fn check_out_if_free(&mut self, backend: &Arc<Backend>) -> Option<HeldConnection> {
        match self.begin(backend) {
            CheckoutStep::HeldConnection(lease) => Some(lease),
            CheckoutStep::Permit(sub_pool, permit) => {
                let opened = self.env.pool.open(sub_pool, permit).await;
                opened.ok()
            }
            CheckoutStep::Waits(_) | CheckoutStep::Refused(_) => None,
        }
    }

    /// Returns a connection to this backend, after a wait if necessary.
    pub async fn check_out(
        &mut self,
        backend: &Arc<Backend>,
        mut begun: Option<CheckoutStep>,
    ) -> Result<HeldConnection, Failure> {
        loop {
            match begun.take().unwrap_or_else(|| self.begin(backend)) {
                CheckoutStep::HeldConnection(lease) => return Ok(lease),
                CheckoutStep::Refused(failure) => return Err(failure),
                CheckoutStep::Permit(sub_pool, permit) => {
                    return self.env.pool.open(sub_pool, permit).await;
                }
                CheckoutStep::Waits(wait) => begun = self.wait_for_others(wait).await,
            }
        }
    }

    /// Waits for something that a connection needs, as long as the client is there and its statement is not killed.
    pub(crate) async fn wait_unless_killed<T>(
        &mut self,
        event: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let waited = self.unless_killed(event).await;
        waited.map_err(|cut| crate::failure::retry::waiting(&cut))
    }
}

/// How long a session waits for a backend. A read that is to fail without a replica fails at once.
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
