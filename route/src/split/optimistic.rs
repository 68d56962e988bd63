//! Optimistic transactions: which transactions begin on a replica, and which statements keep them there.

use sql::{Access, Facts, Marks, Role, StatementKind};

use super::unclear::UNCLEAR;

/// Whether a statement begins a transaction that may write and may stay on a replica until its first write.
/// Not with a consistent snapshot, because its reads must see the data of its begin; not with READ WRITE,
/// because replicas refuse that.
pub fn begins_on_replica(facts: &Facts) -> bool {
    match facts.kind {
        StatementKind::Begin(begin) => {
            begin.mode.is_none()
                && !begin.with_snapshot
                && facts.access == Access::Session
                && !facts.marks.has(UNCLEAR)
        }
        _ => false,
    }
}

/// Whether a statement reads data, depends on nothing else, and changes no state: run again on another backend,
/// it gives the same result if the data is the same.
pub fn is_repeatable(facts: &Facts) -> bool {
    facts.kind == StatementKind::Select
        && facts.access <= Access::Read
        && facts.uses.is_empty()
        && facts.effects.is_empty()
        && !facts.marks.has(UNCLEAR)
        && !facts.marks.has(Marks::LOCKING)
        // A stored function that only reads may still return another value each time.
        && facts.mentions_of(Role::Function).next().is_none()
}

/// Whether an optimistic transaction stays on its replica for this statement: a read that can be run again, or
/// the end of the transaction, which has nothing to commit.
pub(super) fn has_nothing_to_commit(facts: &Facts) -> bool {
    let ends = match facts.kind {
        // With AND CHAIN a new transaction follows, which may write.
        StatementKind::Commit(finish) | StatementKind::Rollback(finish) => {
            finish.chain != Some(true) && finish.release != Some(true)
        }
        _ => false,
    };
    is_repeatable(facts) || (ends && !facts.marks.has(UNCLEAR))
}
