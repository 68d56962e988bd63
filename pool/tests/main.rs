//! The pools of several workers under random operations and in virtual time.
#![allow(clippy::unwrap_used, clippy::panic)]

mod load;
mod model;
mod statements;
