//! The state of the history, for its readers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The place of the history, and its state, for its readers.
#[derive(Debug, Clone, Default)]
pub struct HistoryFacts {
    /// The SQLite URI; none if no database is open.
    pub source: Option<String>,
    /// The file, if the history is kept in a file.
    pub file: Option<PathBuf>,
    /// Rows written since the start.
    pub written: u64,
    /// Intervals that could not be written when they were due.
    pub failed: u64,
    /// The reason why the history cannot be written now.
    pub trouble: Option<String>,
}

/// The state of the history, shared with its thread.
pub type Facts = Arc<Mutex<HistoryFacts>>;

/// Returns a copy of the current state.
pub fn facts_of(facts: &Facts) -> HistoryFacts {
    facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
