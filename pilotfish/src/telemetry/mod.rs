//! Sends traces and metrics to collectors of OpenTelemetry, by OTLP over HTTP.
//!
//! ```text
//!   traces    spans of statements, as they end      common   messages that both have
//!   metrics   those of the metrics page, each       post     one message on its way
//!             interval
//! ```

mod common;
mod metrics;
mod post;
mod traces;

pub use metrics::MetricsExporter;
pub use post::secured;
pub use traces::{Exporter, Sights};
