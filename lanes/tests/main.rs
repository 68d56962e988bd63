//! Lanes between scripted clients and a scripted server: no real server, no session, one process.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod choosing;
mod faults;
mod prepared;
mod replies;
mod support;
