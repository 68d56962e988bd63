//! Sessions that run a script of MySQL Proxy's kind: their packets are whole, and hooks see them.
//!
//! ```text
//!   begin, login_steps: connect_server, and the login
//!     │
//!     ├─ passing    a backend judges the login ─────────┐
//!     ├─ alone      the script answers the login itself ─┴─► completed_login ─► session: one backend connection
//!     │                                                        exchange     a command, and its reply
//!     │                                                        change_user  COM_CHANGE_USER, which is a dialogue
//!     │                                                        file         a file that the client sends
//!     │                                                        killing      KILL, which may name ids of the proxy's
//!     │
//!     └─ entering   the proxy answers the login ─► PooledScript, beside a pooled session (crate `engine`)
//!                                                    pooled_stage   each command gets whichever connection it needs
//! ```
//!
//! The crate `script_hooks` handles what a script decides about a command. Sessions without a script do
//! not use this crate. If the proxy has answered the login, it bridges the packets that a script cannot
//! read (`bridge` of crate `script_host`). If a backend has authenticated the client, the proxy agrees
//! on no such capability with the client, because the connection may go to another session.

mod alone;
pub mod begin;
mod change_user;
mod client_files;
mod client_side;
pub mod completed_login;
mod entering;
mod exchange;
mod file;
mod killing;
pub mod login_steps;
mod meet;
mod passing;
pub mod pooled_script;
pub mod pooled_stage;
pub mod session;
