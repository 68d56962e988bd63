//! Notes of the import about settings of the other proxy.

use std::fmt;

/// The level of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The setting has no counterpart, and its effect is missing.
    Lost,
    /// The setting was carried over, but its effect is partly different.
    Differs,
    /// The setting is not needed.
    Unneeded,
}

/// A note about a setting that was not carried over unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// The line in the file; none for rows of an admin port.
    pub line: Option<usize>,
    /// The setting as the other proxy calls it, with its value.
    pub setting: String,
    /// The reason.
    pub reason: String,
    /// The nearest way to the same effect.
    pub nearest: Option<String>,
}

impl Level {
    /// The level in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Lost => "not carried over",
            Self::Differs => "carried over, with a difference",
            Self::Unneeded => "not needed",
        }
    }
}

impl fmt::Display for Note {
    /// `12: setting: not carried over: reason. Nearest way: …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "{line}: ")?;
        }
        write!(f, "{}: {}", self.setting, self.level.describe())?;
        write!(f, ": {}.", self.reason)?;
        match &self.nearest {
            Some(nearest) => write!(f, " Nearest way: {nearest}."),
            None => Ok(()),
        }
    }
}
