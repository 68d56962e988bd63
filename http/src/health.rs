//! Health checks for service managers and load balancers: a short answer without a login, with a reason if it is no.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use route::ReadinessQuery;

use super::HttpState;

/// Answers as long as the process runs.
pub async fn lives() -> &'static str {
    "ok\n"
}

/// Whether the proxy can serve what the parameters ask for; without parameters, whether it has a usable backend.
pub async fn is_ready(
    State(state): State<Arc<HttpState>>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> (StatusCode, String) {
    let asked = match ReadinessQuery::read(pairs) {
        Ok(asked) => asked,
        Err(fault) => return (StatusCode::BAD_REQUEST, format!("{fault}\n")),
    };
    let data_plane = &state.authenticator.sources.data_plane;
    if data_plane.is_stopping() {
        return not_ready("the proxy stops");
    }
    match asked.missing(&data_plane.topology()) {
        Ok(None) => (StatusCode::OK, "ready\n".to_owned()),
        Ok(Some(reason)) => not_ready(&reason),
        Err(fault) => (StatusCode::BAD_REQUEST, format!("{fault}\n")),
    }
}

fn not_ready(reason: &str) -> (StatusCode, String) {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        format!("not ready: {reason}\n"),
    )
}
