//! Request bodies: one JSON object without duplicate names, with limits of size and time.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use tokio::time::timeout;

use super::refusal::Refusal;

/// The longest body, in bytes; the MySQL-protocol port has the same limit for texts.
const BODY_BYTES_MAX: usize = 1 << 20;

/// How long the body may take to come.
const TIMEOUT_BODY: Duration = Duration::from_secs(30);

/// The most characters of a client's text that an error repeats.
const ECHOED_MAX: usize = 80;

/// Names and values, in order.
#[derive(Debug, Default, PartialEq)]
pub struct Object(pub Vec<(String, Value)>);

/// Reads the body of a request; an empty body is an empty object.
///
/// # Errors
/// The body is not declared as JSON, is too long, comes too late, or is no such object.
pub async fn read(request: Request) -> Result<Object, Refusal> {
    if !is_json(request.headers()) {
        let text = "What is asked comes as application/json, and be it {}";
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

/// Reads an object.
///
/// # Errors
/// The body is no such object; why, in words.
pub fn parse(body: &[u8]) -> Result<Object, String> {
    if body.is_empty() {
        return Ok(Object::default());
    }
    serde_json::from_slice(body).map_err(|error| format!("The body is no JSON object: {error}"))
}

/// A name in the form that errors show.
pub fn echoed(name: &str) -> String {
    match name.char_indices().nth(ECHOED_MAX) {
        None => format!("{name:?}"),
        Some((end, _)) => format!("{:?}…", &name[..end]),
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

/// Reads an object, and refuses duplicate names: a filter in front of the proxy may have read the other value.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let (mut seen, mut fields) = (HashSet::new(), Vec::new());
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if !seen.insert(name.clone()) {
                let text = format!("{} stands there twice", echoed(&name));
                return Err(A::Error::custom(text));
            }
            fields.push((name, value));
        }
        Ok(Object(fields))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_object_has_each_name_once() {
        let read = parse(br#"{"b": 1, "a": [true]}"#).unwrap();
        let names: Vec<_> = read.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert_eq!(parse(b""), Ok(Object::default()));
        let twice = parse(br#"{"a": 1, "\u0061": 2}"#).unwrap_err();
        assert!(twice.contains("\"a\" stands there twice"), "{twice}");
    }

    #[test]
    fn bodies_other_than_objects_are_refused() {
        let deep = "[".repeat(500_000);
        let within = format!("{{\"a\": {deep}");
        for body in [
            "[]", "null", "1", "{", "{\"a\"}", "{} {}", "\u{0}", &deep, &within,
        ] {
            let text = parse(body.as_bytes()).unwrap_err();
            assert!(text.starts_with("The body is no JSON object"), "{text}");
            assert!(text.len() < 200, "{text}");
        }
        assert!(parse(b"{\"\xff\": 1}").is_err());
    }

    #[test]
    fn a_long_name_is_shortened_in_the_error() {
        assert_eq!(echoed("a\"b"), "\"a\\\"b\"");
        assert_eq!(echoed(&"ä".repeat(1000)).chars().count(), ECHOED_MAX + 3);
    }
}
