//! Tests of the interpreter and its sessions through the public interface.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scripts;
mod sessions;
mod stack;
