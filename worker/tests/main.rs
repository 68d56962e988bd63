//! A worker between scripted clients and a scripted server: from a client's arrival to the end of its session.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod arriving;
mod ending;
mod support;
