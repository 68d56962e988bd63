//! What a pooled session keeps from one command to the next, as parts whose fields are their own.
//!
//! ```text
//!   PooledSession (crate `engine`)
//!     ├─ ClientSide    the client's connection, and how packets to it look
//!     ├─ Held          its backend connection, and what belongs to holding one
//!     ├─ Identity      its account, its login, its places in the registers of the process
//!     ├─ SqlState      what the client's statements have made of it, apart from any connection
//!     └─ Tracking      what the client is told of changes, and what has changed
//! ```
//!
//! The parts know nothing of one another, and of no command: what is done with several of them is the crate `engine`.

pub mod client_side;
pub mod held;
pub mod identity;
pub mod sql_state;
pub mod tracking;
