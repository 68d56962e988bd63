//! What all workers together know about pooled connections to backends.
//!
//! ```text
//!   worker 1 ─┐                     ┌─ connection_limits   how many connections a backend and an account may have
//!   worker 2 ─┼─ one of each, shared ┼─ global_variables    which values new sessions of a server inherit
//!   worker 3 ─┘                     └─ privilege_changes   which connections logged in before a GRANT or a REVOKE
//! ```
//!
//! A pooled connection outlives many sessions. It has the global variables and the privileges of the time when it logged
//! in. These modules count the changes since then, so that a worker can bring a connection up to date, or close it.
//! The connections themselves, and the pool of each worker, are still in the crate `proxy`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod connection_limits;
pub mod global_variables;
pub mod privilege_changes;
