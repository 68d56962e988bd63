//! The target of a command, if a rule, a hint or a script decides it.

use config::ReplicaUse;
use route::{BackendId, Roles, Wanted, Wish, Written};
use sql::Facts;

use crate::session::PooledSession;
use command::command_policy::CommandPolicy;
use command::target::CommandTarget;

impl PooledSession {
    /// The target that the command's policy gives a statement. `None`: the policy leaves that open.
    pub(crate) fn policy_target(&self, facts: &Facts) -> Option<CommandTarget> {
        let Some(order) = self.command.policy.as_ref().filter(|it| it.directs()) else {
            return self
                .routing
                .state()
                .script_route()
                .backend()
                .map(|_| CommandTarget::Ordered(Roles::Any));
        };
        if order.backend.is_some() {
            return Some(CommandTarget::Ordered(Roles::Any));
        }
        let is_own = order
            .cluster
            .is_none_or(|it| it == self.routing.settings().cluster);
        let roles = match order.role.unwrap_or(self.routing.settings().replicas) {
            ReplicaUse::Primary => Roles::Primary,
            ReplicaUse::Replica => Roles::Replica,
            ReplicaUse::Any => Roles::Any,
            ReplicaUse::Split => match route::wanted(facts, self.transaction()) {
                Wanted::Primary(_) => Roles::Primary,
                Wanted::Replica(_) => Roles::Replica,
                Wanted::Same(_) if is_own => return Some(CommandTarget::Same),
                Wanted::Same(_) => Roles::Primary,
            },
        };
        Some(match is_own && roles == self.routing.settings().roles() {
            true => CommandTarget::Home,
            false => CommandTarget::Ordered(roles),
        })
    }

    /// The criteria for the backend of a command whose policy says where it goes.
    pub fn ordered<'a>(
        &self,
        roles: Roles,
        tried: &'a [BackendId],
        seats: &'a [BackendId],
        written: &'a Written,
    ) -> Wish<'a> {
        let order = self.command.policy.as_deref();
        // A rule or a hint goes before the script.
        let is_ordered = order.is_some_and(CommandPolicy::directs);
        let choice = self.routing.state().script_route();
        let chosen = choice.backend().filter(|_| !is_ordered).unzip();
        Wish {
            cluster: order
                .and_then(|it| it.cluster)
                .or(chosen.1)
                .unwrap_or(self.routing.settings().cluster),
            backend: order.and_then(|it| it.backend).or(chosen.0),
            lag_max: order.and_then(|it| it.lag_max),
            written,
            ..self.wish(roles, tried, seats)
        }
    }

    /// The target of a statement that its replica could not serve: a primary of the same cluster.
    pub(crate) fn after_ordered(&mut self, roles: Roles) -> CommandTarget {
        if let Some(order) = self.command.policy.as_deref_mut()
            && roles != Roles::Primary
        {
            order.backend = None;
            return CommandTarget::Ordered(Roles::Primary);
        }
        match self.routing.state_mut().script_route_mut().take() {
            Some(_) => CommandTarget::Ordered(Roles::Primary),
            None => CommandTarget::Ordered(roles),
        }
    }
}
