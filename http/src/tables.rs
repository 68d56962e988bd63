//! The registry's tables: their list, and the rows of one table.
//!
//! `GET /api/tables/sessions?state=running&order=-age_seconds&columns=id,user&limit=10`

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rusqlite::types::Value;
use serde_json::json;

use super::HttpState;
use super::accept::Caller;
use super::guard::AuthenticatedUser;
use super::refusal::Refusal;
use admin::engine::ResultRows;
use admin::fault::Fault;
use admin::registry::{TABLES, table};
use admin::table::{CellType, ColumnFacts, Schema, Table};

/// Parameters that are not names of columns.
pub const RESERVED: [&str; 5] = ["columns", "order", "limit", "offset", "rows"];

/// A request for a table's rows.
#[derive(Debug)]
struct Wanted {
    columns: Vec<ColumnFacts>,
    sql: String,
    values: Vec<Value>,
    as_objects: bool,
}

/// `GET /api/tables`
pub async fn list() -> Response {
    let tables = TABLES.iter().map(|table| {
        json!({
            "name": full_name(*table),
            "about": table.about(),
            "columns": table.columns().iter().map(described).collect::<Vec<_>>(),
        })
    });
    json_response(
        json!({"tables": tables.collect::<Vec<_>>()})
            .to_string()
            .into(),
    )
}

/// `GET /api/tables/NAME`
pub async fn show(
    State(state): State<Arc<HttpState>>,
    Extension(known): Extension<AuthenticatedUser>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    pairs: Result<Query<Vec<(String, String)>>, QueryRejection>,
    request: Request,
) -> Result<Response, Refusal> {
    let Query(pairs) = pairs.map_err(|error| {
        let text = format!("The parameters cannot be read: {error}");
        Refusal::new(StatusCode::BAD_REQUEST, text)
    })?;
    let table = named(&name).ok_or_else(|| {
        let text = format!("There is no table {name:?}; /api/tables lists those there are");
        Refusal::new(StatusCode::NOT_FOUND, text)
    })?;
    let wanted =
        wanted(table, &pairs).map_err(|text| Refusal::new(StatusCode::BAD_REQUEST, text))?;
    let shown = state.moment(&[table]).await;
    let question = request.uri().to_string();
    let answer = shown.answer(&question, async {
        let admin_session = known.admin_session(&state, &caller);
        let prepared = admin_session.prepare(wanted.sql).await?;
        let input = Arc::clone(&shown.input);
        let rows = admin_session.finish(prepared, input, wanted.values).await?;
        let warnings = shown.input.warnings();
        let write = move || {
            let columns: Vec<_> = wanted.columns.iter().map(described).collect();
            let body = json!({
                "table": full_name(table),
                "about": table.about(),
                "columns": columns,
                "warnings": warnings,
                "rows": match wanted.as_objects {
                    true => objects(&rows),
                    false => arrays(&rows),
                },
            });
            Ok(Bytes::from(body.to_string()))
        };
        admin::admin_session::aside(write).await
    });
    let answer: Result<_, Fault> = answer.await;
    Ok(json_response(answer?))
}

/// Bytes that are JSON.
pub fn json_response(body: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// `sessions`, `stats.stats_mysql_processlist`, `information_schema.COLUMNS`; names in the first schema stand alone.
pub fn full_name(table: &dyn Table) -> String {
    match table.schema() {
        Schema::Pilotfish => table.name().to_owned(),
        other => format!("{}.{}", other.name(), table.name()),
    }
}

/// The table of a name, with or without its schema.
fn named(name: &str) -> Option<&'static dyn Table> {
    match name.split_once('.') {
        Some((schema, name)) => table(Some(Schema::named(schema)?), name),
        None => table(None, name),
    }
}

/// The description of a column.
fn described(column: &ColumnFacts) -> serde_json::Value {
    json!({
        "name": column.name,
        "type": column.kind.json(),
        "unit": column.unit,
        "about": column.about,
    })
}

/// Reads the parameters.
fn wanted(table: &dyn Table, pairs: &[(String, String)]) -> Result<Wanted, String> {
    let all = table.columns();
    let find = |name: &str| {
        let found = all.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| no_column(table, &all, name))
    };
    let (mut columns, mut order, mut filters) = (Vec::new(), Vec::new(), Vec::new());
    let (mut values, mut limit, mut offset, mut as_objects) = (Vec::new(), -1, 0, false);
    for (name, value) in pairs {
        match name.as_str() {
            "columns" => {
                let names = value.split(',').map(|name| find(name.trim()));
                columns = names.collect::<Result<_, _>>()?;
            }
            "order" => {
                for name in value.split(',') {
                    let (name, way) = match name.trim().strip_prefix('-') {
                        Some(name) => (name, " DESC"),
                        None => (name.trim(), ""),
                    };
                    order.push(format!("\"{}\"{way}", find(name)?.name));
                }
            }
            "limit" => limit = count(name, value)?,
            "offset" => offset = count(name, value)?,
            "rows" => {
                as_objects = match value.as_str() {
                    "objects" => true,
                    "arrays" => false,
                    _ => return Err(format!("rows is arrays or objects, and not {value:?}")),
                }
            }
            _ => {
                filters.push(format!("\"{}\" = ?", find(name)?.name));
                values.push(Value::Text(value.clone()));
            }
        }
    }
    if columns.is_empty() {
        columns.clone_from(&all);
    }
    let names: Vec<_> = columns
        .iter()
        .map(|it| format!("\"{}\"", it.name))
        .collect();
    let mut sql = format!(
        "SELECT {} FROM \"{}\".\"{}\"",
        names.join(", "),
        table.home(),
        table.name()
    );
    if !filters.is_empty() {
        sql.push_str(&format!(" WHERE {}", filters.join(" AND ")));
    }
    if !order.is_empty() {
        sql.push_str(&format!(" ORDER BY {}", order.join(", ")));
    }
    sql.push_str(&format!(" LIMIT {limit} OFFSET {offset}"));
    Ok(Wanted {
        columns,
        sql,
        values,
        as_objects,
    })
}

