//! Logins between a scripted client and scripted servers: no real server, no worker, one process.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod admin_port;
mod ages;
mod answered;
mod connecting;
mod hosts;
mod relayed;
mod support;
