//! What a session is and where it stands: decisions over bytes and values, without a socket or a clock.
//!
//! ```text
//!   client bytes ──► Cutter ─► heads of payloads ─┐
//!                                                 ├─► Tracker: which command, how far in its reply,
//!   backend bytes ─► Cutter ─► heads of payloads ─┘            which status flags; Events on the way
//! ```
//!
//! [`Tracker`] follows the command phase of one connection by looking at packet headers and the first
//! bytes of payloads; bodies pass unread. What it cannot follow it gives up on ([`Event::Lost`]):
//! the bytes are relayed all the same. Login is not its affair; it begins after the first OK.
//!
//! [`state`] is what a pooled session has made of itself and what a backend connection is set to.

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
