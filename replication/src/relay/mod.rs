//! The relay log: a stream's transactions in binary log files of the proxy, from which replicas get their events.
//!
//! ```text
//!   Stream ──events──► RelayWriter ──► pilotfish.000001, .000002, …   whole transactions, synced
//!                          │ what is durable                │
//!                          ▼                                ▼
//!                      RelayLog: files, position ──► RelayReader ──► feed: a replica
//! ```
//!
//! A file begins with the format of the server's events and the transactions of the files before it, as on a server.
//! Each event has its position in the file, and a CRC-32. Replicas get a transaction when it is complete and synced.
//! If a crash or a failure cuts off a transaction, it is truncated, so files contain only complete transactions.

mod error;
mod files;
mod log;
mod reader;
mod recovery;
mod writer;

#[cfg(test)]
pub(crate) mod tests;

pub use error::{ReadError, RelayError};
pub use files::position_of;
pub use log::RelayLog;
pub use reader::{Next, RelayReader, Start};
pub use writer::{RelayOptions, RelayWriter};
