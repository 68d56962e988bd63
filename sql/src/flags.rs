//! What the session has set that changes how a statement's bytes are read.

use crate::charsets::Charset;
use crate::server::Server;

/// The session's settings that the servers' lexers look at, and who will read the statement.
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
    /// The class of the default schema: whose tables names without a schema are.
    pub schema: Schema,
    /// Who will read it: decides over `/*!50701 …*/`, `/*M! …*/` and names of built-in functions.
    pub server: Server,
}

impl Flags {
    /// The same in this `sql_mode`.
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
                // They stand for several modes.
                b"ANSI" | b"DB2" | b"MAXDB" | b"MSSQL" | b"ORACLE" | b"POSTGRESQL" => {
                    (flags.ansi_quotes, flags.ignore_space) = (true, true);
                }
                _ => {}
            }
        }
        flags
    }
}

/// The class of a schema: what its tables tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Schema {
    /// Anybody's data, or none is chosen.
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
    /// The class of a schema by its name, in any case.
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
