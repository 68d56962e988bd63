//! The admin ports: the state of the proxy as tables, which any MySQL client can select from.
//!
//! ```text
//!   table      what a table is: a name, columns, and how their values are had
//!   tables/    each table, once               registry    all of them
//!
//!   port ──► conversation ──► admin_session ──► statement ──► engine: SQLite ──► reply
//!   who        a command      what may          which?        prepare: which tables?
//!   may        at a time      be done           (dialect,     table_input: gathered from workers and snapshots
//!   log in                                       show)        run: filled, read, gone
//! ```
//!
//! The crate `metrics` makes series of the same tables (`metrics.rs` gives it the data), and the crate `http` shows
//! them as JSON. The crate `history` records the past of the digests and of the load (`observed.rs` gives it the
//! workers' data); statements read the history in its own file (`kept.rs`).
//!
//! Workers are asked by message and answer with their own data. A worker that does not answer in time is
//! left out, and the client gets a warning. No data is gathered while no client asks.

#![forbid(unsafe_code)]

pub mod admin_session;
mod admin_sources;
mod assignments;
pub mod authenticator;
mod conversation;
mod defined;
mod demands;
mod dialect;
mod editor;
pub mod engine;
pub mod fault;
pub mod functions;
mod kept;
mod kept_table;
mod lone_having;
pub mod metrics;
mod observed;
pub mod port;
mod prepared;
pub mod recent;
pub mod registry;
mod replaced;
mod reply;
mod show;
mod sources;
pub mod statement;
pub mod table;
pub mod table_input;
pub mod tables;

pub use admin_sources::AdminSources;
pub use editor::{Difference, EditOutcome, EditRequest, Editor, Refused, View, When, Wish};
pub use history::{EventKind, Events, History, StateFolder};
pub use observed::keep_history;
pub use port::AdminPort;
