//! SQL, as on the MySQL-protocol port: `POST /api/query {"sql": "SELECT …", "values": [1, "x"]}`. With `"check": true`
//! a change is only checked.

use std::sync::Arc;

use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use rusqlite::types::Value;
use serde_json::json;

use super::HttpState;
use super::accept::Caller;
use super::body::{self, Object, echoed};
use super::guard::AuthenticatedUser;
use super::refusal::Refusal;
use super::tables::{arrays, json_response};
use admin::admin_session::{Outcome, aside};

/// A statement, and a value for each placeholder.
#[derive(Debug, PartialEq)]
struct QueryRequest {
    sql: String,
    values: Vec<Value>,
    /// Whether to check the statement only.
    check: bool,
}

/// `POST /api/query`
pub async fn query(
    State(state): State<Arc<HttpState>>,
    Extension(known): Extension<AuthenticatedUser>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    let asked = body::read(request).await?;
    let asked = read_request(asked).map_err(|text| Refusal::new(StatusCode::BAD_REQUEST, text))?;
    let mut admin_session = known.admin_session(&state, &caller);
    let outcome = match asked.check {
        true => {
            let rows = admin_session.check(&asked.sql, asked.values).await?;
            Outcome::Rows(rows, admin_session.warnings.clone())
        }
        false => admin_session.run(&asked.sql, asked.values).await?,
    };
    outcome_response(&state, outcome, admin_session.warnings).await
}

/// The response for a statement's outcome, with its warnings.
///
/// # Errors
/// The answer cannot be written.
pub async fn outcome_response(
    state: &HttpState,
    outcome: Outcome,
    warnings: Vec<String>,
) -> Result<Response, Refusal> {
    match outcome {
        Outcome::Done => {
            state.recent.forget().await;
            Ok(json_response(json!({"done": true}).to_string().into()))
        }
        Outcome::Changed(rows) => {
            state.recent.forget().await;
            let body = json!({"done": true, "changed": rows, "warnings": warnings});
            Ok(json_response(body.to_string().into()))
        }
        Outcome::Rows(rows, warnings) => {
            let write = move || {
                let columns = rows.columns.iter();
                let columns =
                    columns.map(|(name, kind)| json!({"name": name, "type": kind.json()}));
                let columns: Vec<_> = columns.collect();
                let rows = arrays(&rows);
                let body = json!({"columns": columns, "warnings": warnings, "rows": rows});
                Ok(body.to_string().into())
            };
            Ok(json_response(aside(write).await?))
        }
    }
}

fn read_request(Object(fields): Object) -> Result<QueryRequest, String> {
    let (mut sql, mut values, mut check) = (None, Vec::new(), false);
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("sql", serde_json::Value::String(text)) => sql = Some(text),
            ("values", serde_json::Value::Array(given)) => {
                values = given.into_iter().map(as_value).collect::<Result<_, _>>()?;
            }
            ("check", serde_json::Value::Bool(is_so)) => check = is_so,
            ("check", _) => return Err("\"check\" is true or false".to_owned()),
            ("sql", _) => return Err("\"sql\" is a text".to_owned()),
            ("values", _) => return Err("\"values\" is a list".to_owned()),
            _ => {
                let name = echoed(&name);
                return Err(format!(
                    "The body has {name}; it may have \"sql\", \"values\" and \"check\""
                ));
            }
        }
    }
    let sql = sql.ok_or("The body needs \"sql\"")?;
    Ok(QueryRequest { sql, values, check })
}

fn as_value(given: serde_json::Value) -> Result<Value, String> {
    match given {
        serde_json::Value::Null => Ok(Value::Null),
        serde_json::Value::Bool(is_so) => Ok(Value::Integer(is_so.into())),
        serde_json::Value::String(text) => Ok(Value::Text(text)),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Ok(Value::Integer(number)),
            (None, Some(number)) => Ok(Value::Real(number)),
            (None, None) => Err(format!("{number} is too large")),
        },
        serde_json::Value::Array(_) | serde_json::Value::Object(_) => {
            Err("Values are texts, numbers, true, false and null".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(body: &[u8]) -> Result<QueryRequest, String> {
        read_request(body::parse(body)?)
    }

    #[test]
    fn a_statement_comes_with_its_values() {
        let body = br#"{"sql": "SELECT ?", "values": [1, 1.5, "x", null, true]}"#;
        let expected = vec![
            Value::Integer(1),
            Value::Real(1.5),
            Value::Text("x".to_owned()),
            Value::Null,
            Value::Integer(1),
        ];
        let asked = parse(body).unwrap();
        assert_eq!((&*asked.sql, asked.values), ("SELECT ?", expected));
        assert!(!asked.check);
        assert!(parse(br#"{"sql": "", "check": true}"#).unwrap().check);
    }

    #[test]
    fn malformed_bodies_get_the_reason() {
        for (body, expected) in [
            ("", "The body needs \"sql\""),
            (r#"{"sql": "", "sql": ""}"#, "The body is no JSON object"),
            ("[]", "The body is no JSON object"),
            ("{}", "The body needs \"sql\""),
            (r#"{"sql": 1}"#, "\"sql\" is a text"),
            (r#"{"sql": "", "values": {}}"#, "\"values\" is a list"),
            (r#"{"sql": "", "values": [[]]}"#, "Values are"),
            (r#"{"sql": "", "check": 1}"#, "\"check\" is true or false"),
            (r#"{"sql": "", "query": ""}"#, "The body has \"query\""),
        ] {
            let text = parse(body.as_bytes()).unwrap_err();
            assert!(text.starts_with(expected), "{text}");
        }
        let deep = "[".repeat(10_000);
        assert!(parse(deep.as_bytes()).is_err());
    }
}
