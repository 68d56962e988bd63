//! Optimistic transactions: they begin on a replica, and begin again at the primary when they write.
//!
//! The pipeline needs them at two moments. In the step "target", `move_to_primary` moves a transaction whose statement must
//! leave the replica (`must_leave`). When the statement has ended, `note_optimistic` records what the transaction has read.
//! Each costs one branch if the session has no such transaction, and begins none.
//!
//! While a session has such a transaction, each of its commands comes in at `optimistic`, because commands that are no
//! statements can end or move it, too. If its replica breaks, the folder `failure` calls `go_on` or
//! `lose_optimistic_backend`.

mod movable_transaction;
mod replay;
mod transaction;
