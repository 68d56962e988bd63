//! Being the source of replicas: what they ask first, and the stream of events.
//!
//! ```text
//!   logged in ──► SELECT, SET, SHOW, COM_REGISTER_SLAVE ──COM_BINLOG_DUMP[_GTID]──► Dump: from the relay files, and on
//! ```
//!
//! How a replica is connected and has logged in is another's affair ([`ReplicaConnection`]). A replica that comes again
//! under the same identity ends its older stream, as on servers.

mod dump;
mod made_up;
mod running;
mod session;
mod statement;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use wire::Capabilities;

use crate::relay::RelayLog;
use crate::replication::Clock;

pub use running::{Feeds, ReplicaView};
use session::Session;

/// A replica that has logged in.
pub trait ReplicaConnection: Send {
    /// Its next command, with the number in front; none when it is gone.
    fn command(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;

    /// Sends packets with their headers; false when it is gone.
    fn say(&mut self, packets: &[u8]) -> impl Future<Output = bool> + Send;

    /// What the packets of answers look like.
    fn capabilities(&self) -> Capabilities;

    /// Who it is, for logs.
    fn name(&self) -> String;

    /// The cluster whose transactions it gets.
    fn cluster(&self) -> String;
}

/// Serves one replica until it is gone.
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
