//! One change as JSON, in the shape of Debezium's events: before, after, source, transaction, op, ts_ms.

use std::fmt::Write as _;

use binlog::{Column, Row, RowChange, TableMap, Value, apply_changes};
use route::Family;

use super::value::{put_text, put_value};

/// What all events of a stream have in common.
#[derive(Debug, Clone)]
pub struct StreamOrigin {
    /// Whose servers' changes these are.
    pub family: Family,
    /// The cluster.
    pub cluster: String,
}

/// Where an event comes from.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The stream.
    pub origin: &'a StreamOrigin,
    /// When it was committed, or written, in milliseconds since 1970.
    pub time_ms: i64,
    /// The schema; empty for none.
    pub schema: &'a str,
    /// The table; none if the event is not about one.
    pub table: Option<&'a str>,
    /// The server that executed it first.
    pub server_id: u32,
    /// The transaction.
    pub gtid: &'a str,
    /// The relay file.
    pub file: &'a str,
    /// Where the event of the relay file begins.
    pub offset: u64,
    /// Which of the changes in that event it is, from 0.
    pub row: u64,
    /// The connection that executed it, if the log says so.
    pub thread: Option<u32>,
}

/// The event's place among those of its transaction that a reader gets, from 1.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Among all.
    pub total: u64,
    /// Among those of its table.
    pub of_table: u64,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A statement has changed objects: its text, and the objects as `kind` and name.
    Ddl {
        /// Without passwords.
        statement: String,
        /// `ALTER TABLE`
        kind: String,
        /// `shop.orders`
        objects: Vec<String>,
    },
    /// A statement stands in the log instead of rows.
    Statement(String),
    /// The server has lost changes.
    Incident(String),
}

/// A row. The object has no end yet: the position follows.
pub fn row_event(
    change: &RowChange<'_>,
    table: &TableMap,
    source: &Source<'_>,
    order: Order,
    now_ms: i64,
) -> String {
    let mut out = String::from("{\"before\":");
    put_row(&mut out, change.before.as_ref(), None, table);
    out.push_str(",\"after\":");
    put_row(
        &mut out,
        change.after.as_ref(),
        change.before.as_ref(),
        table,
    );
    let op = match (&change.before, &change.after) {
        (None, _) => "c",
        (Some(_), Some(_)) => "u",
        (Some(_), None) => "d",
    };
    put_rest(&mut out, source, order, op, now_ms);
    out
}

/// A table that was truncated, likewise.
pub fn truncate_event(source: &Source<'_>, order: Order, now_ms: i64) -> String {
    let mut out = String::from("{\"before\":null,\"after\":null");
    put_rest(&mut out, source, order, "t", now_ms);
    out
}

/// Something else, likewise.
pub fn note_event(note: &Note, source: &Source<'_>, order: Order, now_ms: i64) -> String {
    let mut out = String::from("{");
    let op = match note {
        Note::Ddl {
            statement,
            kind,
            objects,
        } => {
            out.push_str("\"databaseName\":");
            put_text(&mut out, source.schema);
            out.push_str(",\"ddl\":");
            put_text(&mut out, statement);
            out.push_str(",\"tableChanges\":[");
            for (index, object) in objects.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str("{\"type\":");
                put_text(&mut out, kind);
                out.push_str(",\"id\":");
                put_text(&mut out, object);
                out.push('}');
            }
            out.push(']');
            "ddl"
        }
        Note::Statement(text) => {
            out.push_str("\"databaseName\":");
            put_text(&mut out, source.schema);
            out.push_str(",\"statement\":");
            put_text(&mut out, text);
            "statement"
        }
        Note::Incident(text) => {
            out.push_str("\"message\":");
            put_text(&mut out, text);
            "incident"
        }
    };
    put_rest(&mut out, source, order, op, now_ms);
    out
}

/// Ends an event: whoever has it may go on behind this position.
pub fn put_position(out: &mut String, position: &str) {
    out.push_str(",\"position\":");
    put_text(out, position);
    out.push('}');
}

