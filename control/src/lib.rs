//! The control plane: one ordinary thread that knows how the backends are.
//!
//! ```text
//!   configuration ──► Keeper ──── snapshots (route::Topology) ───► workers
//!                      │  ▲                                           │
//!                      │  └───────── reports (route::Report) ◄────────┘
//!                      ▼
//!          lookup · look · kill          tasks beside it, one of a kind per backend
//! ```
//!
//! [`Control`] is the handle. Behind it the keeper hears reports and findings, lets the roster
//! decide (no socket, time is an argument), starts what is due, and publishes a new snapshot when
//! something changed. A backend that is down is probed until it is up again; with a monitor account
//! those that are up are looked at as well. No session's bytes pass here, and nothing here delays
//! one.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod backoff;
mod connection;
mod control;
mod errand;
mod failure;
mod keeper;
mod kill;
mod login;
mod look;
mod plan;
mod resolve;
mod roster;
mod watched;

#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;

pub use control::Control;
pub use resolve::{Resolver, SystemResolver};
