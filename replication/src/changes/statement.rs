//! The meaning of the log's statements for readers of changes.

use binlog::{Event, EventHeader, Query, Xid, query_flags, query_text};
use route::rules::Tables;
use sql::{Object, Role, StatementKind};

use super::event::Note;
use crate::change::Change;
use crate::object::{ObjectKind, ObjectName};

/// How much of a statement in place of rows is sent, in bytes.
const STATEMENT_BYTES_MAX: usize = 64 << 10;

/// Statements about accounts count as changes of this table.
const ACCOUNTS: (&str, &str) = ("mysql", "user");

/// The meaning of a statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StatementMeaning {
    /// Whether the statement may have changed objects.
    pub changes_objects: bool,
    /// The tables that the statement has emptied.
    pub truncated: Vec<(String, String)>,
    /// The note that readers get.
    pub note: Option<Note>,
    /// The schema of the statement.
    pub schema: String,
    /// The table of the statement, if it has one.
    pub table: Option<String>,
}

/// Returns the meaning of a statement for a reader who wants these tables.
pub fn statement_meaning(
    header: &EventHeader,
    query: &Query<'_>,
    wanted: &Tables,
) -> StatementMeaning {
    let facts = sql::facts(&query.text, query_flags(query));
    match facts.kind {
        StatementKind::Empty
        | StatementKind::Begin(_)
        | StatementKind::Commit(_)
        | StatementKind::Savepoint
        | StatementKind::ReleaseSavepoint
        | StatementKind::Set
        | StatementKind::Flush(_)
        | StatementKind::Maintain
        | StatementKind::Grant
        | StatementKind::Revoke
        | StatementKind::Create(Object::TemporaryTable)
        | StatementKind::Drop(Object::TemporaryTable) => StatementMeaning::default(),
        StatementKind::Truncate => truncated(header, query, wanted),
        kind if kind.changed_object().is_some() => changed(header, query, wanted),
        _ => instead_of_rows(query, &facts, wanted),
    }
}

impl StatementMeaning {
    /// Returns the meaning of an event that is no statement.
    pub fn of_event(header: &EventHeader, event: &Event<'_>, wanted: &Tables) -> Self {
        let note = match event {
            Event::ExecuteLoad(load) => return statement_meaning(header, &load.query, wanted),
            Event::XaPrepare(prepare) => {
                let (verb, end) = match prepare.is_one_phase {
                    true => ("COMMIT", " ONE PHASE"),
                    false => ("PREPARE", ""),
                };
                Note::Statement(format!("XA {verb} {}{end}", shown(&prepare.xid)))
            }
            Event::Incident(incident) => {
                let message = String::from_utf8_lossy(incident.message);
                Note::Incident(message.into_owned())
            }
            _ => return Self::default(),
        };
        Self {
            note: Some(note),
            ..Self::default()
        }
    }
}

fn truncated(header: &EventHeader, query: &Query<'_>, wanted: &Tables) -> StatementMeaning {
    let change = Change::of(header, query);
    let objects = change.map(|it| it.objects).unwrap_or_default();
    let named = objects.into_iter().map(|it| (it.schema, it.name));
    StatementMeaning {
        truncated: named
            .filter(|(schema, name)| wanted.has(schema, name))
            .collect(),
        ..StatementMeaning::default()
    }
}

fn changed(header: &EventHeader, query: &Query<'_>, wanted: &Tables) -> StatementMeaning {
    let Some(change) = Change::of(header, query) else {
        return StatementMeaning {
            changes_objects: true,
            ..StatementMeaning::default()
        };
    };
    let is_wanted = |it: &ObjectName| match it.kind {
        // The statement may affect all tables of the schema.
        ObjectKind::Schema => true,
        ObjectKind::Account => wanted.has(ACCOUNTS.0, ACCOUNTS.1),
        _ => wanted.has(&it.schema, &it.name),
    };
    let is_told = change.objects.is_empty() || change.objects.iter().any(is_wanted);
    let first = change.objects.first();
    let default = String::from_utf8_lossy(query.schema).into_owned();
    StatementMeaning {
        changes_objects: true,
        truncated: Vec::new(),
        schema: first.map_or(default, |it| it.schema.clone()),
        table: first
            .filter(|it| it.kind == ObjectKind::Table)
            .map(|it| it.name.clone()),
        note: is_told.then(|| Note::Ddl {
            statement: change.statement.clone(),
            kind: change.kind.clone(),
            objects: change.objects.iter().map(ToString::to_string).collect(),
        }),
    }
}

/// Handles a statement without rows in the log: in statement format, or one that ends or undoes a part of a
/// transaction.
fn instead_of_rows(query: &Query<'_>, facts: &sql::Facts, wanted: &Tables) -> StatementMeaning {
    let default = String::from_utf8_lossy(query.schema).into_owned();
    let name = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
    let written = facts.mentions_of(Role::TableWritten).map(|it| {
        let schema = name(&it.schema.name(&query.text));
        let schema = match schema.is_empty() {
            true => default.clone(),
            false => schema,
        };
        (schema, name(&it.name.name(&query.text)))
    });
    let written: Vec<_> = written.collect();
    let is_told = written.is_empty()
        || written
            .iter()
            .any(|(schema, table)| wanted.has(schema, table));
    let first = written.into_iter().next();
    StatementMeaning {
        changes_objects: false,
        truncated: Vec::new(),
        note: is_told.then(|| Note::Statement(cut(query_text(query)))),
        schema: first.as_ref().map_or(default, |it| it.0.clone()),
        table: first.map(|it| it.1),
    }
}

/// Writes the XID as servers do: `X'78',X'',1`.
fn shown(xid: &Xid<'_>) -> String {
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|it| format!("{it:02x}")).collect() };
    let (global, branch) = (hex(xid.global), hex(xid.branch));
    format!("X'{global}',X'{branch}',{}", xid.format)
}

fn cut(mut text: String) -> String {
    if text.len() > STATEMENT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(STATEMENT_BYTES_MAX));
        text.push('…');
    }
    text
}
