//! Packets of real servers and clients, read and written again.
#![allow(clippy::unwrap_used, clippy::panic)]

mod logins;
mod results;
mod session_track;
