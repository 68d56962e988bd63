//! Replies of real servers, and the state model.
#![allow(clippy::unwrap_used, clippy::panic)]

mod dialogues;
mod state;
