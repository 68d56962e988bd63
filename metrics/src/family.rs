//! A family of series: a name, and the columns that its numbers are of.

use crate::sources::MetricColumn;

/// Series of one name that differ in their labels.
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// How its numbers change.
    pub kind: MetricKind,
    /// A sentence; none: that of its only source's column, with the column's name.
    pub about: Option<&'static str>,
    /// What becomes its series.
    pub sources: &'static [Source],
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
pub struct Source {
    /// The table's name.
    pub table: &'static str,
    /// What the number of a row is.
    pub value: Value,
    /// Labels and the columns that they are.
    pub labels: &'static [(&'static str, &'static str)],
    /// One more label, the same for all of them.
    pub fixed: Option<(&'static str, &'static str)>,
}

/// What the number of a row is.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// A column's, in seconds if it is a time. Rows where it is NULL have none.
    Of(&'static str),
    /// 1 if the column has one of these texts, 0 if it has another.
    Is(&'static str, &'static [&'static str]),
    /// 1: the labels are what is told.
    One,
}

impl Family {
    /// A sentence about it. `columns`: those of its first source's table.
    pub fn about(&self, columns: &[MetricColumn]) -> String {
        let of_column = || {
            let source = self.sources.first()?;
            let Value::Of(name) = source.value else {
                return None;
            };
            let column = columns.iter().find(|column| column.name == name)?;
            Some(format!("{}.{name}: {}", source.table, column.about))
        };
        let own = self.about.map(str::to_owned);
        own.or_else(of_column).unwrap_or_default()
    }
}

impl MetricKind {
    /// As Prometheus calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}
