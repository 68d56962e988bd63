//! A script's decisions about a client's command, in sessions of either kind.
//!
//! ```text
//!   a command ─► act: read_query ──┬─ forward    the command as it came ──► backend
//!                                  ├─ answer     the script's own reply ──► client
//!                                  └─ inject     a queue of commands
//!                                                    │
//!                injected: each is sent, its reply shown to read_query_result; one reply reaches the client
//!
//!   a hook that waits (sleep, query) ─► waiting: the wish is fulfilled, and the hook goes on
//! ```
//!
//! A session takes part as a [`stage::Stage`]: it names its script, its client and its backend, and sends what it is given.

pub mod act;
pub mod admin_script;
mod injected;
pub mod packets;
pub mod stage;
pub mod waiting;
