//! A worker's pool of backend connections at work.
//!
//! ```text
//!   session ── find_sub_pool ──► which connections are alike
//!      │                              │
//!      │ worker_pool: take_idle, begin, give_back        pool_maintenance, kept_statements,
//!      ▼                              ▼                  inherit_globals: what is due by itself
//!   HeldConnection ◄── BackendConn ◄── open: greet ─► secure ─► log in ─► look around
//!      │                    │
//!      │                    └─ ask, own_reply: statements of the proxy's own
//!      └─ settle_answers, pending_answers: what the session before may still ask
//!
//!   worker 1 ─┐                      ┌─ connection_limits   how many connections a backend and an account may have
//!   worker 2 ─┼─ SharedPools, of all ┼─ global_variables    which values new sessions of a server inherit
//!   worker 3 ─┘                      ├─ privilege_changes   which connections logged in before a GRANT or a REVOKE
//!                                    └─ running_statements  how many statements run on a backend at once
//! ```
//!
//! A pooled connection outlives many sessions. It has the global variables and the privileges of the time when it logged
//! in; the changes since then are counted, so that a worker can bring a connection up to date, or close it.
//!
//! This crate does not know sessions or workers: it takes what it needs of them from [`pool_env::PoolEnv`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod ask;
pub mod ask_globals;
pub mod connection;
pub mod connection_error;
pub mod connection_limits;
pub mod diagnostics;
pub mod exchange_outcome;
pub mod find_sub_pool;
pub mod forced_ends;
pub mod global_variables;
pub mod greet;
pub mod greeting;
pub mod inherit_globals;
pub mod injected_events;
pub mod injected_results;
pub mod kept_connections;
pub mod kept_statements;
pub mod kill_thread;
pub mod open;
pub mod own_reply;
pub mod pending_answers;
pub mod pool_env;
pub mod pool_maintenance;
pub mod prepared_statement;
pub mod privilege_changes;
pub mod recorded_reads;
pub mod refused_reads;
pub mod rule_set;
pub mod running_limit;
pub mod running_statements;
pub mod secure;
pub mod settings;
pub mod settle_answers;
pub mod shared_store;
pub mod statement_limits;
pub mod sub_pool;
pub mod times;
pub mod unknown_statement;
pub mod wait_slot;
pub mod worker_pool;
