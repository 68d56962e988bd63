//! The data that metrics are made from, at one moment.

use registry::worker_view::TimesView;
use script::metrics::{Measured, Series};

/// The data that metrics are made from, at one moment. The admin port provides it.
pub trait MetricSources {
    /// A table, by its name, if there is one.
    fn table(&self, name: &'static str) -> Option<MetricTable>;
    /// How long statements have taken since the start.
    fn times(&self) -> Vec<TimesView>;
    /// The metrics of scripts, ordered by name.
    fn scripts(&self) -> Vec<(Series, Measured)>;
}

/// A table.
pub struct MetricTable {
    /// Its columns.
    pub columns: Vec<MetricColumn>,
    /// Its rows, each with a value for each column.
    pub rows: Vec<Vec<MetricCell>>,
}

/// A column of a table.
pub struct MetricColumn {
    /// Its name.
    pub name: &'static str,
    /// The unit of its numbers: `s`, `us`.
    pub unit: Option<&'static str>,
    /// A sentence that describes it.
    pub about: &'static str,
}

/// A value of a row.
pub enum MetricCell {
    /// The value is unknown, or there is none.
    Null,
    /// A whole number; booleans are 0 or 1.
    Integer(i64),
    /// A text.
    Text(String),
}
