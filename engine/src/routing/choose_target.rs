//! Where a session's next command is to go, as far as its facts, its transaction and rules say it.

use route::{BackendId, Transaction, Use, Wanted, Why};
use sql::Facts;
use wire::{StatusFlags, errors};

use crate::session::PooledSession;
use command::command_policy::CommandPolicy;
use command::target::CommandTarget;
use link::failure::{Failure, FailureKind};
use script_host::script_route::{ScriptRoute, ScriptTarget};

impl PooledSession {
    /// Where a statement of these facts is to go.
    pub fn command_target(&self, facts: &Facts) -> CommandTarget {
        self.routing
            .course
            .use_for
            .set(match route::needs_writable(facts) {
                true => Use::Writes,
                false => Use::Any,
            });
        if let Some(command_target) = self.ordered_aim(facts) {
            return command_target;
        }
        match self.wanted(facts) {
            None | Some(Wanted::Primary(_)) => CommandTarget::Home,
            Some(Wanted::Replica(Why::BeginsOptimistic)) => CommandTarget::Optimistic,
            Some(Wanted::Replica(_)) => CommandTarget::Replica,
            Some(Wanted::Same(_)) => CommandTarget::Same,
        }
    }

    /// Which role it wants, and why; none where all of the session's statements go one way.
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
        let is_open = self.client.status.contains(StatusFlags::IN_TRANS);
        match () {
            () if is_open && self.routing.optimism.is_some() => Transaction::Optimistic,
            () if is_open && self.client.status.contains(StatusFlags::IN_TRANS_READONLY) => {
                Transaction::Reading
            }
            () if is_open => Transaction::Open,
            () if self.client.status.contains(StatusFlags::AUTOCOMMIT) => Transaction::None,
            () => Transaction::Implicit,
        }
    }

    /// Backends to which the command of the moment does not go, by a script's word. A rule's or a hint's that
    /// names one goes before that.
    pub(crate) fn backends_out(&self) -> &[BackendId] {
        let order = self.command.policy.as_deref();
        match order.is_some_and(|it| it.backend.is_some()) {
            true => &[],
            false => &self.routing.course.choice.out.ids,
        }
    }

    /// Whether scripts leave a backend for the command of the moment.
    pub(crate) fn is_left_one(&self) -> Result<(), Failure> {
        let ScriptRoute { place, out } = &self.routing.course.choice;
        let order = self.command.policy.as_deref();
        let is_nowhere =
            *place == ScriptTarget::Nowhere && !order.is_some_and(CommandPolicy::directs);
        let are_out = out.are_all && !self.backends_out().is_empty();
        match is_nowhere || are_out {
            true => Err(all_down()),
            false => Ok(()),
        }
    }
}

fn all_down() -> Failure {
    Failure::saying(FailureKind::NoBackend, errors::backends_down())
}
