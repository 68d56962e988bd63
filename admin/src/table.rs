//! A table, defined once: its name, its columns, and the function that gives each value. All outputs of
//! tables use these definitions.

use std::time::Duration;

pub use crate::demands::{Asks, Demands};
use crate::table_input::TableInput;

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// The value is unknown, or there is none.
    Null,
    /// A whole number; booleans are 0 or 1.
    Integer(i64),
    /// A text.
    Text(String),
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellType {
    /// Whole numbers.
    Integer,
    /// Numbers with fractions; only columns of results have this type.
    Fraction,
    /// Texts.
    Text,
}

/// The schema, as clients see it, that a table belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Schema {
    /// Pilotfish's own tables.
    Pilotfish,
    /// Tables that ProxySQL's admin schema has.
    Main,
    /// Tables that ProxySQL's statistics have.
    Stats,
    /// Tables about the tables themselves, which clients query.
    Information,
}

/// The data that workers must be asked for to fill these tables.
pub fn demands_of(tables: &[&dyn Table]) -> Demands {
    Demands::of(tables.iter().map(|table| table.asks()))
}

/// One column of a table whose rows are made of `T`.
pub struct Column<T> {
    pub(crate) facts: ColumnFacts,
    of: fn(&T) -> Cell,
}

/// The facts about a column, without its values.
#[derive(Debug, Clone, Copy)]
pub struct ColumnFacts {
    /// Its name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: CellType,
    /// The unit of its numbers, if they have one: `s`, `us`.
    pub unit: Option<&'static str>,
    /// A sentence that describes the column.
    pub about: &'static str,
}

/// A table whose rows are made of `T`.
pub struct TableDefinition<T: 'static> {
    /// The schema it belongs to.
    pub schema: Schema,
    /// Its name.
    pub name: &'static str,
    /// A sentence that describes the table.
    pub about: &'static str,
    /// The data that workers must be asked for.
    pub asks: Asks,
    /// Its columns.
    pub columns: &'static [Column<T>],
    /// The items that its rows are made of, in order.
    pub items: fn(&TableInput) -> Vec<T>,
}

/// A table, for use without the type of its items.
pub trait Table: Sync {
    /// The schema it belongs to.
    fn schema(&self) -> Schema;
    /// Its name.
    fn name(&self) -> &'static str;
    /// A sentence that describes the table.
    fn about(&self) -> &'static str;
    /// The data that workers must be asked for.
    fn asks(&self) -> Asks;
    /// Its columns.
    fn columns(&self) -> Vec<ColumnFacts>;
    /// Its rows, each with a value for each column.
    fn rows(&self, input: &TableInput) -> Vec<Vec<Cell>>;
    /// The name of its schema in SQLite.
    fn home(&self) -> &'static str {
        self.schema().name()
    }
    /// How its rows are changed, if they can be.
    fn alterable(&self) -> Option<&Alterable> {
        None
    }
}

/// How changes of a table's rows become changes of the configuration.
pub struct Alterable {
    /// Where the rows are in the configuration.
    pub target: Target,
    /// Columns that mean a setting of another name.
    pub aliases: &'static [(&'static str, &'static str)],
    /// The names of the settings that are columns of the table.
    pub keys: fn() -> Vec<&'static str>,
    /// The column that has a row's position in its list.
    pub position_column: Option<&'static str>,
    /// Which item of the list a row is, or why it cannot be changed.
    pub title: fn(&Row<'_>) -> Result<String, String>,
}

/// Where a table's rows are in the configuration.
#[derive(Clone, Copy)]
pub enum Target {
    /// Each row is a setting.
    Settings,
    /// Each row is a table of this list in the configuration.
    List(&'static str),
}

/// A row and the names of its columns.
pub struct Row<'a> {
    /// The columns.
    pub columns: &'a [ColumnFacts],
    /// A value for each column.
    pub cells: &'a [Cell],
}

impl Row<'_> {
    /// A column's text; empty if it is NULL or there is no such column.
    pub fn text(&self, name: &str) -> String {
        let mut cells = self.columns.iter().zip(self.cells);
        match cells.find(|(column, _)| column.name == name) {
            Some((_, Cell::Text(text))) => text.clone(),
            Some((_, Cell::Integer(number))) => number.to_string(),
            Some((_, Cell::Null)) | None => String::new(),
        }
    }
}

