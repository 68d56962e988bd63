//! How servers say that they run statements, which indexes they use for that, and which ones there are.
//! No statement is run for it: EXPLAIN tells, once in a while for each digest.
//!
//! ```text
//!   a statement has ended ─► insight      its digest is due, and this second has had fewer than its share
//!                        ─► store.claim  nobody else asks about it
//!                        ─► pooled/explaining.rs asks, in a session of its own: on a replica, if there is one
//!   the answer           ─► reading      its rows, or its JSON
//!                        ─► conditions   which columns a table that is read whole is searched by
//!                        ─► store        where whoever looks finds it
//! ```

pub mod conditions;
#[cfg(test)]
mod drawn_tests;
pub mod reading;
pub mod schema;
pub mod store;
