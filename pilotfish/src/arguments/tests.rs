//! What the command line comes to.
#![allow(clippy::unwrap_used)]
