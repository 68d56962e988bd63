//! Times that statements spent in the proxy and at backends.

use worker::TimesView;

use crate::table::{Asks, Schema, TableDefinition, columns, microseconds};

/// See the module.
pub static TABLE: TableDefinition<TimesView> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "times",
    about: "The times that statements have waited in the proxy and taken at backends, and the bytes of statements and \
            replies, since the start. Statements of sessions that are not pooled need statement_stats.transparent.",
    asks: Asks::Nothing,
    columns: columns! {
        text "cluster", "The backend's cluster.", |it| it.cluster.clone().into();
        text "backend", "The backend.", |it| it.backend.clone().into();
        text "way", "own connection, lane, or relayed.", |it| it.path.into();
        integer "statements", "How many have gone that way.", |it| it.statements.into();
        measure "waited_avg_us" ["us"], "In the proxy: on the average.", |it| microseconds(it.waited.average);
        measure "waited_p50_us" ["us"], "Half of them no longer.", |it| microseconds(it.waited.p50);
        measure "waited_p99_us" ["us"], "99 of a hundred no longer.", |it| microseconds(it.waited.p99);
        measure "waited_max_us" ["us"], "The longest of them.", |it| microseconds(it.waited.max);
        measure "backend_avg_us" ["us"], "At the backend: on the average.", |it| microseconds(it.taken.average);
        measure "backend_p50_us" ["us"], "Half of them no longer.", |it| microseconds(it.taken.p50);
        measure "backend_p99_us" ["us"], "99 of a hundred no longer.", |it| microseconds(it.taken.p99);
        measure "backend_max_us" ["us"], "The longest of them.", |it| microseconds(it.taken.max);
        measure "bytes_sent" ["bytes"], "The statements, with their packets' headers.", |it| it.bytes_sent.into();
        measure "bytes_received" ["bytes"], "Their replies, likewise.", |it| it.bytes_received.into();
    },
    items: |input| input.data_plane.times(),
};
