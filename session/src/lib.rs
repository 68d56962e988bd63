//! What a session is and where it stands: decisions over bytes and values, without a socket or a clock.
//!
//! ```text
//!   client bytes ──► Cutter ─► heads of payloads ─┐
//!                                                 ├─► Tracker: which command, how far in its reply,
//!   backend bytes ─► Cutter ─► heads of payloads ─┘            which status flags; Events on the way
//! ```
//!
//! [`Tracker`] follows the command phase of one connection by looking at packet headers and the first
//! bytes of payloads; bodies pass unread. If it cannot follow a connection, it gives up ([`Event::Lost`]) and the bytes
//! are relayed all the same. It does not follow the login; it begins after the first OK.
//!
//! [`state`] holds the state of a pooled session and the state of a backend connection.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod command_text;
mod cutter;
pub mod effect;
mod exchange;
mod fingerprint;
mod reply;
pub mod state;
pub mod track_settings;
mod tracker;
mod whole_packets;

pub use command_text::statement_of;
pub use exchange::{
    Amendment, Files, Piece, Progress, Reply, Tally, Withholds, has_no_room, takes_no_writes,
};
pub use fingerprint::Fingerprint;
pub use reply::Outcome;
pub use tracker::{ChangeUserHold, Event, LostReason, Pipelining, Sequences, Tracker, Violation};
