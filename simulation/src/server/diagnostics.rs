//! The diagnostics of a session's last statement.

use std::rc::Rc;

use super::error::SqlError;

/// How grave a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Note.
    Note,
    /// Warning.
    Warning,
    /// Error.
    Error,
}

impl Level {
    /// The word in SHOW WARNINGS.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "Note",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// A line of SHOW WARNINGS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// How grave it is.
    pub level: Level,
    /// Its number.
    pub number: u16,
    /// Its text.
    pub text: Rc<str>,
}

/// The diagnostics of the last statement.
#[derive(Debug, Default)]
pub struct Diagnostics {
    /// Its warnings and errors.
    pub conditions: Vec<Condition>,
    /// Whether the conditions are those of an earlier statement, which the last statement has kept.
    pub are_stale: bool,
    /// ROW_COUNT().
    pub row_count: i64,
    /// FOUND_ROWS().
    pub found_rows: u64,
    /// LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// `@@insert_id`: the number that the next row gets.
    pub next_insert_id: Option<u64>,
    /// Whether no index was used.
    pub no_index_used: bool,
    /// Whether the statement shows the conditions, and so has none of its own to tell.
    pub are_shown: bool,
}

impl Diagnostics {
    /// Forgets all conditions.
    pub fn clear(&mut self) {
        self.conditions.clear();
        self.are_stale = false;
    }

    /// Adds a warning.
    pub fn warn(&mut self, number: u16, text: impl Into<Rc<str>>) {
        self.add(Level::Warning, number, text);
    }

    /// Adds a condition.
    pub fn add(&mut self, level: Level, number: u16, text: impl Into<Rc<str>>) {
        if std::mem::take(&mut self.are_stale) {
            self.conditions.clear();
        }
        self.conditions.push(Condition {
            level,
            number,
            text: text.into(),
        });
    }

    /// Adds the error that the statement ended with.
    pub fn fail(&mut self, error: &SqlError) {
        self.add(Level::Error, error.number, Rc::clone(&error.text));
    }

    /// How many conditions the reply tells of.
    pub fn told_warnings(&self) -> u16 {
        match self.are_shown || self.are_stale {
            true => 0,
            false => self.warnings(),
        }
    }

    /// How many conditions there are.
    pub fn warnings(&self) -> u16 {
        u16::try_from(self.conditions.len()).unwrap_or(u16::MAX)
    }

    /// How many of them are errors.
    pub fn errors(&self) -> u16 {
        let errors = self.conditions.iter().filter(|it| it.level == Level::Error);
        u16::try_from(errors.count()).unwrap_or(u16::MAX)
    }
}
