//! MySQL Proxy's scripting: a Lua 5.1 state with everything that its scripts expect, and limits for each
//! call into it.
//!
//! ```text
//!   Setup ──► Interpreter ── lua()  the state: standard libraries, `require` of built-in modules
//!                 │
//!                 ├─ chunks ── load(path) ──► Chunk ── instance(environment) ──► function to call
//!                 │              read anew when the file has changed
//!                 │
//!                 └─ call(|lua| …)   under the Limits: a runaway call ends with a Fault that names
//!                                    the limit, even if the script catches errors
//! ```
//!
//! One thread at a time uses a state: threads that share a state hold a lock around [`Interpreter::call`].
//! `require` finds built-in modules after the modules in the user's `LUA_PATH`. C modules cannot be loaded.
//! Lua's strings are bytes; they are converted to UTF-8 for logs and messages.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)
)]

mod answer;
mod arguments;
mod binary_rows;
mod budget;
mod chunk;
mod commons;
pub mod constants;
mod debug_library;
mod decision;
mod devices;
mod dictionary;
mod environments;
mod errors;
mod execute;
pub mod facts;
mod fault;
mod functions;
mod interpreter;
mod keeping;
mod limits;
mod loader;
mod log;
pub mod metrics;
mod modules;
mod parameters;
mod payloads;
mod prelude;
mod prepared;
mod raised;
mod response;
mod rows;
mod scripts;
mod session;
mod session_fault;
mod stack;
mod statement;
mod traceback;
mod values;

pub use answer::Answer;
pub use chunk::{Chunk, LoadFault};
pub use commons::{Commons, FileFacts};
pub use decision::{Decision, Hook, Injection, Move, ReplyFacts, ScriptQuery, Wish, WishOutcome};
pub use dictionary::{Dictionary, Fill};
pub use facts::{AddressFacts, BackendFacts, SocketFacts};
pub use fault::{Fault, message, raise};
pub use interpreter::{Interpreter, Setup};
pub use limits::{Limit, Limits, unless_zero};
pub use log::{Level, Log, ProcessLog};
pub use parameters::Parameters;
pub use payloads::Payloads;
pub use response::err_payload;
pub use rows::{ResultRows, Rows};
pub use scripts::Scripts;
pub use session::Session;
pub use session_fault::SessionFault;
// Crates that use the state must name its types by this version of the crate.
pub use mlua;
