//! `GET /metrics`: the metrics for Prometheus.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use config::MetricsReaders;

use super::accept::Caller;
use super::{HttpState, guard};
use admin::admin_session::aside;
use admin::fault::Fault;
use admin::metrics;

/// The content type of Prometheus' exposition format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Admits clients that may read the metrics.
pub async fn admit(
    state: State<Arc<HttpState>>,
    request: Request,
    next: Next,
) -> Result<Response, Response> {
    let caller = request.extensions().get::<Caller>();
    let is_at_home = caller.is_some_and(|caller| caller.is_at_home);
    let is_open = match state.settings().config.http.metrics {
        MetricsReaders::Login => false,
        MetricsReaders::Local => is_at_home,
        MetricsReaders::Everybody => true,
    };
    match is_open {
        true => Ok(next.run(request).await),
        false => guard::admit(state, request, next).await,
    }
}

/// All metrics.
pub async fn metrics(State(state): State<Arc<HttpState>>) -> Response {
    let shown = state.moment(&metrics::tables()).await;
    let input = Arc::clone(&shown.input);
    let written = shown.answer("/metrics", async {
        aside(move || {
            let measured = metrics::of_input(&input);
            Ok::<_, Fault>(Bytes::from(metrics::text(&measured)))
        })
        .await
    });
    match written.await {
        Ok(text) => ([(header::CONTENT_TYPE, FORMAT)], text).into_response(),
        Err(fault) => super::refusal::Refusal::from(fault).into_response(),
    }
}
