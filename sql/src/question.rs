//! Questions of a statement about the previous statement or about its connection: calls of
//! `ROW_COUNT()`, `CONNECTION_ID()` and similar functions, and variables.

use crate::functions::Function;
use crate::span::Span;
use crate::uses::Uses;

/// A call or a variable in the text whose value belongs to one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The subject of the question.
    pub about: About,
    /// The form of the question.
    pub form: QuestionForm,
    /// The whole call, or the variable with its scope.
    pub span: Span,
    /// The index of its statement in the command, from 0.
    pub statement_index: u32,
}

/// The subject of a question.
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

/// The form of a question, on which the type of the answer depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuestionForm {
    /// A function that is called.
    Function,
    /// A system variable that is read.
    Variable,
}

impl About {
    /// Returns the subject of a function's call without arguments.
    pub(crate) const fn of_function(function: Function) -> Option<Self> {
        Some(match function {
            Function::ConnectionId => Self::ConnectionId,
            Function::RowCount => Self::RowCount,
            Function::FoundRows => Self::FoundRows,
            Function::LastInsertId => Self::LastInsertId,
            _ => return None,
        })
    }

    /// Returns the subject of a session variable, by its name in lower case.
    pub(crate) const fn of_variable(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"identity" | b"last_insert_id" => Self::LastInsertId,
            b"pseudo_thread_id" => Self::PseudoThreadId,
            b"warning_count" => Self::WarningCount,
            b"error_count" => Self::ErrorCount,
            _ => return None,
        })
    }

    /// Returns the bit for it in a statement's uses.
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
