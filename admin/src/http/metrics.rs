//! `GET /metrics`: what Prometheus collects.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use config::MetricsReaders;

use super::door::Caller;
use super::{House, guard};
use crate::fault::Fault;
use crate::metrics;
use crate::visitor::aside;

/// The exposition format that is written.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Lets those in who may read them.
pub async fn admit(house: State<Arc<House>>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Caller>();
    let is_at_home = caller.is_some_and(|caller| caller.is_at_home);
    let is_open = match house.porter.window.settings().config.http.metrics {
        MetricsReaders::Login => false,
        MetricsReaders::Local => is_at_home,
        MetricsReaders::Everybody => true,
    };
    match is_open {
        true => next.run(request).await,
        false => guard::admit(house, request, next).await,
    }
}

/// All of them.
pub async fn metrics(State(house): State<Arc<House>>) -> Response {
    let shown = house.moment(&metrics::tables()).await;
    let material = Arc::clone(&shown.material);
    let written = shown.answer("/metrics", async {
        aside(move || Ok::<_, Fault>(Bytes::from(metrics::of_material(&material)))).await
    });
    match written.await {
        Ok(text) => ([(header::CONTENT_TYPE, FORMAT)], text).into_response(),
        Err(fault) => super::refusal::Refusal::from(fault).into(),
    }
}
