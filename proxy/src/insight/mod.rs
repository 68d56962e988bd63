//! What is kept about statements for whoever looks: by each worker alone, in bounded memory, handed over
//! when somebody asks.
//!
//! ```text
//!   a statement comes ─► digests.read   its digest, and the text of one that is new here
//!   it has ended      ─► noting         one look-up, a few additions
//!   somebody asks     ─► telling        copies in pieces, or all at once where it is emptied
//! ```

pub(crate) mod counts;
pub(crate) mod digests;
pub(crate) mod errors;
pub(crate) mod messages;
pub(crate) mod noting;
pub(crate) mod observer;
pub(crate) mod parent;
pub(crate) mod profiles;
pub(crate) mod slow;
pub(crate) mod table;
pub(crate) mod telling;
pub(crate) mod whose;
