//! What has come of a statement.

use crate::engine::ResultRows;

/// What has come of a statement.
pub enum Outcome {
    /// A result, and what is missing in it.
    Rows(ResultRows, Vec<String>),
    /// It is done, and there is nothing to show.
    Done,
    /// So many rows have been changed. The session has the warnings.
    Changed(usize),
}
