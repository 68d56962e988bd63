//! Packets of real servers and clients, decoded and encoded again.
#![allow(clippy::unwrap_used, clippy::panic)]

mod logins;
mod results;
mod session_track;
