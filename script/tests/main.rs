//! The interpreter and its sessions, from outside.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scripts;
mod sessions;
mod stack;
