//! Writes one change as JSON, in the shape of Debezium's events: before, after, source, transaction, op, ts_ms.

use std::fmt::Write as _;

use binlog::{Column, Row, RowChange, TableMap, Value, apply_changes};
use route::Family;

use super::value::{put_text, put_value};

/// The facts that all events of a stream share.
#[derive(Debug, Clone)]
pub struct StreamOrigin {
    /// The family of the stream's servers.
    pub family: Family,
    /// The cluster.
    pub cluster: String,
}

/// The origin of an event.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The stream.
    pub origin: &'a StreamOrigin,
    /// When the transaction was committed, or the event was written, in milliseconds since 1970.
    pub time_ms: i64,
    /// The schema; empty if there is none.
    pub schema: &'a str,
    /// The table; none if the event is not about a table.
    pub table: Option<&'a str>,
    /// The id of the server that executed the transaction first.
    pub server_id: u32,
    /// The GTID of the transaction.
    pub gtid: &'a str,
    /// The name of the relay file.
    pub file: &'a str,
    /// The offset of the event in the relay file.
    pub offset: u64,
    /// The number of this change within that event, from 0.
    pub row: u64,
    /// The id of the connection that executed it, if the log contains that.
    pub thread: Option<u32>,
}

/// The event's number within its transaction, counted from 1 over the events that the reader gets.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// The number among all of these events.
    pub total: u64,
    /// The number among these events of its table.
    pub of_table: u64,
}

/// An event that is not about rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A statement has changed objects: its text, and the objects as `kind` and name.
    Ddl {
        /// The statement, without passwords.
        statement: String,
        /// `ALTER TABLE`
        kind: String,
        /// `shop.orders`
        objects: Vec<String>,
    },
    /// The log contains a statement in place of rows.
    Statement(String),
    /// The server has lost changes.
    Incident(String),
}

/// Returns a row change. The JSON object is not closed yet: [`put_position`] closes it.
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

/// Returns the event for a truncated table, also without its end.
pub fn truncate_event(source: &Source<'_>, order: Order, now_ms: i64) -> String {
    let mut out = String::from("{\"before\":null,\"after\":null");
    put_rest(&mut out, source, order, "t", now_ms);
    out
}

/// Returns the event for a note, also without its end.
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

/// Ends an event with the position after which a reader that has the event may go on.
pub fn put_position(out: &mut String, position: &str) {
    out.push_str(",\"position\":");
    put_text(out, position);
    out.push('}');
}

/// Returns a heartbeat: nothing has changed, and a reader may connect again at this position.
pub fn heartbeat(position: &str, now_ms: i64) -> String {
    let mut out = format!("{{\"op\":\"heartbeat\",\"ts_ms\":{now_ms}");
    put_position(&mut out, position);
    out
}

/// Returns the last event of a stream that fails.
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

/// Appends a row image. If the image lacks a column, the column is unchanged, so the value of `unchanged` is used.
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

/// Appends the name of a column, or its number if the server has sent no name.
pub fn put_name(out: &mut String, column: &Column, index: usize) {
    match &column.name {
        Some(name) => put_text(out, name),
        None => {
            let _ = write!(out, "\"@{}\"", index + 1);
        }
    }
}

/// Applies partial changes (`binlog_row_value_options = PARTIAL_JSON`) to the document of the other image. None if
/// the value has no partial changes, or if the other image lacks the document.
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
