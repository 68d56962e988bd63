//! The sessions of a process, for code that reads all of them or asks one of them to end.
//!
//! ```text
//!   a session ──► session_info      who it is: written when that changes
//!             ──► session_control   what it does: a few cells; and what it is asked: to stop, to end its statement
//!   KILL, SHOW PROCESSLIST ──► session_registry   the id that a client sees, over all workers
//!   a worker ──► worker_sessions   its sessions, while they live
//!   admin port ──► worker_view      what a worker tells of itself, as values
//!   schema history ──► change_origins   which session has sent a statement that changes objects
//! ```
//!
//! A session writes cells without a lock or a system call. The sweep of its worker reads them once
//! a second. This crate has no sessions and no sockets.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod change_origins;
pub mod idle_transactions;
pub mod kept_connections;
pub mod last_word;
pub mod memory_bound;
pub mod session_control;
pub mod session_info;
pub mod session_registry;
pub mod worker_sessions;
pub mod worker_view;
