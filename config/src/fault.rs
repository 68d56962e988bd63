//! A fault in a configuration: its place, its text, and a hint.

use std::fmt;
use std::path::{Path, PathBuf};

/// A fault, or a warning, about a file or the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where the faulty setting was written.
    pub location: SourceLocation,
    /// The setting, as it was written: `limits.sessions_max`, `--limits-sessions-max`.
    pub setting: Option<String>,
    /// The description of the fault.
    pub text: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

/// Where a setting was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLocation {
    /// The file; none for the command line.
    pub file: Option<PathBuf>,
    /// Line and column, from 1, columns in characters; none for the file as a whole.
    pub position: Option<(usize, usize)>,
}

impl SourceLocation {
    /// A place on the command line.
    pub const COMMAND_LINE: Self = Self {
        file: None,
        position: None,
    };

    /// A file as a whole.
    pub fn file(path: &Path) -> Self {
        Self {
            file: Some(path.to_owned()),
            position: None,
        }
    }

    /// The byte `offset` of a file with this text.
    pub(crate) fn within(path: &Path, text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.bytes().filter(|&byte| byte == b'\n').count();
        let column = 1 + before[line_start..].chars().count();
        Self {
            file: Some(path.to_owned()),
            position: Some((line, column)),
        }
    }
}

impl Fault {
    /// A fault of one setting.
    pub(crate) fn new(
        location: SourceLocation,
        setting: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            location,
            setting: Some(setting.into()),
            text: text.into(),
            hint: None,
        }
    }

    /// A fault of the whole configuration.
    pub(crate) fn general(location: SourceLocation, text: impl Into<String>) -> Self {
        Self {
            location,
            setting: None,
            text: text.into(),
            hint: None,
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for SourceLocation {
    /// `pilotfish.toml:12:9`, `pilotfish.toml`, or nothing for the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
        }
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    /// One line: `pilotfish.toml:12:9: limits.sessions_max: must be …; hint: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.location != SourceLocation::COMMAND_LINE {
            write!(f, "{}: ", self.location)?;
        }
        if let Some(setting) = &self.setting {
            write!(f, "{setting}: ")?;
        }
        f.write_str(&self.text)?;
        match &self.hint {
            Some(hint) => write!(f, "; hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
