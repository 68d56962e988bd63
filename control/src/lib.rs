//! The control plane: one ordinary thread that knows the state of the backends.
//!
//! ```text
//!   configuration ──► ControlLoop ─── snapshots (route::Topology) ───────► workers
//!         │            │  ▲  └──── learned accounts ┐                       │   ▲
//!         │            │  └───────── reports (route::Report) ◄──────────────┘   │
//!         │            ▼                            ▼                           │
//!         │   lookup · probe · ask · kill · SnapshotPublisher (auth::Accounts) ─┘
//!         └── configured accounts ──────────────────▲
//! ```
//!
//! [`Control`] is the handle. Behind it the control loop takes in reports and results, lets the backend set
//! decide (no socket, time is an argument), starts the tasks that are due, and publishes a new snapshot when
//! something changed. Tasks run next to the loop; a backend has at most one task of each kind at a time. One task at a
//! time loads the servers' accounts. A backend that is down is probed until it is up again. With a monitor account,
//! backends that are up are probed as well, and asked about replication: roles, lag and positions follow from the
//! answers. No session's bytes pass through the control plane, and nothing here delays a session.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod account_check;
mod account_loader;
mod backend_monitor;
mod backend_set;
mod backoff;
mod checks;
mod client;
mod connection;
mod control;
mod control_loop;
mod definitions;
mod failure;
mod grant;
mod kill;
mod leaders;
mod learning;
mod login;
mod monitor_connection;
mod plan;
mod plan_progress;
mod prepared_statement;
mod probe;
mod question;
mod replication;
mod resolve;
mod roles;
mod rows;
mod snapshot_publisher;
mod task;

#[cfg(test)]
mod tests;

pub use client::{BackendClient, ClientError, ClientOptions, ResultBounds, StatementResult};
pub use connection::PacketWriter;
pub use control::{Control, as_configured, survey};
pub use failure::ServerError;
pub use prepared_statement::PreparedStatement;
pub use resolve::{Resolver, Resolving, SystemResolver};
pub use rows::ResultSet;