impl Alterable {
    /// The setting that a column stands for.
    pub fn key(&self, column: &'static str) -> Option<&'static str> {
        let alias = self.aliases.iter().find(|(name, _)| *name == column);
        let own = || (self.keys)().into_iter().find(|key| *key == column);
        alias.map(|(_, key)| *key).or_else(own)
    }
}

/// The columns of a table, one entry each: type of values (`integer`, `text`, or `measure` with a unit), name, a
/// sentence about the column, and the function that gives its value.
macro_rules! columns {
    ($($kind:ident $name:literal $([$unit:literal])?, $about:literal, $of:expr;)*) => {
        &[$($crate::table::$kind($name, $($unit,)? $about, $of)),*]
    };
}
pub(crate) use columns;

/// The facts about columns of tables whose rows are read in their own database.
macro_rules! facts {
    ($($kind:ident $name:literal $([$unit:literal])?, $about:literal;)*) => {
        vec![$($crate::table::$kind::<()>($name, $($unit,)? $about, |_| $crate::table::Cell::Null).facts),*]
    };
}
pub(crate) use facts;

/// A column of whole numbers.
pub const fn integer<T>(name: &'static str, about: &'static str, of: fn(&T) -> Cell) -> Column<T> {
    column(name, CellType::Integer, None, about, of)
}

/// A column of numbers with a unit.
pub const fn measure<T>(
    name: &'static str,
    unit: &'static str,
    about: &'static str,
    of: fn(&T) -> Cell,
) -> Column<T> {
    column(name, CellType::Integer, Some(unit), about, of)
}

/// A column of texts.
pub const fn text<T>(name: &'static str, about: &'static str, of: fn(&T) -> Cell) -> Column<T> {
    column(name, CellType::Text, None, about, of)
}

const fn column<T>(
    name: &'static str,
    kind: CellType,
    unit: Option<&'static str>,
    about: &'static str,
    of: fn(&T) -> Cell,
) -> Column<T> {
    Column {
        facts: ColumnFacts {
            name,
            kind,
            unit,
            about,
        },
        of,
    }
}

impl Schema {
    /// All schemas.
    pub const ALL: [Self; 4] = [Self::Pilotfish, Self::Main, Self::Stats, Self::Information];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pilotfish => "pilotfish",
            Self::Main => "main",
            Self::Stats => "stats",
            Self::Information => "information_schema",
        }
    }

    /// The schema of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|schema| schema.name().eq_ignore_ascii_case(name))
    }
}

/// Columns whose texts are user names, which servers compare case-sensitively.
const EXACT: [&str; 3] = ["user", "username", "account"];

impl ColumnFacts {
    /// The column's type as SQLite declares it. Texts compare as on servers: mostly without regard to case.
    pub fn sqlite(&self) -> &'static str {
        match self.kind {
            CellType::Integer => "INTEGER",
            CellType::Fraction => "REAL",
            CellType::Text if EXACT.contains(&self.name) => "TEXT",
            CellType::Text => "TEXT COLLATE NOCASE",
        }
    }
}

impl CellType {
    /// The type's name as MySQL clients see it.
    pub const fn mysql(self) -> &'static str {
        match self {
            Self::Integer => "bigint",
            Self::Fraction => "double",
            Self::Text => "text",
        }
    }

    /// The type's name in JSON schema.
    pub const fn json(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Fraction => "number",
            Self::Text => "string",
        }
    }
}

impl<T> Table for TableDefinition<T> {
    fn schema(&self) -> Schema {
        self.schema
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn asks(&self) -> Asks {
        self.asks
    }

    fn columns(&self) -> Vec<ColumnFacts> {
        self.columns.iter().map(|column| column.facts).collect()
    }

    fn rows(&self, input: &TableInput) -> Vec<Vec<Cell>> {
        let items = (self.items)(input);
        items.iter().map(|item| self.row(item)).collect()
    }
}

impl<T> TableDefinition<T> {
    /// The row of one item.
    pub fn row(&self, item: &T) -> Vec<Cell> {
        let columns = self.columns.iter();
        columns.map(|column| (column.of)(item)).collect()
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<bool> for Cell {
    fn from(is_so: bool) -> Self {
        Self::Integer(is_so.into())
    }
}

/// Converts whole numbers; a number too large for a cell becomes the largest one.
macro_rules! from_numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Cell {
            fn from(number: $number) -> Self {
                Self::Integer(number.try_into().unwrap_or(i64::MAX))
            }
        }
    )*};
}
from_numbers! { u16 u32 i64 u64 usize }

/// A text; NULL if it is empty.
pub fn text_or_null(text: &str) -> Cell {
    Some(text).filter(|it| !it.is_empty()).into()
}

/// A duration in whole seconds.
pub fn seconds(time: Duration) -> Cell {
    time.as_secs().into()
}

/// A duration in whole microseconds.
pub fn microseconds(time: Duration) -> Cell {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).into()
}
