//! Injection: statements that a rule or profiling sends before and after a client's statement, on the same connection. The
//! client does not see them.
//!
//! There are two entries, because the client's statement runs between them: `inject_before`, which the pipeline calls in
//! the step "run" before the statement leaves, and `inject_after`, when the statement has ended. Without a rule or profiling
//! that concerns the statement, each costs one branch (`injects`).

mod bounded_queries;
mod inject;
mod settings;
pub(crate) mod timestamp;
