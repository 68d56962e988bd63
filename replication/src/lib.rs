//! The proxy as a replica: it follows the changes of clusters, and records the history of their schemas.
//!
//! ```text
//!   control (which server is the primary) ──► Stream ──► registration: who we are, where we stand
//!                                               │
//!   server ──► EventStream ──► Follower ──► transaction ──► Change ──► DefinitionReader: SHOW CREATE …
//!              packets,        order, where    │             what it changes      │
//!              checksums       transactions    ▼                                  ▼
//!                              end           Store: position, changes, versions, in SQLite ──► admin
//! ```
//!
//! Streams have one thread, and the data plane does not depend on them. All bytes come from a peer: a damaged,
//! oversized, unknown or out-of-order event ends the stream, which begins again after the last complete
//! transaction. A stream decodes no rows.
//!
//! A stream with a relay folder also writes its transactions into files (`relay`), from which replicas get events
//! ([`feed()`]). Another crate accepts the replicas' connections. A filter may stand in front of the files
//! (`filter`): it drops changes, renames tables and replaces values. From the same files clients ([`subscribe`])
//! and change files get the changed rows as JSON (`changes`).

#![forbid(unsafe_code)]
// Only Kafka needs the subject of a change.
#![cfg_attr(not(feature = "kafka"), allow(dead_code))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod alter;
mod change;
mod changes;
mod definition_reader;
mod definition_source;
mod difference;
mod displacement;
mod error;
mod event_stream;
mod feed;
mod filter;
mod follow;
#[doc(hidden)]
pub mod fuzzing;
mod names;
mod object;
mod online_change;
mod pending;
mod position;
mod receiver;
mod registration;
mod relay;
mod replication;
mod script_file;
mod semi_sync;
mod shared;
mod status;
mod store;
mod stream;
mod transaction_changes;

#[cfg(test)]
mod tests;

pub use alter::migration;
pub use changes::{
    ChangeFormat, ChangeLines, ChangeReaderView, ChangeReaders, ChangeRefusal, ChangeRequest,
    ChangeStart, ChangeState, ChangeTransport, OLDEST_POSITION, ServerSentEvents, subscribe,
};
pub use difference::{Line, Side, differences};
pub use error::{Purged, StreamError};
pub use event_stream::EventStream;
pub use feed::{Feeds, ReplicaConnection, ReplicaView, feed};
pub use position::{Gtid, Position};
pub use registration::{Greeted, Identity, Registration};
pub use relay::RelayLog;
pub use replication::Replication;
pub use status::{StreamState, StreamStatus, StreamView, Streams};
pub use store::{
    CHANGES, ObjectVersion, Revision, RevisionMark, SavedChange, SavedHistory, VERSIONS, schema_at,
};
pub use transaction_changes::{LoggedStatement, Origins};
