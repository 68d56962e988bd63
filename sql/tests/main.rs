//! Tables of statements with what is read in them, and properties that hold for any text.
#![allow(clippy::unwrap_used, clippy::panic)]

mod calls;
mod digests;
mod inside;
mod names;
mod properties;
mod rewrite;
mod set;
mod statements;
