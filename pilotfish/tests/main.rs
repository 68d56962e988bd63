//! The program's subcommands, run as an operator runs them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod explain;
mod import;
mod lua;
mod sandbox;
