//! Traces: spans that were sent to the collector, and spans that were not.

use stats::Dropped;

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<TracingRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "tracing",
    about: "Spans of statements, since the start: how many were sent to the collector, and how many were not.",
    asks: Asks::Nothing,
    columns: columns! {
        text "outcome", "sent, or dropped.", |it| it.outcome.into();
        text "reason",
            "Why they were dropped: queue_full, as too many waited; unreachable, or refused, the collector; ended, as \
             traces were switched off.", |it| it.reason.into();
        integer "spans", "How many: four of a statement that a backend has answered, two of others.",
            |it| it.spans.into();
        text "endpoint", "The address that spans are sent to; NULL: none.", |it| it.endpoint.clone().into();
        text "trouble", "Why none can be sent now; NULL: they can.", |it| it.trouble.clone().into();
    },
    items,
};

/// One outcome of spans.
pub struct TracingRow {
    outcome: &'static str,
    reason: &'static str,
    spans: u64,
    endpoint: Option<String>,
    trouble: Option<String>,
}

fn items(input: &TableInput) -> Vec<TracingRow> {
    let traces = input.data_plane.traces();
    let endpoint = &input.settings.config.tracing.endpoint;
    let trouble = traces.trouble().filter(|_| endpoint.is_some());
    let dropped = Dropped::ALL.into_iter();
    let dropped = dropped.map(|why| ("dropped", why.name(), traces.dropped(why)));
    [("sent", "", traces.sent())]
        .into_iter()
        .chain(dropped)
        .map(|(outcome, reason, spans)| TracingRow {
            outcome,
            reason,
            spans,
            endpoint: endpoint.clone(),
            trouble: trouble.clone(),
        })
        .collect()
}
