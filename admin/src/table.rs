//! A table, defined once: its name, its columns, and how each value is had of an item. Whatever shows
//! tables walks over these definitions.

use std::time::Duration;

pub use crate::demands::{Asks, Demands};
use crate::table_input::TableInput;

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// It is not known, or there is none.
    Null,
    /// A whole number; truth is 0 or 1.
    Integer(i64),
    /// A text.
    Text(String),
}

/// What a column's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellType {
    /// Whole numbers.
    Integer,
    /// Numbers of which some are not whole: of results alone.
    Fraction,
    /// Texts.
    Text,
}

/// In which of the schemas that clients see a table stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Schema {
    /// Pilotfish's own tables.
    Pilotfish,
    /// Tables that ProxySQL's admin schema has.
    Main,
    /// Tables that ProxySQL's statistics have.
    Stats,
    /// What clients ask of tables themselves.
    Information,
}

/// What workers have to be asked for these tables.
pub fn demands_of(tables: &[&dyn Table]) -> Demands {
    Demands::of(tables.iter().map(|table| table.asks()))
}

/// One column of a table whose rows are made of `T`.
pub struct Column<T> {
    pub(crate) facts: ColumnFacts,
    of: fn(&T) -> Cell,
}

/// What is to be known of a column besides its values.
#[derive(Debug, Clone, Copy)]
pub struct ColumnFacts {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: CellType,
    /// What numbers count, if that is no mere number: `s`, `us`.
    pub unit: Option<&'static str>,
    /// A sentence about it.
    pub about: &'static str,
}

/// A table whose rows are made of `T`.
pub struct TableDefinition<T: 'static> {
    /// Where it stands.
    pub schema: Schema,
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub about: &'static str,
    /// What workers have to be asked for it.
    pub asks: Asks,
    /// Its columns.
    pub columns: &'static [Column<T>],
    /// What its rows are made of, in their order.
    pub items: fn(&TableInput) -> Vec<T>,
}

/// A table, whatever its rows are made of.
pub trait Table: Sync {
    /// Where it stands.
    fn schema(&self) -> Schema;
    /// Its name.
    fn name(&self) -> &'static str;
    /// A sentence about it.
    fn about(&self) -> &'static str;
    /// What workers have to be asked for it.
    fn asks(&self) -> Asks;
    /// Its columns.
    fn columns(&self) -> Vec<ColumnFacts>;
    /// Its rows, each with a value for each column.
    fn rows(&self, input: &TableInput) -> Vec<Vec<Cell>>;
    /// The schema that SQLite knows it in.
    fn home(&self) -> &'static str {
        self.schema().name()
    }
    /// How its rows are changed, if they can be.
    fn alterable(&self) -> Option<&Alterable> {
        None
    }
}

/// How the rows of a table are changed: what they are in the configuration.
pub struct Alterable {
    /// Where they stand.
    pub target: Target,
    /// Columns that mean a setting of another name.
    pub aliases: &'static [(&'static str, &'static str)],
    /// The settings by whose names columns are called.
    pub keys: fn() -> Vec<&'static str>,
    /// The column that says at which place a row stands.
    pub position_column: Option<&'static str>,
    /// Which one of its kind a row is, or why it cannot be changed.
    pub title: fn(&Row<'_>) -> Result<String, String>,
}

/// Where rows stand in the configuration.
#[derive(Clone, Copy)]
pub enum Target {
    /// Each is a setting.
    Settings,
    /// Each is a table of this list.
    List(&'static str),
}

/// A row and the names of its columns.
pub struct Row<'a> {
    /// The columns.
    pub columns: &'a [ColumnFacts],
    /// A value for each.
    pub cells: &'a [Cell],
}

impl Row<'_> {
    /// A column's text; nothing where it is NULL or there is none.
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
    /// The setting that a column means.
    pub fn key(&self, column: &'static str) -> Option<&'static str> {
        let alias = self.aliases.iter().find(|(name, _)| *name == column);
        let own = || (self.keys)().into_iter().find(|key| *key == column);
        alias.map(|(_, key)| *key).or_else(own)
    }
}

/// The columns of a table, one entry each: what its values are (`integer`, `text`, or `measure` with a unit), its name,
/// a sentence about it, and how its value is had of an item.
macro_rules! columns {
    ($($kind:ident $name:literal $([$unit:literal])?, $about:literal, $of:expr;)*) => {
        &[$($crate::table::$kind($name, $($unit,)? $about, $of)),*]
    };
}
pub(crate) use columns;

/// What is to be known of columns whose values are read where they are kept.
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

/// A column of numbers that count something.
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
    /// Every one.
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

    /// The schema of this name, in whatever case.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|schema| schema.name().eq_ignore_ascii_case(name))
    }
}

/// Columns whose texts are users, whom servers tell apart by case.
const EXACT: [&str; 3] = ["user", "username", "account"];

impl ColumnFacts {
    /// As SQLite declares it; texts are compared as servers compare them, most of them whatever their case.
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
    /// As a MySQL client is told it.
    pub const fn mysql(self) -> &'static str {
        match self {
            Self::Integer => "bigint",
            Self::Fraction => "double",
            Self::Text => "text",
        }
    }

    /// As JSON schema calls it.
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
    /// One item's row.
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

/// Whole numbers; those that are too large for a cell are its largest.
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

/// Whole seconds.
pub fn seconds(time: Duration) -> Cell {
    time.as_secs().into()
}

/// Whole microseconds.
pub fn microseconds(time: Duration) -> Cell {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).into()
}
