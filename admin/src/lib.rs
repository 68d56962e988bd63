//! The window into the proxy: its state as tables, which any MySQL client can select from.
//!
//! ```text
//!   table      what a table is: a name, columns, and how their values are had
//!   tables/    each table, once               registry    all of them
//!
//!   port ──► conversation ──► admin_session ──► statement ──► engine: SQLite ──► reply
//!   who        a command      what may          which?        prepare: which tables?
//!   may        at a time      be done           (dialect,     material: gathered from workers and snapshots
//!   log in                                       show)        run: filled, read, gone
//! ```
//!
//! Prometheus' metrics (`metrics/`) are another face of the same tables, and so is the crate `http` above this one.
//!
//! Workers are asked by message and tell what they know of themselves; one that does not answer in time is
//! left out, and the client is warned. Nothing is gathered while nobody asks.

#![forbid(unsafe_code)]

pub mod admin_session;
mod assignments;
pub mod authenticator;
mod conversation;
mod defined;
mod demands;
mod dialect;
mod editor;
pub mod engine;
mod events;
pub mod fault;
pub mod functions;
mod history;
mod homes;
mod kept;
mod lone_having;
pub mod material;
pub mod metrics;
pub mod port;
mod prepared;
pub mod recent;
pub mod registry;
mod replaced;
mod reply;
mod schema_table;
mod seen;
mod show;
mod sources;
pub mod statement;
mod statement_stats;
pub mod table;
pub mod tables;

pub use editor::{Difference, EditOutcome, Editor, Refused, View, What, When, Wish};
pub use events::{EventKind, Events};
pub use history::{History, StateFolder};
pub use port::AdminPort;
pub use seen::Seen;
