//! Statements that name a view, a table with triggers or a procedure, which may do more than the text says. They are
//! routed and pinned by what the proxy knows of these definitions.

use session::Outcome;
use sql::{Does, Facts, Object, Role, StatementKind};

use crate::session::PooledSession;
use command::statement::Statement;

impl PooledSession {
    /// Adds to the facts what the views, triggers and routines do that a text names.
    #[inline]
    pub fn name_more(&self, facts: &mut Facts, text: &[u8]) {
        if !self.env.definitions.borrow().is_empty() {
            let does = self.does(facts, text, self.sql_state.session().values().schema());
            facts.name_more(does);
        }
    }

    /// Adds that to the facts of a statement that is about to run. A prepared statement names objects of the schema
    /// that it was prepared in.
    #[inline]
    pub(crate) fn name_hidden_objects(&self, statement: &mut Statement<'_>) {
        if self.env.definitions.borrow().is_empty() {
            return;
        }
        let schema = match statement.prepared() {
            Some((_, key)) => key.values.schema(),
            None => self.sql_state.session().values().schema(),
        };
        let does = self.does(statement.facts(), statement.text(), schema);
        if !does.only_reads() {
            statement.facts_mut().name_more(does);
        }
    }

    fn does(&self, facts: &Facts, text: &[u8], schema: Option<&[u8]>) -> Does {
        let definitions = self.env.definitions.borrow();
        let cluster = self.level().0;
        if facts.kind != StatementKind::Execute {
            return definitions.does(cluster, schema, facts, text);
        }
        let mut named = facts.mentions_of(Role::Prepared);
        let name = named.next().map(|mention| mention.name.name(text));
        let prepared = name.and_then(|name| self.sql_state.session().held().prepared_text(&name));
        match prepared {
            Some(text) => {
                let facts = sql::facts(text, self.sql_state.session().flags());
                definitions.does(cluster, schema, &facts, text)
            }
            None => Does::default(),
        }
    }

    /// Has definitions read again, if a statement may have changed them.
    #[inline]
    pub(crate) fn note_definitions(&self, facts: &Facts, outcome: Outcome) {
        let mut parts = facts.statements.iter();
        if outcome == Outcome::Ok && parts.any(|part| defines(part.kind)) {
            let report = route::Report::DefinitionsChanged;
            self.env.pool_env.report(report);
        }
    }
}

/// Whether a statement may change what views, routines, triggers and defaults do.
fn defines(kind: StatementKind) -> bool {
    match kind.changed_object() {
        Some(object) => matches!(
            object,
            Object::View
                | Object::Routine
                | Object::Trigger
                | Object::Table
                | Object::Schema
                | Object::Sequence
                | Object::Other
        ),
        None => matches!(
            kind,
            StatementKind::Execute
                | StatementKind::ExecuteImmediate
                | StatementKind::Compound
                | StatementKind::Unknown
        ),
    }
}
