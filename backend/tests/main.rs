//! Dialogues of a worker's pool with a scripted server: no real server, no proxy, one process.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod idle;
mod limits;
mod logins;
mod pooling;
mod store;
mod support;
