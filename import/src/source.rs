//! The input and the result of an import.

use std::fmt;
use std::path::Path;

use crate::note::Note;

/// A proxy whose configuration can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// ProxySQL, versions 1.4 to 3.
    ProxySql,
    /// MariaDB MaxScale.
    MaxScale,
    /// HAProxy.
    Haproxy,
    /// MySQL Router.
    MysqlRouter,
    /// MySQL Proxy.
    MysqlProxy,
}

/// A file of another proxy.
pub struct Source<'a> {
    /// The file's name, or the address of an admin port, for comments.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// Whether a file or folder is on this machine and can be read. A setting with a missing file becomes a comment in
    /// the output, because the output must pass a check.
    pub has_file: &'a dyn Fn(&Path) -> bool,
}

/// The result of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The configuration file.
    pub toml: String,
    /// Notes about settings that were not carried over unchanged, in the order of the file.
    pub notes: Vec<Note>,
}

/// Why a file could not be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The line, if the reason has one.
    pub line: Option<usize>,
    /// What is wrong.
    pub text: String,
    /// What the user can do.
    pub hint: String,
}

/// The largest file that is read, in bytes. The largest real files have a few hundred KiB.
const BYTES_MAX: usize = 16 << 20;

impl Source<'_> {
    /// Refuses a text that is too large.
    ///
    /// # Errors
    /// The text is too large.
    pub(crate) fn check_size(&self) -> Result<(), Refusal> {
        if self.text.len() <= BYTES_MAX {
            return Ok(());
        }
        let text = format!(
            "the file has {} bytes; at most {BYTES_MAX} are read",
            self.text.len()
        );
        Err(Refusal::whole(text, "name the configuration file itself"))
    }
}

impl Refusal {
    /// A refusal with its line.
    pub(crate) fn at(line: usize, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            text: text.into(),
            hint: hint.into(),
        }
    }

    /// A refusal of the file as a whole.
    pub(crate) fn whole(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            line: None,
            text: text.into(),
            hint: hint.into(),
        }
    }
}

impl Product {
    /// Every one.
    pub const ALL: &[Self] = &[
        Self::ProxySql,
        Self::MaxScale,
        Self::Haproxy,
        Self::MysqlRouter,
        Self::MysqlProxy,
    ];

    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::ProxySql => "proxysql",
            Self::MaxScale => "maxscale",
            Self::Haproxy => "haproxy",
            Self::MysqlRouter => "mysqlrouter",
            Self::MysqlProxy => "mysql-proxy",
        }
    }

    /// The product's name.
    pub fn title(self) -> &'static str {
        match self {
            Self::ProxySql => "ProxySQL",
            Self::MaxScale => "MaxScale",
            Self::Haproxy => "HAProxy",
            Self::MysqlRouter => "MySQL Router",
            Self::MysqlProxy => "MySQL Proxy",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "{line}: ")?;
        }
        write!(f, "{}; hint: {}", self.text, self.hint)
    }
}

impl std::error::Error for Refusal {}
