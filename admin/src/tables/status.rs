//! Totals of the whole proxy, for SHOW STATUS.

use worker::SessionState;

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<StatusRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "status",
    about: "Figures of the whole proxy, by the names that servers have for them where they have one.",
    asks: Asks::Sessions,
    columns: columns! {
        text "name", "The name of the counter.", |it| it.0.into();
        text "value", "The value of the counter.", |it| it.1.to_string().into();
    },
    items,
};

type StatusRow = (&'static str, u64);

/// The rows of the table.
pub fn items(input: &TableInput) -> Vec<StatusRow> {
    let of = |state| input.sessions().filter(|it| it.state == state).count();
    let pools = super::pools::items(input);
    let pooled: usize = pools.iter().map(|it| it.figures.connections()).sum();
    let waiting: usize = pools.iter().map(|it| it.figures.waiting).sum();
    let statements: u64 = input
        .data_plane
        .times()
        .iter()
        .map(|it| it.statements)
        .sum();
    let pinned = input.sessions().filter(|it| it.pins.is_some()).count();
    let plans = input.data_plane.plans();
    let backends = &input.topology.backends;
    let usable = backends.iter().filter(|it| it.is_usable()).count();
    vec![
        ("Uptime", input.now.0.as_secs()),
        ("Threads_connected", input.sessions().count() as u64),
        ("Threads_running", of(SessionState::Running) as u64),
        ("Questions", statements),
        ("Sessions_in_login", of(SessionState::Login) as u64),
        ("Sessions_idle", of(SessionState::Idle) as u64),
        ("Sessions_pinned", pinned as u64),
        ("Sessions_waiting", waiting as u64),
        ("Backends", backends.len() as u64),
        ("Backends_usable", usable as u64),
        ("Backend_connections_pooled", pooled as u64),
        ("Statements_explained", plans.explained),
        ("Statements_not_explained", plans.failed),
        ("Workers", input.data_plane.workers() as u64),
        ("Admin_connections", input.port.clients as u64),
        ("Http_connections", input.port.callers as u64),
    ]
}
