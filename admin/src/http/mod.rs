//! HTTP: the same tables as JSON, for programs and for the page that shows them.
//!
//! ```text
//!   door ──► TLS? ──► patient ──► guard ──► tables   GET  /api/tables, /api/tables/NAME
//!   how        as      waits      by what   query    POST /api/query
//!   many     on any    for so     name, who,actions  PATCH /api/settings, DELETE /api/sessions/ID, …
//!            listener  long       from a    openapi  GET  /api/openapi.json
//!                                 page?     health   GET  /healthz, /readyz
//!                                 metrics  GET  /metrics
//! ```
//!
//! What workers tell is asked for once a second at most, however many look on ([`crate::recent`]).

mod actions;
mod body;
mod door;
mod guard;
mod health;
mod metrics;
mod openapi;
mod page;
mod patient;
mod query;
mod refusal;
mod tables;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};

pub use door::Door;
use refusal::Refusal;

use crate::material::Material;
use crate::porter::Porter;
use crate::recent::{Recent, Shown};
use crate::sheet::{Demands, Table};

/// What all requests share.
pub struct House {
    porter: Arc<Porter>,
    recent: Arc<Recent>,
}

impl House {
    /// What these tables are made of, at most a second ago.
    async fn moment(&self, tables: &[&dyn Table]) -> Arc<Shown> {
        let gather = Material::gather(&self.porter.window, tables, self.porter.facts(), None);
        self.recent.moment(Demands::of(tables), gather).await
    }
}

/// Everything that is answered.
fn router(house: &Arc<House>) -> Router {
    let api = Router::new()
        .route("/api/tables", get(tables::list))
        .route("/api/tables/{name}", get(tables::show))
        .route("/api/query", post(query::query))
        .route("/api/openapi.json", get(openapi::document))
        .merge(actions::routes())
        .merge(page::routes())
        .fallback(nothing)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(Arc::clone(house), guard::admit));
    let metrics =
        get(metrics::metrics).layer(from_fn_with_state(Arc::clone(house), metrics::admit));
    Router::new()
        .route("/metrics", metrics)
        .route("/healthz", get(health::lives))
        .route("/readyz", get(health::is_ready))
        .merge(api)
        .layer(from_fn_with_state(Arc::clone(house), guard::receive))
        .with_state(Arc::clone(house))
}

async fn nothing() -> Response {
    let text = "Nothing is here; /api/openapi.json says what there is";
    Refusal::new(StatusCode::NOT_FOUND, text).into()
}

async fn no_method() -> Response {
    let text = "That cannot be done with this; /api/openapi.json says what can";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text).into()
}