fn count(name: &str, value: &str) -> Result<i64, String> {
    let number = value.parse::<u32>().map(i64::from);
    number.map_err(|_| format!("{name} is a whole number, and not {value:?}"))
}

fn no_column(table: &dyn Table, all: &[ColumnFacts], name: &str) -> String {
    let names: Vec<_> = all.iter().map(|column| column.name).collect();
    let table = full_name(table);
    let names = names.join(", ");
    let reserved = RESERVED.join(", ");
    format!(
        "{table} has no column {name:?}; it has {names}, and the parameters are these and {reserved}"
    )
}

/// Rows as lists of values, in the order of the columns.
pub fn arrays(rows: &ResultRows) -> Vec<serde_json::Value> {
    let row = |row: &Vec<Option<Vec<u8>>>| {
        let values = row.iter().zip(&rows.columns);
        values
            .map(|(value, (_, kind))| json_value(value.as_deref(), *kind))
            .collect()
    };
    rows.rows.iter().map(row).collect()
}

/// Rows as objects with the names of the columns.
fn objects(rows: &ResultRows) -> Vec<serde_json::Value> {
    let row = |row: &Vec<Option<Vec<u8>>>| {
        let values = row.iter().zip(&rows.columns);
        let pairs =
            values.map(|(value, (name, kind))| (name.clone(), json_value(value.as_deref(), *kind)));
        serde_json::Value::Object(pairs.collect())
    };
    rows.rows.iter().map(row).collect()
}

/// A value: numbers become numbers; texts stay texts, whatever they look like.
fn json_value(value: Option<&[u8]>, kind: CellType) -> serde_json::Value {
    let Some(value) = value else {
        return serde_json::Value::Null;
    };
    let text = String::from_utf8_lossy(value);
    let number = match kind {
        CellType::Integer => text.parse::<i64>().ok().map(Into::into),
        CellType::Fraction => text.parse::<f64>().ok().map(Into::into),
        CellType::Text => None,
    };
    number.unwrap_or_else(|| text.into_owned().into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn asked(name: &str, pairs: &[(&str, &str)]) -> Result<Wanted, String> {
        let pairs = pairs
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        wanted(named(name).unwrap(), &pairs.collect::<Vec<_>>())
    }

    #[test]
    fn parameters_become_a_statement_and_never_a_part_of_its_text() {
        let evil = "x' OR 1=1; --";
        let wanted = asked(
            "Workers",
            &[
                ("columns", "worker, SESSIONS"),
                ("answers", evil),
                ("order", "-sessions,worker"),
                ("limit", "5"),
                ("offset", "2"),
            ],
        );
        let wanted = wanted.unwrap();
        assert_eq!(
            wanted.sql,
            "SELECT \"worker\", \"sessions\" FROM \"pilotfish\".\"workers\" WHERE \"answers\" = ? \
             ORDER BY \"sessions\" DESC, \"worker\" LIMIT 5 OFFSET 2"
        );
        assert_eq!(wanted.values, [Value::Text(evil.to_owned())]);
    }

    #[test]
    fn unknown_tables_and_columns_are_named() {
        for (pairs, expected) in [
            ([("colour", "1")], "workers has no column \"colour\""),
            ([("columns", "worker,x")], "workers has no column \"x\""),
            ([("order", "--worker")], "workers has no column \"-worker\""),
            ([("limit", "-1")], "limit is a whole number"),
            ([("offset", "1e3")], "offset is a whole number"),
            ([("rows", "many")], "rows is arrays or objects"),
        ] {
            let text = asked("workers", &pairs).unwrap_err();
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn no_column_has_a_parameter_s_name() {
        for table in TABLES {
            for column in table.columns() {
                let is_taken = RESERVED
                    .iter()
                    .any(|it| it.eq_ignore_ascii_case(column.name));
                assert!(!is_taken, "{}.{}", table.name(), column.name);
            }
        }
    }

    #[test]
    fn a_table_is_found_with_its_schema_and_without() {
        for (name, expected) in [
            ("sessions", Some("sessions")),
            ("pilotfish.sessions", Some("sessions")),
            (
                "INFORMATION_SCHEMA.columns",
                Some("information_schema.COLUMNS"),
            ),
            ("stats.sessions", None),
            ("nowhere.sessions", None),
            ("", None),
        ] {
            assert_eq!(named(name).map(full_name).as_deref(), expected, "{name}");
        }
    }
}
