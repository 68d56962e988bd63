//! Statements that rules and profiling send before and after a client's statement.

pub(crate) mod bounded_queries;
pub(crate) mod inject;
pub(crate) mod profiling;
pub(crate) mod settings;
mod timestamp;
