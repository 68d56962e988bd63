//! The servers' plans for statements: which indexes they use, and which indexes exist. No statement is run for that:
//! the proxy runs EXPLAIN, once in a while for each digest.
//!
//! ```text
//!   a statement has ended ─► statement_stats   its digest is due, and this second has had fewer than its share
//!                        ─► store.claim  no other session asks about it
//!                        ─► the crate explain asks, in a session of its own: on a replica, if there is one
//!   the answer           ─► reading      its rows, or its JSON
//!                        ─► conditions   which columns a table that is read whole is searched by
//!                        ─► store        for observers
//! ```

pub mod conditions;
#[cfg(test)]
mod drawn_tests;
pub mod reading;
pub mod schema;
pub mod store;
