//! Statements, patterns and values of results in the file.

use std::fmt;
use std::ops::Deref;

use crate::raw_setting::{Raw, RawSetting};
use crate::value::{Value, quoted};
use crate::{Fault, ValueType};

/// A statement, or a part or pattern of one: text that may run over several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlText(pub String);

impl Deref for SqlText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SqlText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for SqlText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Value for SqlText {
    const KIND: ValueType = ValueType::Statement;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
        let text = given.text(Self::KIND)?;
        let is_strange = |it: char| it.is_control() && !matches!(it, '\n' | '\r' | '\t');
        if text.contains(is_strange) {
            let text = "must not contain control characters other than tabs and line ends";
            return Err(vec![given.fault(text)]);
        }
        Ok(Self(text.to_owned()))
    }

    fn to_toml(&self) -> String {
        quoted(self)
    }
}

/// A value of a result that the proxy itself sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// NULL, written `\N` as in LOAD DATA.
    Null,
    /// A text; numbers are texts, too.
    Text(String),
}

impl Cell {
    /// Its bytes; none for NULL.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Null => None,
            Self::Text(text) => Some(text.as_bytes()),
        }
    }
}

impl Value for Cell {
    const KIND: ValueType = ValueType::Cell;

    fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
        match given.raw {
            Raw::Number(number) => Ok(Self::Text(number.to_string())),
            Raw::Fraction(number) => Ok(Self::Text(number.to_string())),
            Raw::Text("\\N") | Raw::Word("\\N") => Ok(Self::Null),
            Raw::Text(text) | Raw::Word(text) => Ok(Self::Text(text.to_owned())),
            _ => Err(given.wrong(Self::KIND)),
        }
    }

    fn to_toml(&self) -> String {
        match self {
            Self::Null => quoted("\\N"),
            Self::Text(text) => quoted(text),
        }
    }
}
