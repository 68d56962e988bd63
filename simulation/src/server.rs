//! A model of a MySQL or MariaDB server, exact in what a proxy depends on.
//!
//! ```text
//!   stream ── serve ──► login ──► command ──► parser ──► statements ──► table, locks, history
//!                         │          │                        │
//!                         └──────────┴──────── output ◄───────┘
//!   source ── replication ──► table, history
//! ```
//!
//! One thread, no clock but tokio's, no entropy but a seed: two runs of the same calls are the same. What it does not
//! know of SQL gets error 1064. Recorded dialogues with real servers (`simulation/dialogues/`) decide how it answers.
//!
//! Known differences from real servers: locks of ranges cover whole tables; an applier waits for no lock. On a full disk
//! each INSERT fails, and a definition does not wait for its binary log; a real table has room within its file, and
//! MySQL ends where an UPDATE makes a row longer than its page (an assertion of InnoDB). Error 1021, which MariaDB gives
//! where a temporary table has no room, and errors of transactions that are larger than the log's cache, are not
//! modelled: no client of a simulation asks for either.

mod ast;
mod binding;
mod catalogue;
mod columns;
mod commands;
mod connection;
mod control;
mod diagnostics;
pub mod dialogue;
mod error;
mod evaluate;
mod family;
mod gtid;
mod history;
mod locks;
mod login;
mod model;
mod options;
mod output;
mod packets;
mod parsed_texts;
mod parser;
mod replication;
mod result_column;
mod result_type;
mod session;
mod session_values;
mod settings;
mod statements;
mod table;
mod tracker;
mod transacting;
mod transaction;
mod value;
mod variables;
mod waiting;

pub use family::Family;
pub use gtid::{Executed, Gtid};
pub use history::{Change, Committed};
pub use model::Server;
pub use options::{Event, Observer, Options, Rights};
pub use replication::Standing;

#[cfg(test)]
mod tests;
