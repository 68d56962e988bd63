//! Captured files of real servers, and properties of the decoder, in one test binary.
#![allow(clippy::unwrap_used, clippy::panic)]

mod captures;
mod damage;
mod gtid_sets;
mod rewriting;
