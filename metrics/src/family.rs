//! A family of series: a name, and the columns that its numbers come from.

use crate::sources::MetricColumn;

/// Series of one name, which differ in their labels.
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// The kind of its numbers.
    pub kind: MetricKind,
    /// A sentence; `None`: the sentence of its only source's column, with the column's name.
    pub about: Option<&'static str>,
    /// The columns that become its series.
    pub sources: &'static [Source],
}

/// The kind of a family's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// They grow, until the process ends or they are reset.
    Counter,
    /// They rise and fall.
    Gauge,
    /// Values are counted by their size.
    Histogram,
}

/// A column of a table whose rows become series.
pub struct Source {
    /// The table's name.
    pub table: &'static str,
    /// The number of a row.
    pub value: Value,
    /// Labels, and the columns that give their values.
    pub labels: &'static [(&'static str, &'static str)],
    /// A further label with the same value for all rows.
    pub fixed: Option<(&'static str, &'static str)>,
}

/// The number of a row.
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// The column's value, in seconds if it is a time. Rows with NULL are left out.
    Of(&'static str),
    /// 1 if the column has one of these texts, 0 if it has another.
    Is(&'static str, &'static [&'static str]),
    /// Always 1: the labels carry the information.
    One,
}

impl Family {
    /// A sentence that describes it. `columns` are those of its first source's table.
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
    /// Prometheus' name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}
