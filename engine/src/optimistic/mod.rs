//! Transactions that can begin again on another server.

pub(crate) mod movable_transaction;
pub(crate) mod replay;
pub(crate) mod transaction;
