//! Which indexes statements use, and which indexes they lack or do not need.
//!
//! ```text
//!   plans, by EXPLAIN ──┐
//!   executions         ─┼─► usage ──► index_usage, indexes, unused_indexes, full_scans, plans
//!   indexes of schemas ─┘     └─────► suggestions ──► index_suggestions
//! ```
//!
//! This crate reads what `stats` has. It asks no server and knows no table of the admin port; `admin` shows what it finds.

#![forbid(unsafe_code)]

mod suggestions;
mod usage;

pub use suggestions::{Advice, Suggestion, suggestions};
pub use usage::{Explained, FullScan, IndexName, IndexUse, Usage};
