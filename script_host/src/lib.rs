//! The host of scripts: the interpreters of a process, and the state that the scripts of one worker share.
//!
//! ```text
//!                 ┌──────────────── one worker ────────────────┐
//!  interpreters ──┤ host    the backends as scripts number them │
//!  (one for all   │ parked  connections in the scripts' pools   │──► server  one connection to a backend
//!   workers, or   │                                             │
//!   one each)     │ login_hooks ──► script ◄── bridge           │
//!                 └─────────────────────────────────────────────┘
//! ```
//!
//! - `interpreters`: one for all workers, or one for each, and one for the admin port;
//! - `host`: the script of one worker; `parked`: the idle connections of its pools; `server`: such a connection;
//! - `login_hooks`: `read_handshake`, `read_auth`, `read_auth_result`; `auth_observer`: the last one for a login that
//!   passes through;
//! - `bridge`: between the protocol that client and backend have agreed on and the one that scripts know;
//! - `script_route`: the backends that a script has chosen, or put down;
//! - `facts`: what scripts are told of addresses, greetings and backends.
//!
//! This crate knows no session: the sessions that call hooks are in the crates `engine` and `scripted`, which are above it.

pub mod auth_observer;
pub mod bridge;
pub mod facts;
pub mod host;
pub mod interpreters;
pub mod login_hooks;
pub mod parked;
pub mod script_route;
pub mod server;
pub mod shadow_queue;
