//! The session's settings that change how a statement's bytes are read.

use crate::charsets::Charset;
use crate::server::Server;

/// The session's settings on which the servers' lexers depend, and the server that will read the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags {
    /// `sql_mode` has NO_BACKSLASH_ESCAPES: a backslash in a string is a backslash.
    pub no_backslash_escapes: bool,
    /// `sql_mode` has ANSI_QUOTES: `"…"` is an identifier.
    pub ansi_quotes: bool,
    /// `sql_mode` has IGNORE_SPACE: `COUNT (1)` calls the built-in function.
    pub ignore_space: bool,
    /// `character_set_client`
    pub charset: Charset,
    /// The class of the default schema, to which names without a schema belong.
    pub schema: Schema,
    /// The server that will read it, on which `/*!50701 …*/`, `/*M! …*/` and names of built-in functions depend.
    pub server: Server,
}

impl Flags {
    /// Returns the settings with this `sql_mode`.
    #[must_use]
    pub fn in_mode(self, mode: &[u8]) -> Self {
        let mut flags = self;
        (
            flags.no_backslash_escapes,
            flags.ansi_quotes,
            flags.ignore_space,
        ) = (false, false, false);
        for name in mode.split(|byte| *byte == b',') {
            match name.trim_ascii().to_ascii_uppercase().as_slice() {
                b"NO_BACKSLASH_ESCAPES" => flags.no_backslash_escapes = true,
                b"ANSI_QUOTES" => flags.ansi_quotes = true,
                b"IGNORE_SPACE" => flags.ignore_space = true,
                // These names stand for several modes.
                b"ANSI" | b"DB2" | b"MAXDB" | b"MSSQL" | b"ORACLE" | b"POSTGRESQL" => {
                    (flags.ansi_quotes, flags.ignore_space) = (true, true);
                }
                _ => {}
            }
        }
        flags
    }
}

/// The class of a schema, by the content of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Schema {
    /// Data of users, or no schema is selected.
    #[default]
    Plain,
    /// `information_schema`
    Information,
    /// `performance_schema`
    Performance,
    /// `sys`
    Sys,
    /// `mysql`
    MySql,
}

impl Schema {
    /// Returns the class of a schema by its name; case is ignored.
    pub fn of_name(name: &[u8]) -> Self {
        let classes: [(&[u8], Self); 4] = [
            (b"information_schema", Self::Information),
            (b"performance_schema", Self::Performance),
            (b"sys", Self::Sys),
            (b"mysql", Self::MySql),
        ];
        let found = classes.iter().find(|(of, _)| name.eq_ignore_ascii_case(of));
        found.map_or(Self::Plain, |(_, class)| *class)
    }
}
