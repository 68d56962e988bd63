//! What machines ask that start, stop and balance others: a word, for everybody.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::House;

/// The process lives.
pub async fn lives() -> &'static str {
    "ok\n"
}

/// Whether a backend is there that would take sessions.
pub async fn is_ready(State(house): State<Arc<House>>) -> (StatusCode, &'static str) {
    let topology = house.porter.window.topology();
    match topology.backends.iter().any(|backend| backend.is_usable()) {
        true => (StatusCode::OK, "ready\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
    }
}
