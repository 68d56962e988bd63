//! What is to be known of the history by those who read it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the history is, and how it fares, for its readers.
#[derive(Debug, Clone, Default)]
pub struct HistoryFacts {
    /// As SQLite is told it; none: there is nothing yet.
    pub source: Option<String>,
    /// The file, if one is wanted.
    pub file: Option<PathBuf>,
    /// Rows written since the start.
    pub written: u64,
    /// Intervals that could not be written when they were due.
    pub failed: u64,
    /// Why nothing can be written now.
    pub trouble: Option<String>,
}

/// What is to be known of the history, shared with its thread.
pub type Facts = Arc<Mutex<HistoryFacts>>;

/// What is known at this moment.
pub fn facts_of(facts: &Facts) -> HistoryFacts {
    facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
