//! Where a session's next command goes: its target, by its facts, its transaction and rules, and the backend that the
//! target leads to.

use std::rc::Rc;
use std::sync::Arc;

use config::{Fallback, ReadPolicy};
use route::{
    Arrival, Backend, BackendId, NoBackend, Role, Roles, Transaction, Use, Wanted, Whole, Why,
    Wish, Written,
};
use sql::Facts;
use wire::{StatusFlags, errors};

use crate::session::PooledSession;
use command::command_policy::CommandPolicy;
use command::target::CommandTarget;
use link::failure::{Failure, FailureKind};
use script_host::script_route::ScriptTarget;

impl PooledSession {
    /// The target of a statement with these facts.
    pub fn command_target(&mut self, facts: &Facts) -> CommandTarget {
        self.command.use_for = use_of(facts);
        if let Some(command_target) = self.policy_target(facts) {
            return command_target;
        }
        match self.wanted(facts) {
            None | Some(Wanted::Primary(_)) => CommandTarget::Home,
            Some(Wanted::Replica(Why::BeginsOptimistic)) => CommandTarget::Optimistic,
            Some(Wanted::Replica(_)) => CommandTarget::Replica,
            Some(Wanted::Same(_)) => CommandTarget::Same,
        }
    }

    /// The target of a statement that runs at the session's own backend, unless a rule, a hint or a script says
    /// otherwise.
    pub(crate) fn home_target(&mut self, facts: &Facts) -> CommandTarget {
        self.command.use_for = use_of(facts);
        self.policy_target(facts).unwrap_or(CommandTarget::Home)
    }

    /// The role that a statement wants, and why. `None`: all of the session's statements go one way.
    pub fn wanted(&self, facts: &Facts) -> Option<Wanted> {
        self.is_split()
            .then(|| match route::wanted(facts, self.transaction()) {
                Wanted::Primary(Why::BeginsWriting) if self.begins_optimistic(facts) => {
                    Wanted::Replica(Why::BeginsOptimistic)
                }
                wanted => wanted,
            })
    }

    pub(crate) fn transaction(&self) -> Transaction {
        let is_open = self.client.status().contains(StatusFlags::IN_TRANS);
        match () {
            () if is_open && self.routing.optimistic().is_some() => Transaction::Optimistic,
            () if is_open
                && self
                    .client
                    .status()
                    .contains(StatusFlags::IN_TRANS_READONLY) =>
            {
                Transaction::Reading
            }
            () if is_open => Transaction::Open,
            () if self.client.status().contains(StatusFlags::AUTOCOMMIT) => Transaction::None,
            () => Transaction::Implicit,
        }
    }

    /// Backends that a script excludes for the current command. If a rule or a hint names a backend, it excludes
    /// none.
    pub(crate) fn backends_out(&self) -> &[BackendId] {
        let order = self.command.policy.as_deref();
        match order.is_some_and(|it| it.backend.is_some()) {
            true => &[],
            false => self.routing.state().script_route().out_ids(),
        }
    }

    /// Refuses the current command if scripts exclude every backend for it.
    pub(crate) fn is_left_one(&self) -> Result<(), Failure> {
        let choice = self.routing.state().script_route();
        let order = self.command.policy.as_deref();
        let is_nowhere =
            choice.target == ScriptTarget::Nowhere && !order.is_some_and(CommandPolicy::directs);
        let are_out = choice.are_all_out() && !self.backends_out().is_empty();
        match is_nowhere || are_out {
            true => Err(all_down()),
            false => Ok(()),
        }
    }

    /// Chooses the backend for a target. Backends in `tried` are left out.
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
        self.routing.forget_waits();
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

