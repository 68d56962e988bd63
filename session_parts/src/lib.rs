//! The state that a pooled session keeps between commands, as separate parts.
//!
//! ```text
//!   PooledSession (crate `engine`)
//!     ├─ ClientSide        the client's connection, and how packets to it look
//!     ├─ Held              its backend connection, and what belongs to holding one
//!     ├─ Identity          its account, its login, its places in the registers of the process
//!     ├─ SqlState          what the client's statements have made of it, apart from any connection
//!     ├─ Tracking          what the client is told of changes, and what has changed
//!     └─ Routing           where its commands go: crate `engine`, with a part of it here
//!          └─ CutTransaction   what the client is told while its transaction is cut off
//! ```
//!
//! The parts know nothing of one another, and of no command: what is done with several of them is the crate `engine`.

pub mod client_side;
pub mod cut_transaction;
pub mod held;
pub mod identity;
pub mod sql_state;
pub mod tracking;
