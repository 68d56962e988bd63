//! The MySQL client/server protocol as bytes and values: the content of packets, not their senders.
//!
//! ```text
//!   payload (a logical message)          Greeting, Query, Execute, OkPacket, ErrPacket …
//!      │ split at 16 MiB − 1
//!   packet  [len:3][seq:1][bytes]        Header
//!      │ optionally gathered
//!   compressed frame                     compression
//! ```
//!
//! The errors that the proxy itself sends are defined in [`errors`].
//!
//! This crate uses no socket, clock or thread. Decoders read from a shrinking slice and name the missing
//! item; encoders append to a buffer. Both server families are covered: if MySQL and
//! MariaDB differ, the difference is a capability flag, never a version number.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod attribute;
pub mod auth;
pub mod binary_row;
pub mod bound_values;
pub mod capability;
pub mod change_user;
pub mod column;
pub mod command;
pub mod compression;
pub mod errors;
pub mod execute;
pub mod greeting;
pub mod handshake;
mod literal;
pub mod packet;
pub mod parameters;
pub mod query;
pub mod read;
pub mod reply;
pub mod result;
pub mod rows;
pub mod session_track;
pub mod sqlstate;
pub mod statement;
pub mod status;
#[cfg(test)]
mod tests;
pub mod write;

pub use capability::Capabilities;
pub use command::Command;
pub use greeting::Greeting;
pub use handshake::HandshakeResponse;
pub use packet::{HEADER_BYTES, Header, PACKET_PAYLOAD_MAX};
pub use read::{Malformed, Reader};
pub use reply::{ErrPacket, ErrorCode};
pub use status::StatusFlags;
