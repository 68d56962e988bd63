//! Statements that a rule sends to another cluster as well: one after the other, by a session of their
//! own [beside](super::shadow_session) the client's, whose replies nobody hears. The client's session never waits
//! for it; what is too much is dropped, and counted.

use sql::{Facts, StatementKind};
use wire::Command;
use wire::execute::Execute;
use wire::query::Query;

use crate::session::PooledSession;
use backend::prepared_statement::StatementKey;
use command::command_policy::Reflected;
use command::statement::{BulkExecution, Executing};
use script_host::shadow_queue::{Reflection, ShadowStatement, Work};

impl PooledSession {
    /// Sends a COM_QUERY's text to the mirror as well.
    pub(crate) fn mirror_query(&mut self, reflected: Reflected, facts: &Facts, text: &[u8]) {
        // Its file is the client's to send, once.
        if matches!(facts.kind, StatementKind::Load) {
            return self.not_mirrored(reflected);
        }
        let mut payload = Vec::new();
        let attributes = b"".as_slice();
        Query { attributes, text }.encode(self.client.capabilities(), &mut payload);
        let mut packets = Vec::new();
        wire::write::put_packets(&mut packets, 0, &payload);
        self.reflect(reflected, Work::Query(packets));
    }

    /// Sends an execution to the mirror as well.
    pub(crate) fn mirror_execute(&mut self, executing: &Executing<'_>) {
        let Some(reflected) = self.command.policy.as_ref().and_then(|it| it.mirror) else {
            return;
        };
        if !executing.long_data.is_empty() {
            return self.not_mirrored(reflected);
        }
        let execute = &executing.execute;
        let mut payload = Vec::new();
        Execute {
            statement_id: 0,
            flags: execute.flags & Execute::PARAMETER_COUNT_AVAILABLE,
            types: executing.types.as_deref(),
            ..*execute
        }
        .encode(self.client.capabilities(), &mut payload);
        let key = mirrored(&executing.key, reflected);
        let count = executing.parameter_count;
        self.reflect(reflected, Work::Execute(key, count, payload));
    }

    /// Sends a bulk execution to the mirror as well: all of its rows, and the types stand in it.
    pub(crate) fn mirror_bulk_execute(&mut self, bulk: &BulkExecution<'_>) {
        let Some(reflected) = self.command.policy.as_ref().and_then(|it| it.mirror) else {
            return;
        };
        let mut payload = Vec::with_capacity(1 + bulk.argument.len());
        payload.push(Command::STMT_BULK_EXECUTE.0);
        payload.extend_from_slice(bulk.argument);
        let key = mirrored(&bulk.key, reflected);
        let count = bulk.parameter_count;
        self.reflect(reflected, Work::BulkExecute(key, count, payload));
    }

    fn reflect(&mut self, reflected: Reflected, work: Work) {
        let is_there = match self.routing.reflection() {
            Reflection::Into(beside) => beside.is_in(reflected.cluster),
            Reflection::None => false,
            Reflection::Itself => return,
        };
        if !is_there {
            match self.beside(reflected.cluster) {
                Some(beside) => self.routing.reflect_into(beside),
                None => return self.not_mirrored(reflected),
            }
        }
        let Reflection::Into(beside) = self.routing.reflection() else {
            return;
        };
        if beside
            .send(ShadowStatement::of(self.sql_state.session().values(), work))
            .is_err()
        {
            self.not_mirrored(reflected);
        }
    }

    fn not_mirrored(&self, reflected: Reflected) {
        let rule_set = self.env.rule_set();
        rule_set.counters.mirror_dropped(reflected.rule);
    }
}

/// The same statement in the mirror's cluster.
fn mirrored(key: &StatementKey, reflected: Reflected) -> StatementKey {
    StatementKey {
        cluster: reflected.cluster,
        cursor: None,
        ..key.clone()
    }
}
