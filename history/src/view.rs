//! A view of the history's database, which other crates show as a table. SQLite reads the rows in place, so that
//! statements can use the indexes of the database.

/// A view: its name, its columns, and the tables that they are read from.
pub struct HistoryView {
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub about: &'static str,
    /// The tables after FROM.
    pub(crate) from: &'static str,
    /// Its columns.
    pub columns: &'static [HistoryColumn],
}

/// A column of a view.
pub struct HistoryColumn {
    /// Its name.
    pub name: &'static str,
    /// The SQL expression of the column.
    pub(crate) made_of: &'static str,
    /// The type of its values.
    pub kind: HistoryValue,
    /// The unit of numbers: `s`, `us`, `bytes`.
    pub unit: Option<&'static str>,
    /// A sentence about it.
    pub about: &'static str,
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryValue {
    /// Whole numbers.
    Integer,
    /// Texts.
    Text,
}

/// The columns of a view, one entry each: the type of its values, its name, its unit, its SQL expression, and a
/// sentence.
macro_rules! columns {
    ($($kind:ident $name:literal $([$unit:literal])? = $made_of:literal, $about:literal;)*) => {
        &[$($crate::view::HistoryColumn {
            name: $name,
            made_of: $made_of,
            kind: $crate::view::HistoryValue::$kind,
            unit: $crate::view::unit(&[$($unit)?]),
            about: $about,
        }),*]
    };
}
pub(crate) use columns;

/// The unit of a column, if it has one.
pub(crate) const fn unit(units: &[&'static str]) -> Option<&'static str> {
    match units {
        [unit] => Some(*unit),
        _ => None,
    }
}

impl HistoryView {
    /// Returns the statement that creates the view if it does not exist.
    pub(crate) fn definition(&self) -> String {
        let columns = self.columns.iter();
        let columns = columns.map(|it| format!("{} AS \"{}\"", it.made_of, it.name));
        let columns = columns.collect::<Vec<_>>().join(", ");
        format!(
            "CREATE VIEW IF NOT EXISTS {} AS SELECT {columns} FROM {}",
            self.name, self.from
        )
    }
}
