//! SQL, as the SQL port takes it: `POST /api/query {"sql": "SELECT …", "values": [1, "x"]}`; with
//! `"check": true` what a change would come to.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use rusqlite::types::Value;
use serde_json::{Map, json};
use tokio::time::timeout;

use super::House;
use super::door::Caller;
use super::guard::Known;
use super::refusal::Refusal;
use super::tables::{arrays, json_response};
use crate::sheet::Kind;
use crate::visitor::{Outcome, aside};

/// The longest body, in bytes; the SQL port takes texts as long.
const BODY_BYTES_MAX: usize = 1 << 20;

/// How long the body may take to come.
const TIMEOUT_BODY: Duration = Duration::from_secs(30);

/// A statement, and a value for each placeholder.
#[derive(Debug, PartialEq)]
struct Asked {
    sql: String,
    values: Vec<Value>,
    /// It is not to be done.
    check: bool,
}

/// `POST /api/query`
pub async fn query(
    State(house): State<Arc<House>>,
    Extension(known): Extension<Known>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    let asked = read(request).await?;
    let mut visitor = known.visitor(&house, &caller);
    let outcome = match asked.check {
        true => {
            let rows = visitor.check(&asked.sql, asked.values).await?;
            Outcome::Rows(rows, visitor.warnings.clone())
        }
        false => visitor.run(&asked.sql, asked.values).await?,
    };
    match outcome {
        Outcome::Done => {
            house.recent.forget().await;
            Ok(json_response(json!({"done": true}).to_string().into()))
        }
        Outcome::Changed(rows, _) => {
            house.recent.forget().await;
            let body = json!({"done": true, "changed": rows, "warnings": visitor.warnings});
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

async fn read(request: Request) -> Result<Asked, Refusal> {
    if !is_json(request.headers()) {
        let text = "A statement comes as application/json: {\"sql\": \"SELECT …\"}";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    let body = Body::new(request.into_body());
    let read = axum::body::to_bytes(body, BODY_BYTES_MAX);
    let body = timeout(TIMEOUT_BODY, read).await.map_err(|_| {
        let text = "The body has not come in time";
        Refusal::new(StatusCode::REQUEST_TIMEOUT, text)
    })?;
    let body = body.map_err(|_| {
        let text = format!("The body has more than {BODY_BYTES_MAX} bytes, or has broken off");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    })?;
    parse(&body).map_err(|text| Refusal::new(StatusCode::BAD_REQUEST, text))
}

fn is_json(headers: &HeaderMap) -> bool {
    let told = headers.get(header::CONTENT_TYPE);
    let told = told.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let kind = told.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn parse(body: &[u8]) -> Result<Asked, String> {
    let object: Map<String, serde_json::Value> = serde_json::from_slice(body)
        .map_err(|error| format!("The body is no JSON object: {error}"))?;
    let (mut sql, mut values, mut check) = (None, Vec::new(), false);
    for (name, value) in object {
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
                return Err(format!(
                    "The body has {name:?}; it may have \"sql\", \"values\" and \"check\""
                ));
            }
        }
    }
    let sql = sql.ok_or("The body needs \"sql\"")?;
    Ok(Asked { sql, values, check })
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

impl Kind {
    /// As JSON schema calls it.
    pub const fn json(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Fraction => "number",
            Self::Text => "string",
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

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
    fn what_is_wrong_with_a_body_is_said() {
        for (body, expected) in [
            ("", "The body is no JSON object"),
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
