//! Whole worlds in one process: the proxy's own code between simulated clients and a model of servers, on a
//! virtual clock and an in-memory network, all of it drawn from one seed.
//!
//! ```text
//!  actors ──► Client ──► network ──► proxy (real: control plane, workers) ──► network ──► server (a model)
//!    │                      │                                                              │
//!    └── Books ◄────────────┴── faults, drawn by the seed ─────────────────────────────────┘
//!         what every client knows, compared with what the servers have at the end
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod actor;
pub mod books;
pub mod client;
pub mod network;
mod patience;
pub mod proxy;
pub mod runs;
pub mod scene;
pub mod seed;
pub mod server;
pub mod trace;
pub mod world;
