//! Captured files of real servers, and properties over them: one test binary.
#![allow(clippy::unwrap_used, clippy::panic)]

mod captures;
mod damage;
mod gtid_sets;
mod rewriting;
