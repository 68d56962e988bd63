//! The parts of a pooled session, each on its own.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod client_side;
mod identity;
mod sql_state;
mod tracking;
