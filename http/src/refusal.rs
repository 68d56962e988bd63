//! The answer to a request that fails: a status, and the reason.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use admin::fault::Fault;

/// See the module.
#[derive(Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: StatusCode,
    /// The error number that the MySQL-protocol port uses, if there is one.
    code: Option<u16>,
    text: String,
}

impl Refusal {
    /// A refusal without an error number of the MySQL protocol.
    pub fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            code: None,
            text: text.into(),
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let status = match fault.code.number {
            // Unknown schemas, tables and sessions.
            1049 | 1146 | 1094 => StatusCode::NOT_FOUND,
            // Not allowed by the role, or not possible on this port.
            1142 | 1227 => StatusCode::FORBIDDEN,
            3024 => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        Self {
            status,
            code: Some(fault.code.number),
            text: fault.text,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({"error": {"code": self.code, "message": self.text}});
        let kind = [(header::CONTENT_TYPE, "application/json")];
        (self.status, kind, Body::from(body.to_string())).into_response()
    }
}
