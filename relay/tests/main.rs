//! Relayed sessions between a scripted client and a scripted server: no real server, no worker, one process.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod breaking;
mod changing_user;
mod ending;
mod hostile;
mod observing;
mod passing;
mod support;
