//! The possible effects of a command whose outcome is not known.

use sql::{Access, Effects, Facts, StatementKind as Statement};

/// The possible effects of a command whose outcome is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It reads and changes nothing.
    Nothing,
    /// It begins a transaction: nothing that lasts, unless one is open, which it commits.
    Begin,
    /// It writes; a transaction that is open stays open.
    Data,
    /// It commits the transaction.
    Commit,
    /// It rolls the transaction back, which its loss does as well.
    Rollback,
    /// Anything; it may commit.
    Any,
}

/// Returns the possible effects of a statement that was cut off.
pub fn effect_of(facts: &Facts) -> Effect {
    let harmless = Effects::DIAGNOSTICS | Effects::FOUND_ROWS;
    let within = harmless | Effects::LAST_INSERT_ID | Effects::USER_VARIABLES | Effects::SAVEPOINT;
    match facts.kind {
        Statement::Begin(_) => return Effect::Begin,
        // What follows the statement is meant for the next transaction.
        Statement::Commit(finish) if finish.chain == Some(true) => return Effect::Any,
        Statement::Rollback(finish) if finish.chain == Some(true) => return Effect::Data,
        Statement::Commit(_) => return Effect::Commit,
        Statement::Rollback(_) => return Effect::Rollback,
        Statement::Multi | Statement::Unknown => return Effect::Any,
        _ => {}
    }
    match facts.access {
        Access::Read if facts.effects.without(harmless).is_empty() => Effect::Nothing,
        Access::Read | Access::Write if facts.effects.without(within).is_empty() => Effect::Data,
        _ => Effect::Any,
    }
}
