//! A pooled session: its login was answered by the proxy, and it holds a backend connection for a statement or for a
//! transaction.
//!
//! ```text
//!   login ──► session ──► command ──┬─ answered by the proxy (own_answers, Explainer, kill)
//!                            ▲      │
//!                            │      ├─ rules ──► routing ──► lanes              statements of many sessions on one connection
//!                            │      │               │
//!                            │      │               ▼
//!                            │      │            backend ──► exchange          a connection of the session's own
//!                            │      ▼                           │
//!                            └─ next command ◄── observe ◄──────┘
//! ```
//!
//! | folder | what stands there |
//! |---|---|
//! | `session` | a session between two commands, and what the proxy says to its client |
//! | `command` | one file for each command of a client; its values are the crate `command` |
//! | `rules`, `routing` | what rules and hints say about a command, and where it goes |
//! | `lanes` | statements on shared lanes |
//! | `backend` | the pool of backend connections: open, acquire, restore, release |
//! | `exchange` | one command on a connection: the preamble, the reply, what both have changed |
//! | `diagnostics` | warnings, FOUND_ROWS() and similar ones, where the connection has changed since |
//! | `deferred_begin` | a BEGIN that the proxy answers, and sends with the transaction's first statement |
//! | `optimistic`, `failure` | transactions that begin again, and commands that fail |
//! | `limits`, `mirror`, `injection`, `profiling`, `kill` | features, each called at the step that its first page names |
//! | `shadow` | sessions without a client |
//!
//! [`engine_env::EngineEnv`] is all that a pooled session needs of its worker. Two things are given to it from above: a
//! [`session::CommandScript`], which sees each command first (crate `scripted`), and a [`session::Explainer`], which
//! answers questions about the proxy and has plans of statements read (crate `explain`).
//!
//! A session that cannot be pooled is relayed: crate `relay`.

mod backend;
mod command;
mod deferred_begin;
mod diagnostics;
pub mod engine_env;
mod exchange;
pub mod failure;
mod injection;
mod kill;
mod lanes;
mod limits;
mod mirror;
mod optimistic;
mod profiling;
mod routing;
mod rules;
pub mod session;
mod shadow;
mod statement_stats;
