//! The control plane: one ordinary thread that knows how the backends are.
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
//! [`Control`] is the handle. Behind it the control loop hears reports and findings, lets the backend set
//! decide (no socket, time is an argument), starts what is due, and publishes a new snapshot when
//! something changed. Each of these is a task beside it, one of a kind per backend. The servers' accounts
//! are loaded by one task at a time. A backend that is down is probed until it is
//! up again; with a monitor account those that are up are looked at as well, and asked about
//! replication: from what they answer follow roles, lag and positions. No session's bytes pass here,
//! and nothing here delays one.
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
