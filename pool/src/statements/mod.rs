//! Prepared statements: one table for what a backend connection has, one for what a client has.
//!
//! ```text
//!   client A: id 1 ─┐                                       ┌─ connection 1: id 17
//!   client A: id 2 ─┼─► ClientStatements ─► Text ─► Prepared┤
//!   client B: id 1 ─┘                                       └─ connection 2: id 3
//! ```
//!
//! The two kinds of ids are two types, so they cannot be mixed up.

mod client;
mod long_data;
mod prepared;
mod text;
mod types;

pub use client::{ClientStatement, ClientStatementId, ClientStatements, TooManyStatements};
pub use long_data::{LongData, LongDataFault};
pub use prepared::{BackendStatementId, Binding, Lookup, Prepared};
pub use text::{Text, Texts};
pub use types::TypesSeen;
