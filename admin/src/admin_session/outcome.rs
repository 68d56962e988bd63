//! The outcome of a statement.

use crate::engine::ResultRows;

/// The outcome of a statement.
pub enum Outcome {
    /// A result, with warnings about data that is missing in it.
    Rows(ResultRows, Vec<String>),
    /// The statement is done and has no result.
    Done,
    /// This many rows were changed. The session has the warnings.
    Changed(usize),
}
