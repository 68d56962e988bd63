//! Profiling: the number of profiled statements, their cost, and the statements that were left out.

use std::time::Duration;

use stats::LeftOut;

use crate::table::{Asks, Schema, TableDefinition, columns, microseconds};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<ProfilingRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "profiling",
    about: "The number of statements that were chosen to be profiled, by outcome, and the time that profiling took, \
            since the start.",
    asks: Asks::Nothing,
    columns: columns! {
        text "outcome", "profiled, or left_out.", |it| it.outcome.into();
        text "reason",
            "The reason to leave it out. `rule`: a rule sends statements of its own around it. `asks_about_last`: it \
             asks about the statement before, as FOUND_ROWS() does. `transaction`: a transaction is about to begin, \
             or is XA. `unanswered`: the backend did not answer.", |it| it.reason.into();
        integer "statements", "How many.", |it| it.statements.into();
        integer "sent", "Statements that were sent for them.", |it| it.sent.into();
        integer "failed", "How many of these have failed.", |it| it.failed.into();
        measure "cost_us" ["us"], "How long these have taken.", |it| microseconds(it.cost);
    },
    items,
};

/// An outcome.
pub struct ProfilingRow {
    outcome: &'static str,
    reason: &'static str,
    statements: u64,
    sent: u64,
    failed: u64,
    cost: Duration,
}

fn items(input: &TableInput) -> Vec<ProfilingRow> {
    let counts = input.data_plane.profiling();
    let profiled = ProfilingRow {
        outcome: "profiled",
        reason: "",
        statements: counts.profiled(),
        sent: counts.sent(),
        failed: counts.failed(),
        cost: counts.cost(),
    };
    let left_out = LeftOut::ALL.into_iter().map(|why| ProfilingRow {
        outcome: "left_out",
        reason: why.name(),
        statements: counts.left_out(why),
        sent: 0,
        failed: 0,
        cost: Duration::ZERO,
    });
    [profiled].into_iter().chain(left_out).collect()
}
