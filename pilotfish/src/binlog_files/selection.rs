//! Selects the events that are printed.

use binlog::{Event, MariadbGtidEvent, Query, TableMap, query_flags};
use sql::{Facts, Object, StatementKind};

use crate::arguments::BinlogArguments;

/// The selection that the arguments make.
pub struct Selection<'a> {
    is_ddl: bool,
    schema: Option<&'a str>,
    table: Option<&'a str>,
    /// The next ALTER TABLE has only begun, or has failed. MariaDB logs it again when it has been done.
    is_half_alter: bool,
}

impl<'a> Selection<'a> {
    /// The selection that the arguments make.
    pub fn of(arguments: &'a BinlogArguments) -> Self {
        Self {
            is_ddl: arguments.ddl,
            schema: arguments.database.as_deref(),
            table: arguments.table.as_deref(),
            is_half_alter: false,
        }
    }

    /// Whether an event is printed. Must be called for each event of the file, in order.
    pub fn takes(&mut self, event: &Event<'_>) -> bool {
        if let Event::MariadbGtid(gtid) = event {
            let half = MariadbGtidEvent::EXTRA_START_ALTER | MariadbGtidEvent::EXTRA_ROLLBACK_ALTER;
            self.is_half_alter = gtid.extra_flags & half != 0;
        }
        let takes_all = self.schema.is_none() && self.table.is_none();
        match event {
            Event::Query(query) => self.takes_query(query),
            Event::ExecuteLoad(load) => !self.is_ddl && self.takes_query(&load.query),
            _ if self.is_ddl => false,
            _ if takes_all => true,
            Event::TableMap(table) => self.takes_table(table),
            Event::Rows(_, Some(table)) => self.takes_table(table),
            _ => false,
        }
    }

    fn takes_table(&self, table: &TableMap) -> bool {
        self.schema.is_none_or(|schema| schema == table.schema)
            && self.table.is_none_or(|name| name == table.table)
    }

    fn takes_query(&self, query: &Query<'_>) -> bool {
        if self.schema.is_none() && self.table.is_none() && !self.is_ddl {
            return true;
        }
        let facts = sql::facts(&query.text, query_flags(query));
        if self.is_ddl && (self.is_half_alter || !is_ddl(facts.kind)) {
            return false;
        }
        if matches!(
            facts.kind,
            StatementKind::Begin(_)
                | StatementKind::Commit(_)
                | StatementKind::Rollback(_)
                | StatementKind::Xa(_)
        ) {
            return false;
        }
        self.takes_names(query, &facts)
    }

    /// A statement belongs to the schemas of the tables that it names, and to those that the server says it changes. If
    /// there are none of either, it belongs to the default schema of its session.
    fn takes_names(&self, query: &Query<'_>, facts: &Facts) -> bool {
        let is_schema = |name: &[u8]| self.schema.is_none_or(|it| it.as_bytes() == name);
        let is_table = |name: &[u8]| self.table.is_none_or(|it| it.as_bytes() == name);
        let mut names_tables = false;
        for mention in facts.tables() {
            names_tables = true;
            let schema = mention.schema.name(&query.text);
            let schema = if schema.is_empty() {
                query.schema
            } else {
                &schema
            };
            if is_schema(schema) && is_table(&mention.name.name(&query.text)) {
                return true;
            }
        }
        if self.table.is_some() {
            return false;
        }
        let changed = &query.status.schemas;
        changed.iter().any(|schema| is_schema(schema))
            || (!names_tables && changed.is_empty() && is_schema(query.schema))
    }
}

/// Whether a statement changes objects of the server. Temporary tables do not count, because only their session sees them.
fn is_ddl(kind: StatementKind) -> bool {
    match kind {
        // SET PASSWORD, SET DEFAULT ROLE: the log has no other SET.
        StatementKind::Truncate
        | StatementKind::Grant
        | StatementKind::Revoke
        | StatementKind::Set => true,
        _ => {
            let object = kind.changed_object();
            object.is_some_and(|it| it != Object::TemporaryTable)
        }
    }
}
