//! The window into the proxy: its state as tables, which any MySQL client can select from.
//!
//! ```text
//!   sheet      what a table is: a name, columns, and how their values are had
//!   tables/    each table, once               registry    all of them
//!
//!   port ──► conversation ──► visitor ──► statement ──► engine: SQLite ──► reply
//!   who        a command      what may      which?        prepare: which tables?
//!   may        at a time      be done       (dialect,     material: gathered from workers and snapshots
//!   come in                                  show)        run: filled, read, gone
//! ```
//!
//! HTTP (`http/`) and Prometheus' metrics (`metrics/`) are other faces of the same tables.
//!
//! Workers are asked by message and tell what they know of themselves; one that does not answer in time is
//! left out, and the client is warned. Nothing is gathered while nobody asks.

#![forbid(unsafe_code)]

mod assignments;
mod conversation;
mod defined;
mod dialect;
mod editor;
mod engine;
mod events;
mod fault;
mod functions;
mod history;
mod http;
mod insight;
mod material;
mod metrics;
mod port;
mod porter;
mod prepared;
mod recent;
mod registry;
mod replaced;
mod reply;
mod sheet;
mod show;
mod statement;
mod suggestions;
mod tables;
mod usage;
mod visitor;

pub use editor::{Difference, Editor, Refused, Told, View, What, When, Wish};
pub use events::{EventKind, Events};
pub use history::History;
pub use port::AdminPort;
