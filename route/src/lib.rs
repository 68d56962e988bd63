//! Routing: the backends as a snapshot, and the choice among them by pure functions.
//!
//! ```text
//!   control ──► Topology, a snapshot ──┐
//!   facts of a statement, rules ───────┼──► choose, select ─► a backend ──► worker
//!   Moment, Dice ──────────────────────┘                                      │
//!   control ◄───────────────────── Report: what the worker met there ◄────────┘
//! ```
//!
//! No socket, no clock, no thread: time is an argument ([`Moment`]), chance is an argument
//! ([`Dice`]), and the same arguments give the same answer. The control plane makes each
//! [`Topology`] and hands it to the workers. They [`choose`] from it and send back [`Report`]s about
//! backends and clients.
#![forbid(unsafe_code)]

mod candidate;
mod choose;
mod definitions;
mod dice;
mod explanation;
mod gtid;
pub mod lane_check;
mod load;
mod loads;
mod moment;
mod nobody;
mod readiness;
mod report;
pub mod rules;
mod select_backend;
mod split;
mod standing;
mod topology;
mod written;

pub use candidate::{Rejection, Use};
pub use choose::{Whole, choose, vacancy};
pub use definitions::{ClusterDefinitions, Definitions, Listed, OnTable, fold};
pub use dice::Dice;
pub use explanation::{Explanation, Finding};
pub use gtid::{DomainPosition, Family, GtidSet, MalformedPosition, Position};
pub use load::{Load, SessionSlot};
pub use loads::{InFlight, Loads};
pub use moment::Moment;
pub use nobody::{Fallen, NoBackend};
pub use readiness::ReadinessQuery;
pub use report::{KillReason, KillScope, Report};
pub use select_backend::{
    Arrival, BackendVerdict, Considered, Fallback, Placed, PlacementOutcome, PlacementRecorder,
    Score, Wish, select_backend,
};
pub use split::{
    Transaction, Wanted, Why, begins_on_replica, is_repeatable, needs_writable, wanted,
};
pub use standing::{Lag, Standing};
pub use topology::{
    Backend, BackendId, BackendLocation, Cluster, ClusterId, Duty, Endpoint, Health, LagLimit,
    Monitored, Policy, ReadPolicy, Role, Roles, Server, Topology, UnknownLag, Vicinity, Writes,
};
pub use written::{Written, WrittenByAll};
