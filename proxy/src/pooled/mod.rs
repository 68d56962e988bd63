//! Pooled sessions: logins answered by the proxy, backend connections lent for a statement or a
//! transaction.
//!
//! ```text
//!   login ──► session ──► command ──┬─ answered by the proxy (own_answers, explain, kill)
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
//! | `login` | logins that the proxy answers itself |
//! | `session` | a session between two commands, and what the proxy says to its client |
//! | `command` | one file for each command of a client |
//! | `rules`, `routing` | what rules and hints say about a command, and where it goes |
//! | `lanes` | statements on shared lanes |
//! | `backend` | the pool of backend connections: open, acquire, restore, release |
//! | `exchange` | one command on a connection: the preamble, the reply, what both have changed |
//! | `diagnostics` | warnings, FOUND_ROWS() and their like, where the connection has changed since |
//! | `deferred_begin` | a BEGIN that the proxy answers, and sends with the transaction's first statement |
//! | `optimistic`, `failure` | transactions that begin again, and commands that fail |
//! | `injection`, `shadow`, `explain`, `kill` | features, each called at one step |
//!
//! Beside the relay this is the other way to serve a session. What cannot be pooled is relayed.

pub(crate) mod backend;
pub(crate) mod command;
pub(crate) mod deferred_begin;
pub(crate) mod diagnostics;
pub(crate) mod exchange;
pub(crate) mod explain;
pub(crate) mod failure;
pub(crate) mod injection;
pub(crate) mod kill;
pub(crate) mod lanes;
pub(crate) mod optimistic;
pub(crate) mod routing;
pub(crate) mod rules;
pub(crate) mod session;
pub(crate) mod shadow;
pub(crate) mod statement_stats;