    /// The only backend that exists, if it is the session's own or a primary: a read for a replica falls back to it,
    /// without a choice.
    fn only_backend(&self, tried: &[BackendId]) -> Option<Arc<Backend>> {
        let topology = self.env.pool_env.topology.borrow();
        let [only] = &topology.backends[..] else {
            return None;
        };
        let is_home = match self.routing.home() {
            Some(home) => home.id == only.id && only.role != Some(Role::Replica),
            None => {
                only.role == Some(Role::Primary)
                    && only.cluster == self.routing.settings().cluster
                    && only.sessions_max.is_none()
            }
        };
        let falls_back = self.settings.config.balance.fallback == Fallback::Primary;
        let is_free = self.command.policy.is_none()
            && self.routing.state().script_route().backend().is_none()
            && tried.is_empty();
        (is_home && falls_back && is_free && only.is_usable()).then(|| Arc::clone(only))
    }

    /// A replica that takes the statement, at once or after a wait, or else the session's own backend.
    fn at_replica_or_home(&mut self, tried: &[BackendId]) -> Result<Arc<Backend>, NoBackend> {
        if let Ok(backend) = self.placed(Roles::Replica, tried)
            && backend.role == Some(Role::Replica)
        {
            return Ok(backend);
        }
        // If the position to wait for is not known, the own backend is asked for it, for the next statement.
        self.routing.state_mut().awaited = None;
        self.at_home(tried)
    }

    /// The session's own backend, or another one if the own backend cannot be used.
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
            .state()
            .last()
            .filter(|last| !tried.contains(last))?;
        let topology = self.env.pool_env.topology.borrow();
        let backend = topology.backend(last)?;
        backend.is_usable().then(|| Arc::clone(backend))
    }

    /// The session's own backend, which is chosen anew when it cannot be used.
    fn at_home(&mut self, tried: &[BackendId]) -> Result<Arc<Backend>, NoBackend> {
        let env = Rc::clone(&self.env);
        let topology = Arc::clone(&env.pool_env.topology.borrow());
        let roles = self.routing.settings().roles();
        let use_for = self.command.use_for;
        let at_home = self.routing.home().and_then(|home| {
            topology.backend(home.id).filter(|backend| {
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
            cluster: self.routing.settings().cluster,
            roles,
            tried,
            use_for,
        };
        loop {
            let now = env.now();
            let dice = &mut env.relay.login.dice.borrow_mut();
            let backend = route::choose(&topology, &whole, now, dice)?;
            // Another worker may have taken the slot first; then the choice is made again.
            if let Some(slot) = backend.begin() {
                self.routing.settle(Arc::clone(&backend), slot);
                return Ok(backend);
            }
        }
    }

    /// Chooses a backend for one statement, which may have to wait there for the writes that it must see.
    fn placed(&mut self, roles: Roles, tried: &[BackendId]) -> Result<Arc<Backend>, NoBackend> {
        let env = Rc::clone(&self.env);
        let topology = Arc::clone(&env.pool_env.topology.borrow());
        let home_id = self.routing.home().map(|home| home.id);
        let written = self.must_see();
        let wish = self.ordered(roles, tried, home_id.as_slice(), &written);
        let now = env.now();
        let dice = &mut env.relay.login.dice.borrow_mut();
        let placed = route::select_backend(&topology, &wish, &env.loads, now, dice, &mut ())?;
        if placed.arrival == Arrival::AfterWait {
            self.routing.state_mut().awaited = written.position().cloned().map(Box::new);
        }
        self.routing.state_mut().wants_position = *written == Written::Unknown;
        self.routing.state_mut().replica = Some(placed.backend.id);
        Ok(Arc::clone(placed.backend))
    }

    /// The replica that the session stays with, if the configuration wants sessions to stay.
    pub fn sticky(&self) -> Option<BackendId> {
        let policy = self.settings.config.balance.reads;
        self.routing
            .state()
            .replica
            .filter(|_| policy == ReadPolicy::Sticky)
    }

    /// The criteria for the backend of a statement that may go to a replica, without the writes that it must see.
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
            use_for: self.command.use_for,
            ..Wish::to(self.routing.settings().cluster, roles)
        }
    }
}

/// Returns the use that a statement makes of its backend.
fn use_of(facts: &Facts) -> Use {
    match route::needs_writable(facts) {
        true => Use::Writes,
        false => Use::Any,
    }
}

fn all_down() -> Failure {
    Failure::saying(FailureKind::NoBackend, errors::backends_down())
}
