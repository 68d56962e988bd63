//! HTTP: the tables of the admin port as JSON, for programs and for the dashboard.
//!
//! ```text
//!   accept ──► TLS? ──► patient ──► guard ──► tables   GET  /api/tables, /api/tables/NAME
//!   how many   on any   waits for   which     query    POST /api/query
//!              listener a request   user,     actions  PATCH /api/settings, DELETE /api/sessions/ID, …
//!                       so long     from      openapi  GET  /api/openapi.json
//!                                   a page?   page     GET  /
//!                                             health   GET  /healthz, /readyz
//!                                             metrics  GET  /metrics
//!                                             changes  GET  /changes
//! ```
//!
//! This crate serves the tables of `admin` by their definitions and has no tables itself. Workers are asked at most
//! once a second, however many clients there are ([`admin::recent`]). [`open`] makes the admin port's thread serve
//! HTTP.

#![forbid(unsafe_code)]

mod accept;
mod actions;
mod body;
mod changes;
mod guard;
mod health;
mod metrics;
mod openapi;
mod page;
mod query;
mod refusal;
mod tables;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use accept::HttpPort;
use refusal::Refusal;

use admin::authenticator::Authenticator;
use admin::port::Callers;
use admin::recent::{Recent, RecentSnapshot};
use admin::table::{Table, demands_of};
use admin::table_input::TableInput;
use worker::Settings;

/// The paths that ask for the proxy's health.
const HEALTH: [&str; 2] = ["/healthz", "/readyz"];

/// Creates the HTTP port for the admin port's thread.
pub fn open(authenticator: Arc<Authenticator>) -> Box<dyn Callers> {
    Box::new(HttpPort::new(authenticator))
}

/// The state that all requests share.
struct HttpState {
    authenticator: Arc<Authenticator>,
    recent: Arc<Recent>,
}

impl HttpState {
    /// The current settings.
    fn settings(&self) -> Arc<Settings> {
        self.authenticator.sources.data_plane.settings()
    }

    /// The data of these tables, at most a second old.
    async fn moment(&self, tables: &[&dyn Table]) -> Arc<RecentSnapshot> {
        let demands = demands_of(tables);
        let gather = TableInput::gather(
            &self.authenticator.sources.data_plane,
            demands,
            self.authenticator.facts(),
            None,
        );
        self.recent.moment(demands, gather).await
    }
}

/// The routes of all requests.
fn router(state: &Arc<HttpState>) -> Router {
    let api = Router::new()
        .route("/api/tables", get(tables::list))
        .route("/api/tables/{name}", get(tables::show))
        .route("/api/query", post(query::query))
        .route("/api/openapi.json", get(openapi::document))
        .merge(actions::routes())
        .merge(page::routes())
        .fallback(nothing)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(Arc::clone(state), guard::admit));
    let metrics =
        get(metrics::metrics).layer(from_fn_with_state(Arc::clone(state), metrics::admit));
    let changes = get(changes::changes).layer(from_fn_with_state(
        Arc::clone(state),
        guard::admit_to_changes,
    ));
    Router::new()
        .route("/changes", changes)
        .route("/metrics", metrics)
        .route("/healthz", get(health::lives))
        .route("/readyz", get(health::is_ready))
        .merge(api)
        .layer(from_fn_with_state(Arc::clone(state), guard::receive))
        .with_state(Arc::clone(state))
}

async fn nothing() -> Refusal {
    let text = "Nothing is here; /api/openapi.json says what there is";
    Refusal::new(StatusCode::NOT_FOUND, text)
}

async fn no_method() -> Refusal {
    let text = "That cannot be done with this; /api/openapi.json says what can";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text)
}
