//! What a statement asks about the statement before it and about its connection: where the text
//! calls `ROW_COUNT()`, `CONNECTION_ID()` and similar ones.

use crate::functions::Function;
use crate::span::Span;
use crate::uses::Uses;

/// A call or a variable in the text whose value belongs to one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub about: About,
    /// How it is asked.
    pub form: QuestionForm,
    /// The whole call, or the variable with its scope.
    pub span: Span,
    /// In which of the command's statements it stands, counted from 0.
    pub statement_index: u32,
}

/// What may be asked of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// `CONNECTION_ID()`
    ConnectionId,
    /// `@@pseudo_thread_id`, which is the connection's id unless the session has set it.
    PseudoThreadId,
    /// `ROW_COUNT()`
    RowCount,
    /// `FOUND_ROWS()`
    FoundRows,
    /// `LAST_INSERT_ID()`, `@@identity`, `@@last_insert_id`
    LastInsertId,
    /// `@@warning_count`
    WarningCount,
    /// `@@error_count`
    ErrorCount,
}

/// How a question is asked: the types of the answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionForm {
    /// A function that is called.
    Function,
    /// A system variable that is read.
    Variable,
}

impl About {
    /// What a call of a function without arguments asks.
    pub(crate) const fn of_function(function: Function) -> Option<Self> {
        Some(match function {
            Function::ConnectionId => Self::ConnectionId,
            Function::RowCount => Self::RowCount,
            Function::FoundRows => Self::FoundRows,
            Function::LastInsertId => Self::LastInsertId,
            _ => return None,
        })
    }

    /// What a session variable asks, by its name in lower case.
    pub(crate) const fn of_variable(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"identity" | b"last_insert_id" => Self::LastInsertId,
            b"pseudo_thread_id" => Self::PseudoThreadId,
            b"warning_count" => Self::WarningCount,
            b"error_count" => Self::ErrorCount,
            _ => return None,
        })
    }

    /// The bit that tells of it among what a statement uses.
    pub const fn uses(self) -> Uses {
        match self {
            Self::ConnectionId | Self::PseudoThreadId => Uses::CONNECTION_ID,
            Self::RowCount => Uses::ROW_COUNT,
            Self::FoundRows => Uses::FOUND_ROWS,
            Self::LastInsertId => Uses::LAST_INSERT_ID,
            Self::WarningCount | Self::ErrorCount => Uses::DIAGNOSTICS,
        }
    }
}
