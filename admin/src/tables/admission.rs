//! Limits that keep clients from harming each other, and how often they took effect.

use worker::MemoryView;

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<AdmissionRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "admission",
    about: "Bounds that keep clients from harming each other, and how often they were needed. The table `pools` \
            says who holds the connections of a backend, and who waits for one.",
    asks: Asks::Nothing,
    columns: columns! {
        measure "memory_bytes_max" ["bytes"],
            "Bytes of clients and servers that the process may keep: `limits.memory_bytes_max`. NULL: there is no \
             bound.", |it| it.memory.bytes_max.into();
        measure "memory_bytes" ["bytes"], "Bytes that it keeps.", |it| it.memory.bytes.into();
        measure "memory_bytes_peak" ["bytes"], "The most that it has kept at once.", |it| it.memory.peak.into();
        integer "memory_refused", "Statements and logins that were refused because there was no room for them.",
            |it| it.memory.refused.into();
        integer "memory_sessions_ended", "Sessions that have ended because they kept most bytes.",
            |it| it.memory.ended.into();
        integer "idle_transactions_ended",
            "Transactions that were idle for longer than `limits.timeout_idle_transaction`.",
            |it| it.idle_transactions.into();
        integer "kept_connections_ended",
            "Idle sessions that were made to give up a connection because their account kept most of them and others \
             waited (`pool.account_kept_percent_max`).", |it| it.reserved_for_others.into();
    },
    items,
};

/// The limits and their counts.
pub struct AdmissionRow {
    memory: MemoryView,
    idle_transactions: u64,
    reserved_for_others: u64,
}

fn items(input: &TableInput) -> Vec<AdmissionRow> {
    let ends = input.data_plane.forced_ends();
    vec![AdmissionRow {
        memory: input.data_plane.memory(),
        idle_transactions: ends.idle_transactions(),
        reserved_for_others: ends.kept_for_others(),
    }]
}
