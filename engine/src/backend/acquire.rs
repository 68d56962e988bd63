//! A connection that cannot be had at once: it is waited for, opened, or there is no backend.

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

/// When no backend can be used, and none is heard of, all are tried again after so long.
const PAUSE_RETRY: Duration = Duration::from_millis(250);

impl PooledSession {
    /// Waits until a transaction may begin.
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

    /// It waits for whichever backend comes, and for none in particular.
    pub(super) fn note_queued(&mut self) {
        self.command.timing.queues();
        self.control.unsettle();
        self.control.note(self.env.relay.clock.now(), false);
    }

    /// Waits for one that comes back, or for leave to open one; `None` where it was dead: begin again.
    pub(super) async fn wait_for_others(&mut self, wait: Wait) -> Option<CheckoutStep> {
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
        let request_id = self.routing.home().map(|home| home.id);
        let wish = Wish {
            seats: request_id.as_slice(),
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

    /// A connection to a backend that can be had without waiting, and without anybody waiting for it then.
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

    /// A connection to this backend, if need be after a wait for one.
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

    /// Waits for what it needs to get a connection, as long as the client is there and its statement not
    /// killed.
    pub(crate) async fn wait_unless_killed<T>(
        &mut self,
        event: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let waited = self.unless_killed(event).await;
        waited.map_err(|cut| crate::failure::retry::waiting(&cut))
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
