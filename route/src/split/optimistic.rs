//! Optimistic transactions: which begin on a replica, and what may be said to them there.

use sql::{Access, Facts, Marks, Role, StatementKind};

use super::unclear::UNCLEAR;

/// Whether a statement begins a transaction that may write and may be on a replica until it does. One
/// with a consistent snapshot shall see what was there when it began; one that is said to write is
/// refused by replicas.
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

/// Whether a statement reads data, depends on nothing else, and leaves nothing: said again elsewhere, it
/// gives the same as long as the data is the same.
pub fn is_repeatable(facts: &Facts) -> bool {
    facts.kind == StatementKind::Select
        && facts.access <= Access::Read
        && facts.uses.is_empty()
        && facts.effects.is_empty()
        && !facts.marks.has(UNCLEAR)
        && !facts.marks.has(Marks::LOCKING)
        // One that only reads need not give the same twice.
        && facts.mentions_of(Role::Function).next().is_none()
}

/// Whether a statement leaves the transaction where it is, or ends it there: it has nothing to commit.
pub(super) fn has_nothing_to_commit(facts: &Facts) -> bool {
    let ends = match facts.kind {
        // What follows in a chain may write.
        StatementKind::Commit(finish) | StatementKind::Rollback(finish) => {
            finish.chain != Some(true) && finish.release != Some(true)
        }
        _ => false,
    };
    is_repeatable(facts) || (ends && !facts.marks.has(UNCLEAR))
}
