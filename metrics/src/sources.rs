//! What metrics are made of, at one moment.

use registry::worker_view::TimesView;
use script::metrics::{Measured, Series};

/// What metrics are made of, at one moment. The admin port gives it.
pub trait MetricSources {
    /// A table, by its name, if there is one.
    fn table(&self, name: &'static str) -> Option<MetricTable>;
    /// How long statements have taken since the start.
    fn times(&self) -> Vec<TimesView>;
    /// What scripts count, in the order of the names.
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
    /// What its numbers count: `s`, `us`.
    pub unit: Option<&'static str>,
    /// A sentence about it.
    pub about: &'static str,
}

/// A value of a row.
pub enum MetricCell {
    /// It is not known, or there is none.
    Null,
    /// A whole number; truth is 0 or 1.
    Integer(i64),
    /// A text.
    Text(String),
}
