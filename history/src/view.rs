//! A view of the history's database, which other crates show as a table. The rows are read where they are kept, so that
//! statements find them by the indexes of the database.

/// A view: its name, its columns, and the tables that they are read from.
pub struct HistoryView {
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub about: &'static str,
    /// The tables behind FROM.
    pub(crate) from: &'static str,
    /// Its columns.
    pub columns: &'static [HistoryColumn],
}

/// A column of a view.
pub struct HistoryColumn {
    /// Its name.
    pub name: &'static str,
    /// What it is made of, in SQL.
    pub(crate) made_of: &'static str,
    /// What its values are.
    pub kind: HistoryValue,
    /// What numbers count: `s`, `us`, `bytes`.
    pub unit: Option<&'static str>,
    /// A sentence about it.
    pub about: &'static str,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryValue {
    /// Whole numbers.
    Integer,
    /// Texts.
    Text,
}

/// The columns of a view, one entry each: what its values are, its name, its unit, what it is made of, and a sentence.
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
    /// The statement that makes it, where it is not there yet.
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
