//! MySQL Proxy's scripting: one Lua 5.1 state with all that its scripts find there, and limits for each
//! call into it.
//!
//! ```text
//!   Setup ──► Interpreter ── lua()  the state: standard libraries, `require` of built-in modules
//!                 │
//!                 ├─ chunks ── load(path) ──► Chunk ── instance(environment) ──► function to call
//!                 │              read anew when the file has changed
//!                 │
//!                 └─ call(|lua| …)   under the Limits: a runaway call ends with a Fault that names
//!                                    the limit, whatever the script catches
//! ```
//!
//! A state is used by one thread at a time; who shares one holds a lock around [`Interpreter::call`].
//! Built-in modules are found behind whatever the user's `LUA_PATH` has. C modules cannot be loaded.
//! What Lua says is bytes; what is logged or told of it is made UTF-8.

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
// Whoever builds on the state names its types by this version of the crate.
pub use mlua;
