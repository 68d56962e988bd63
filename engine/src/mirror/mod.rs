//! Mirroring: a statement that a rule sends to another cluster as well. Its copy waits in the queue of a session without a
//! client (folder `shadow`), which discards the reply. The client's session never waits for a copy. A copy that finds no
//! room is dropped, and counted.
//!
//! The one entry is `mirror`. The pipeline calls it behind the step "rules". It costs one branch if no rule concerns the
//! statement.

mod statement_copy;

use crate::session::PooledSession;
use command::command_policy::Reflected;
use command::statement::Statement;
use script_host::shadow_queue::{Reflection, ShadowStatement};
use statement_copy::copy_of;

impl PooledSession {
    /// Sends a statement to the cluster that a rule has named for its copies. If a command is run as several statements,
    /// it is mirrored once, before that.
    #[inline]
    pub(crate) fn mirror(&mut self, statement: &Statement<'_>) {
        if let Some(policy) = &mut self.command.policy
            && let Some(reflected) = policy.mirror.take()
            && self.mirror_into(reflected, statement).is_none()
        {
            let rule_set = self.env.rule_set();
            rule_set.counters.mirror_dropped(reflected.rule);
        }
    }

    /// `None`: there is no copy.
    #[cold]
    fn mirror_into(&mut self, reflected: Reflected, statement: &Statement<'_>) -> Option<()> {
        let work = copy_of(statement, reflected.cluster, self.client.capabilities())?;
        let is_there = match self.routing.reflection() {
            Reflection::Into(beside) => beside.is_in(reflected.cluster),
            Reflection::None => false,
            Reflection::Itself => return Some(()),
        };
        if !is_there {
            let beside = self.shadow_session(reflected.cluster)?;
            self.routing.reflect_into(beside);
        }
        let Reflection::Into(beside) = self.routing.reflection() else {
            return Some(());
        };
        let copy = ShadowStatement::of(self.sql_state.session().values(), work);
        beside.send(copy).ok()
    }
}
