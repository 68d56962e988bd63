//! Metrics: columns of tables under names by Prometheus' conventions, and histograms of statements' times. Prometheus
//! reads them as text; a collector of OpenTelemetry gets the same values.
//!
//! ```text
//!   MetricSources (the admin port: its tables, workers, scripts)
//!      │
//!      ▼
//!   families ──► measured ──► Metric ──► written   Prometheus' text
//!   which        the values              (the telemetry of the binary: OTLP)
//!   there are    of a moment
//!
//!   bounded: labels of which there may be many      of_scripts: what scripts count
//! ```
//!
//! The entry points are [`measured`] and [`text`]. This crate knows no table; [`tables`] names those it needs.

#![forbid(unsafe_code)]

mod bounded;
mod families;
mod family;
mod measured;
mod metric;
mod of_scripts;
mod sources;
mod written;

pub use families::FAMILIES;
pub use family::{Family, MetricKind, Source, Value};
pub use measured::{HISTOGRAMS, measured, tables};
pub use metric::{Buckets, Labels, Measured, Metric, Series};
pub use sources::{MetricCell, MetricColumn, MetricSources, MetricTable};
pub use written::text;
