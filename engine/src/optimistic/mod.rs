//! Optimistic transactions: they begin on a replica, and begin again at the primary when they write.
//!
//! The one step is "target": `move_to_primary`, if the statement must leave the replica (`must_leave`). Behind the reply
//! `note_optimistic` records what the transaction has read. Each costs one branch if the session has no such transaction.
//! A command that is no statement comes in at `optimistic`, before it is looked at. `failure` asks `go_on` if the
//! replica breaks.

mod movable_transaction;
mod replay;
mod transaction;
