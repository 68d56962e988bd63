//! The parts of a pooled session, each tested alone.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod client_side;
mod identity;
mod sql_state;
mod tracking;
