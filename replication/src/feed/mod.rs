//! The proxy as the source of replicas: their first statements, and the stream of events.
//!
//! ```text
//!   logged in ──► SELECT, SET, SHOW, COM_REGISTER_SLAVE ──COM_BINLOG_DUMP[_GTID]──► Dump: from the relay files, and on
//! ```
//!
//! Another crate connects the replicas and logs them in ([`ReplicaConnection`]). If a replica connects again with
//! the same identity, its older stream ends, as on servers.

mod artificial;
mod connection;
mod dump;
mod running;
mod session;
mod statement;
mod variables;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use system::Clock;

use crate::relay::RelayLog;

pub use connection::ReplicaConnection;
pub use running::{Feeds, ReplicaView};
use session::Session;

/// Serves one replica until it disconnects.
pub async fn feed<C: ReplicaConnection>(
    mut connection: C,
    log: Arc<RelayLog>,
    feeds: Arc<Feeds>,
    clock: Clock,
) {
    let mut session = Session::new(log, feeds, clock, connection.capabilities());
    while let Some(command) = connection.command().await {
        if !session.answer(&command, &mut connection).await {
            break;
        }
    }
}
