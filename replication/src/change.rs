//! A statement of the log that changes objects: its kind, its objects, and its user.

use binlog::{EventHeader, Query, printable, query_flags, query_text};
use sql::{Charset, Facts, Flags, Object, Role, StatementKind};

use crate::names::{AccountChange, account_change, named_objects};
use crate::object::{ObjectKind, ObjectName};

/// The maximum length of a stored statement, in bytes.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// A change of one or more objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// When the statement began, in microseconds since 1970.
    pub time: i64,
    /// The server that executed it first.
    pub server_id: u32,
    /// The connection that executed it.
    pub thread_id: u32,
    /// The kind of statement, such as `ALTER TABLE`.
    pub kind: String,
    /// The objects that the statement names, in its order.
    pub objects: Vec<ObjectName>,
    /// Whether only rows change and the definitions stay, as with TRUNCATE.
    pub is_of_rows: bool,
    /// The statement's text, without passwords.
    pub statement: String,
    /// The user and host whose privileges the server has checked, if the log contains them. Otherwise the user and
    /// the client's host that sent the statement through the proxy, if they are known.
    pub invoker: Option<(String, String)>,
    /// How long the statement took, in seconds.
    pub seconds: u32,
    /// The error number that the statement ended with; 0 for none.
    pub error_code: u16,
}

impl Change {
    /// Returns the change that a statement makes; none if it changes no object.
    pub fn of(header: &EventHeader, query: &Query<'_>) -> Option<Self> {
        let facts = sql::facts(&query.text, query_flags(query));
        kind_of_object(facts.kind)?;
        // From here on the text is UTF-8 and without passwords.
        let text = query_text(query);
        let flags = Flags {
            charset: Charset::default(),
            ..query_flags(query)
        };
        let facts = sql::facts(text.as_bytes(), flags);
        let object = kind_of_object(facts.kind)?;
        let schema = String::from_utf8_lossy(query.schema).into_owned();
        let invoker = invoker(query);
        let (kind, objects) = match object {
            Object::Account => {
                let change = account_change(&text, flags, facts.kind, invoker.as_ref())?;
                let AccountChange { kind, accounts } = change;
                (kind.to_owned(), accounts)
            }
            Object::Table | Object::View | Object::Index | Object::Sequence => {
                let tables = tables(&facts, &text, &schema);
                (words(facts.kind, tables.first()), tables)
            }
            _ => {
                let objects = named_objects(&text, flags, &schema);
                (words(facts.kind, objects.first()), objects)
            }
        };
        let micros = i64::from(query.status.microseconds.unwrap_or(0));
        Some(Self {
            time: i64::from(header.time) * 1_000_000 + micros,
            server_id: header.server_id,
            thread_id: query.thread_id,
            kind,
            objects,
            is_of_rows: facts.kind == StatementKind::Truncate,
            statement: cut(printable(&text)),
            invoker,
            seconds: query.seconds,
            error_code: query.error_code,
        })
    }
}

/// Returns the user and host whose privileges the server has checked, if the log contains them.
fn invoker(query: &Query<'_>) -> Option<(String, String)> {
    let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let written = query.status.invoker;
    let (user, host) = written.filter(|(user, _)| !user.is_empty())?;
    Some((owned(user), owned(host)))
}

/// Returns the kind of object that a statement changes. Temporary tables do not count, because only their session
/// sees them.
fn kind_of_object(kind: StatementKind) -> Option<Object> {
    match kind {
        StatementKind::Truncate => Some(Object::Table),
        // The binary log contains no SET but SET PASSWORD and SET DEFAULT ROLE.
        StatementKind::Grant | StatementKind::Revoke | StatementKind::Set => Some(Object::Account),
        _ => {
            let object = kind.changed_object();
            object.filter(|it| !matches!(it, Object::TemporaryTable | Object::Other))
        }
    }
}

/// Returns the tables, views and sequences that a statement changes, each once.
fn tables(facts: &Facts, text: &str, default_schema: &str) -> Vec<ObjectName> {
    let kind = match facts.kind {
        StatementKind::Create(Object::View)
        | StatementKind::Alter(Object::View)
        | StatementKind::Drop(Object::View) => ObjectKind::View,
        StatementKind::Create(Object::Sequence)
        | StatementKind::Alter(Object::Sequence)
        | StatementKind::Drop(Object::Sequence) => ObjectKind::Sequence,
        _ => ObjectKind::Table,
    };
    let written = facts
        .mentions
        .iter()
        .filter(|it| matches!(it.role, Role::TableWritten | Role::TableDropped));
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut objects = Vec::new();
    for mention in written {
        let schema = name(&mention.schema.name(text.as_bytes()));
        let object = ObjectName {
            schema: match schema.is_empty() {
                true => default_schema.to_owned(),
                false => schema,
            },
            name: name(&mention.name.name(text.as_bytes())),
            kind,
        };
        if !objects.contains(&object) {
            objects.push(object);
        }
    }
    objects
}

/// Returns the first words of the statement with the actual kind: CREATE PROCEDURE, not CREATE ROUTINE.
fn words(kind: StatementKind, first: Option<&ObjectName>) -> String {
    let verb = match kind {
        StatementKind::Create(_) => "CREATE",
        StatementKind::Alter(_) => "ALTER",
        StatementKind::Drop(_) => "DROP",
        StatementKind::Rename(_) => "RENAME",
        _ => return kind.to_string(),
    };
    let noun = first.map(|first| match first.kind {
        ObjectKind::Schema => "DATABASE".to_owned(),
        other => other.name().to_ascii_uppercase(),
    });
    match noun {
        Some(noun) if kind.changed_object() != Some(Object::Index) => format!("{verb} {noun}"),
        _ => kind.to_string(),
    }
}

fn cut(mut text: String) -> String {
    if text.len() > STATEMENT_BYTES_MAX {
        let end = text.floor_char_boundary(STATEMENT_BYTES_MAX);
        text.truncate(end);
        text.push('…');
    }
    text
}
