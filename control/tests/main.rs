//! The control plane and its clients before real servers.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod clients;
mod learned;