/// Nothing has changed, and a reader that comes again can begin at this position.
pub fn heartbeat(position: &str, now_ms: i64) -> String {
    let mut out = format!("{{\"op\":\"heartbeat\",\"ts_ms\":{now_ms}");
    put_position(&mut out, position);
    out
}

/// The stream ends.
pub fn error_event(
    (kind, text): (&str, &str),
    position: &str,
    next_position: Option<&str>,
    now_ms: i64,
) -> String {
    let mut out = format!("{{\"op\":\"error\",\"error\":\"{kind}\",\"message\":");
    put_text(&mut out, text);
    if let Some(next) = next_position {
        out.push_str(",\"next_position\":");
        put_text(&mut out, next);
    }
    let _ = write!(out, ",\"ts_ms\":{now_ms}");
    put_position(&mut out, position);
    out
}

/// A column that the image leaves out has not changed, so it has the value of the other image, if that has it.
fn put_row(out: &mut String, row: Option<&Row<'_>>, unchanged: Option<&Row<'_>>, table: &TableMap) {
    let Some(row) = row else {
        return out.push_str("null");
    };
    out.push('{');
    let mut is_first = true;
    for (index, column) in table.columns.iter().enumerate() {
        let of = |row: &Row<'_>| row.values.get(index).is_some_and(Option::is_some);
        let from = match (of(row), unchanged) {
            (true, _) => row,
            (false, Some(other)) => other,
            (false, None) => continue,
        };
        let Some(Some(value)) = from.values.get(index) else {
            continue;
        };
        out.push_str(if is_first { "" } else { "," });
        is_first = false;
        put_name(out, column, index);
        out.push(':');
        let before = unchanged.and_then(|it| it.values.get(index)?.as_ref());
        match changed_document(value, before) {
            Some(document) => put_text(out, &document),
            None => put_value(out, value, column),
        }
    }
    out.push('}');
}

/// The name of a column: its number, if the server has sent none.
pub fn put_name(out: &mut String, column: &Column, index: usize) {
    match &column.name {
        Some(name) => put_text(out, name),
        None => {
            let _ = write!(out, "\"@{}\"", index + 1);
        }
    }
}

/// The document that changes make of the one in the other image (`binlog_row_value_options = PARTIAL_JSON`); none if the
/// value is something else, or the other image lacks the document.
fn changed_document(value: &Value<'_>, before: Option<&Value<'_>>) -> Option<String> {
    match (value, before) {
        (Value::JsonChanges(changes), Some(Value::Json(document))) => {
            apply_changes(document, changes)
        }
        _ => None,
    }
}

fn put_rest(out: &mut String, source: &Source<'_>, order: Order, op: &str, now_ms: i64) {
    let connector = match source.origin.family {
        Family::MySql => "mysql",
        Family::MariaDb => "mariadb",
    };
    let version = env!("CARGO_PKG_VERSION");
    let _ = write!(
        out,
        ",\"source\":{{\"version\":\"{version}\",\"connector\":\"{connector}\",\"name\":"
    );
    put_text(out, &source.origin.cluster);
    let _ = write!(
        out,
        ",\"ts_ms\":{},\"snapshot\":\"false\",\"db\":",
        source.time_ms
    );
    put_text(out, source.schema);
    out.push_str(",\"table\":");
    match source.table {
        Some(table) => put_text(out, table),
        None => out.push_str("null"),
    }
    let _ = write!(out, ",\"server_id\":{},\"gtid\":", source.server_id);
    put_text(out, source.gtid);
    out.push_str(",\"file\":");
    put_text(out, source.file);
    let _ = write!(
        out,
        ",\"pos\":{},\"row\":{},\"thread\":",
        source.offset, source.row
    );
    match source.thread {
        Some(thread) => {
            let _ = write!(out, "{thread}");
        }
        None => out.push_str("null"),
    }
    out.push_str("},\"transaction\":{\"id\":");
    put_text(out, source.gtid);
    let Order { total, of_table } = order;
    let _ = write!(
        out,
        ",\"total_order\":{total},\"data_collection_order\":{of_table}}},\"op\":\"{op}\",\"ts_ms\":{now_ms}"
    );
}
