//! The data plane's statistics about statements: kept by each worker alone, in bounded memory, handed over when an
//! observer asks.
//!
//! ```text
//!   a statement comes ─► digests   its digest, and the text of one that is new here
//!   it has ended      ─► recorder: counts, errors, slow, profiles     a look-up, a few additions
//!                     ─► journal, traces     bounded queues: the worker never waits for a writer
//!   an observer asks  ─► snapshot  copies in pieces; the whole table if it is emptied
//!                     ─► merged, tallied   the rows of all workers, put together
//! ```
//!
//! [`plans`] keeps the servers' plans for the digests, and the indexes that exist.

pub mod attribution;
pub mod counts;
pub mod errors;
pub mod journal;
pub mod lane_counts;
pub mod merged;
pub mod messages;
pub mod parent;
pub mod plans;
pub mod process_start;
pub mod profiles;
pub mod recorder;
pub mod seen_digests;
pub mod slow;
pub mod snapshot;
pub mod spread;
pub mod statement_stats;
pub mod table;
pub mod tallied;
pub mod timing;
pub mod traces;

pub use attribution::Attribution;
pub use counts::Counts;
pub use errors::ErrorRow;
pub use journal::{AuditEvent, Entry, Journal, Log, LogCounts};
pub use merged::{Alike, MergedStatementStats};
pub use parent::TraceParent;
pub use plans::reading::Line;
pub use plans::schema::{Hidden, Index, IndexColumn};
pub use plans::store::{Plan, PlansView, SchemaIndexes};
pub use profiles::{LeftOut, ProfileView, ProfilingCounts};
pub use seen_digests::SeenDigest;
pub use slow::StatementView;
pub use snapshot::{StatementStatsView, StatsRequest, StatsTable};
pub use table::{DigestRow, Ran, hexadecimal};
pub use tallied::Tallied;
pub use traces::{Dropped, Traces};
