//! Metrics: columns of the registry's tables under names by Prometheus' conventions, and how statements' times are
//! spread. Prometheus reads them as text; a collector of OpenTelemetry gets the same values.
//!
//! ```text
//!   families   which there are, of which column     measured, metric  the values of a moment
//!   of_scripts what scripts count                   written   their text
//!   bounded    labels of which there may be many    tests     the manual's list of them
//! ```

mod bounded;
mod families;
mod measured;
mod metric;
mod of_scripts;
mod written;

#[cfg(test)]
mod tests;

use crate::registry;
use crate::table::Table;

pub use measured::{of_material, tables};
pub use metric::{Buckets, Labels, Measured, Metric, Series};
pub use written::text;

/// Series of one name that differ in their labels.
struct Family {
    name: &'static str,
    kind: MetricKind,
    /// A sentence; none: that of its only source's column, with the column's name.
    about: Option<&'static str>,
    sources: &'static [Source],
}

/// How the numbers of a metric's family change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// They grow, until the process ends or they are set back.
    Counter,
    /// They rise and fall.
    Gauge,
    /// Values are counted by their size.
    Histogram,
}

/// Rows of a table that become series.
struct Source {
    table: &'static str,
    value: Value,
    /// Labels and the columns that they are.
    labels: &'static [(&'static str, &'static str)],
    /// One more label, the same for all of them.
    fixed: Option<(&'static str, &'static str)>,
}

/// What the number of a row is.
#[derive(Debug, Clone, Copy)]
enum Value {
    /// A column's, in seconds if it is a time. Rows where it is NULL have none.
    Of(&'static str),
    /// 1 if the column has one of these texts, 0 if it has another.
    Is(&'static str, &'static [&'static str]),
    /// 1: the labels are what is told.
    One,
}

impl Family {
    fn about(&self) -> String {
        let of_column = || {
            let source = self.sources.first()?;
            let Value::Of(name) = source.value else {
                return None;
            };
            let mut columns = source.table()?.columns().into_iter();
            let column = columns.find(|column| column.name == name)?;
            Some(format!("{}.{name}: {}", source.table, column.about))
        };
        let own = self.about.map(str::to_owned);
        own.or_else(of_column).unwrap_or_default()
    }
}

impl Source {
    fn table(&self) -> Option<&'static dyn Table> {
        registry::table(None, self.table)
    }
}

impl MetricKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}
