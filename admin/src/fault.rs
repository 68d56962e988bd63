//! The error with which a statement ends, in the form its client gets.

use wire::{ErrPacket, ErrorCode};

use crate::replaced;

/// A number, an SQLSTATE and a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Fault {
    /// The number and SQLSTATE that servers use for it.
    pub code: ErrorCode,
    /// The text for people.
    pub text: String,
}

const fn code(number: u16, sqlstate: &[u8; 5]) -> ErrorCode {
    ErrorCode {
        number,
        sqlstate: *sqlstate,
    }
}

/// Faults whose callers give the text, with the servers' number and SQLSTATE for each.
macro_rules! faults {
    ($($(#[$about:meta])* $name:ident $number:literal $sqlstate:literal;)*) => {
        impl Fault {$(
            $(#[$about])*
            pub fn $name(text: impl Into<String>) -> Self {
                Self::new(code($number, $sqlstate), text)
            }
        )*}
    };
}

faults! {
    /// ER_PARSE_ERROR.
    syntax 1064 b"42000";
    /// ER_BAD_FIELD_ERROR.
    no_column 1054 b"42S22";
    /// ER_SP_DOES_NOT_EXIST.
    no_function 1305 b"42000";
    /// ER_UNKNOWN_SYSTEM_VARIABLE.
    no_variable 1193 b"HY000";
    /// ER_NOT_SUPPORTED_YET: a statement that works differently here, or not at all.
    not_here 1235 b"42000";
    /// ER_NONUPDATEABLE_COLUMN, also for similar cases.
    not_alterable 1348 b"HY000";
    /// ER_WRONG_VALUE_FOR_VAR: a value that the configuration cannot have.
    wrong_value 1231 b"42000";
    /// ER_WRONG_ARGUMENTS.
    wrong_arguments 1210 b"HY000";
    /// ER_OUTOFMEMORY.
    too_large 1037 b"HY001";
}

impl Fault {
    /// A fault with the number that servers use for it.
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text }
    }

    /// ER_EMPTY_QUERY.
    pub fn empty() -> Self {
        Self::new(code(1065, b"42000"), "Query was empty")
    }

    /// ER_BAD_DB_ERROR.
    pub fn no_schema(name: &str) -> Self {
        Self::new(code(1049, b"42000"), format!("Unknown database '{name}'"))
    }

    /// ER_NO_SUCH_TABLE.
    pub fn no_table(name: &str) -> Self {
        let bare = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        let hint = replaced::table(&bare).unwrap_or("SHOW TABLES lists the tables");
        let text = format!("Table '{name}' doesn't exist; {hint}");
        Self::new(code(1146, b"42S02"), text)
    }

    /// ER_GLOBAL_VARIABLE: a setting of the whole proxy cannot be set for a session.
    pub fn for_all(name: &str) -> Self {
        let text =
            format!("Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL");
        Self::new(code(1229, b"HY000"), text)
    }

    /// ER_TABLEACCESS_DENIED_ERROR.
    pub fn read_only() -> Self {
        let text = "Only rows of settings, backends, rules, accounts and admin_accounts can be changed; SELECT * FROM help \
                    lists the statements";
        Self::new(code(1142, b"42000"), text)
    }

    /// ER_TABLEACCESS_DENIED_ERROR, for TRUNCATE.
    pub fn not_emptied() -> Self {
        let text = "TRUNCATE empties digests, errors, slow_statements, profiles and index_usage only; remove rows \
                    of other tables with DELETE";
        Self::new(code(1142, b"42000"), text)
    }

    /// ER_TABLEACCESS_DENIED_ERROR, for a user with a reading role.
    pub fn read_only_user(user: &str) -> Self {
        let text = format!("Access denied for '{user}'; changes are for users with the role admin");
        Self::new(code(1142, b"42000"), text)
    }

    /// ER_LOCK_DEADLOCK, which clients take as a reason to try again.
    pub fn overtaken() -> Self {
        let text = "Another administrator has changed the configuration meanwhile; try restarting the transaction";
        Self::new(code(1213, b"40001"), text)
    }

    /// ER_SPECIFIC_ACCESS_DENIED_ERROR.
    pub fn not_allowed(what: &str) -> Self {
        let text = format!("Access denied; {what} is for users with the role admin");
        Self::new(code(1227, b"42000"), text)
    }

    /// ER_NO_SUCH_THREAD.
    pub fn no_session(id: u32) -> Self {
        let text = format!("Unknown thread id: {id}; SELECT id FROM sessions lists the sessions");
        Self::new(ErrorCode::NO_SUCH_THREAD, text)
    }

    /// ER_QUERY_TIMEOUT.
    pub fn timeout() -> Self {
        let text = "Query execution was interrupted, maximum statement execution time exceeded \
                    (admin.timeout_statement)";
        Self::new(code(3024, b"HY000"), text)
    }

    /// ER_INVALID_CHARACTER_STRING.
    pub fn no_text() -> Self {
        let text = "Statements of the admin port are UTF-8 without NULs";
        Self::new(code(1300, b"HY000"), text)
    }

    /// ER_UNKNOWN_ERROR.
    pub fn other(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::UNKNOWN, text)
    }

    /// The payload of an ERR packet.
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        ErrPacket {
            number: self.code.number,
            sqlstate: Some(self.code.sqlstate),
            text: self.text.as_bytes(),
        }
        .encode(&mut payload);
        payload
    }
}

impl From<rusqlite::Error> for Fault {
    /// Converts SQLite's error, with the number that a server would use.
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let (code, text) = match &error {
            rusqlite::Error::SqlInputError { error, msg, .. } => (Some(error.code), msg.clone()),
            rusqlite::Error::SqliteFailure(error, Some(text)) => (Some(error.code), text.clone()),
            rusqlite::Error::SqliteFailure(error, None) => (Some(error.code), error.to_string()),
            other => (None, other.to_string()),
        };
        match code {
            Some(Code::OperationInterrupted) => return Self::timeout(),
            Some(Code::AuthorizationForStatementDenied) => return Self::read_only(),
            Some(Code::OutOfMemory) => {
                return Self::too_large("The statement needs too much memory");
            }
            Some(Code::TooBig) => {
                return Self::too_large("A value, or the statement, is too large");
            }
            _ => {}
        }
        let is_syntax = ["syntax error", "unrecognized token", "incomplete input"];
        if let Some(name) = text.strip_prefix("no such table: ") {
            Self::no_table(name)
        } else if ["no such column", "ambiguous column"]
            .iter()
            .any(|it| text.starts_with(it))
            || text.contains("has no column named")
        {
            Self::no_column(text)
        } else if let Some(name) = text.strip_prefix("no such function: ") {
            let hint = replaced::function(name).unwrap_or("the functions here are SQLite's");
            Self::no_function(format!("{text}; {hint}"))
        } else if text.contains("not authorized") || text.contains("prohibited") {
            Self::read_only()
        } else if is_syntax.iter().any(|it| text.contains(it)) {
            Self::syntax(format!("{text}; statements are SQLite's SQL here"))
        } else {
            Self::other(text)
        }
    }
}
