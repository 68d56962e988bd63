//! Statistics of statements: each worker collects its own in bounded memory, and hands them over when the admin
//! port or HTTP asks.
//!
//! ```text
//!   a statement comes ─► digests.read   its digest, and the text of one that is new here
//!   it has ended      ─► noting, statement_end   one look-up, a few additions
//!   somebody asks     ─► telling        copies in pieces, or all at once where it is emptied
//! ```

pub(crate) mod noting;
pub(crate) mod observer;
pub(crate) mod statement_end;
