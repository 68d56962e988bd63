//! Which columns have numbers, and which have times, by their names.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use sql::TokenKind;

use super::Text;
use crate::fault::Fault;
use crate::registry::{TABLES, table};
use crate::sheet::{ColumnFacts, Kind};

/// Whether a column has nothing but numbers in every table with such a column, by its name in small letters.
static NUMBERS: LazyLock<HashMap<String, bool>> = LazyLock::new(|| {
    let mut numbers = HashMap::new();
    for column in TABLES.iter().flat_map(|table| table.columns()) {
        let is_number = numbers
            .entry(column.name.to_ascii_lowercase())
            .or_insert(true);
        *is_number &= column.kind != Kind::Text;
    }
    numbers
});

/// The columns of a table, whether they have times, by names in small letters.
type Times = HashMap<String, bool>;

/// The columns of each table, by its name in small letters.
static TIMES: LazyLock<HashMap<String, Times>> = LazyLock::new(|| {
    let is_time =
        |column: &ColumnFacts| column.kind == Kind::Text && column.about.ends_with("in UTC.");
    // Two schemas may have a table of one name.
    let mut tables: HashMap<String, Times> = HashMap::new();
    for table in TABLES {
        let known = tables.entry(table.name().to_ascii_lowercase()).or_default();
        for column in table.columns() {
            *known
                .entry(column.name.to_ascii_lowercase())
                .or_insert(true) &= is_time(&column);
        }
    }
    tables
});

/// The words in front of the table that is changed.
const VERBS: [&str; 9] = [
    "INSERT",
    "REPLACE",
    "UPDATE",
    "DELETE",
    "INTO",
    "FROM",
    "IGNORE",
    "QUICK",
    "LOW_PRIORITY",
];

/// The columns that a statement may mean.
pub struct Columns {
    changes: bool,
    /// Those of the table whose rows it changes.
    own: HashMap<String, bool>,
    /// The tables that it names.
    named: BTreeSet<String>,
}

impl Columns {
    pub fn of(text: Text<'_>) -> Self {
        let changes = VERBS.iter().take(4).any(|verb| text.begins_with(verb));
        let mut own = HashMap::new();
        if changes {
            let is_verb = |at: &usize| VERBS.iter().any(|verb| text.is_word(*at, verb));
            let mut at = (0..text.tokens.len())
                .find(|at| !is_verb(at))
                .unwrap_or_default();
            if text.kind_of(at + 1) == TokenKind::Dot {
                at += 2;
            }
            let target = Text::new(text.text, text.tokens.get(at..).unwrap_or_default());
            let target = target.name().and_then(|(name, _)| table(None, &name));
            let columns = target.map(|it| it.columns()).unwrap_or_default();
            let facts = columns
                .iter()
                .map(|it| (it.name.to_ascii_lowercase(), it.kind != Kind::Text));
            own.extend(facts);
        }
        let words = text.tokens.iter().filter(|it| it.kind != TokenKind::String);
        let words = words.map(|it| text.written(it).trim_matches('`').to_ascii_lowercase());
        let named = words.filter(|it| TIMES.contains_key(it)).collect();
        Self {
            changes,
            own,
            named,
        }
    }

    /// Whether rows are changed.
    pub fn changes(&self) -> bool {
        self.changes
    }

    /// Whether a column has numbers, so that it need not be made one beside a number.
    ///
    /// # Errors
    /// It has texts, and rows are changed: servers refuse that too, where a text is no number. Or it has times.
    pub fn is_number(&self, name: Option<String>, number: &str) -> Result<bool, Fault> {
        let Some(name) = name else {
            return Ok(false);
        };
        let small = name.to_ascii_lowercase();
        if self.is_time(&small) {
            return Err(Fault::wrong_value(format!(
                "'{name}' is a time, which is compared with times and texts: '2026-01-31 12:00:00', NOW() - INTERVAL 5 \
                 MINUTE; UNIX_TIMESTAMP({name}) is its number"
            )));
        }
        match self.own.get(&small).or_else(|| NUMBERS.get(&small)) {
            Some(false) if self.changes => Err(Fault::wrong_value(format!(
                "'{name}' is a text, which is compared with texts where rows are changed: write '{number}', or \
                 '{name} + 0' where its number is meant"
            ))),
            known => Ok(known.copied().unwrap_or_default()),
        }
    }

    /// Whether a column has times in each of the tables that are named and have it.
    fn is_time(&self, column: &str) -> bool {
        let tables = self.named.iter().filter_map(|it| TIMES.get(it));
        let mut found = tables.filter_map(|it| it.get(column)).peekable();
        found.peek().is_some() && found.all(|is_time| *is_time)
    }
}
