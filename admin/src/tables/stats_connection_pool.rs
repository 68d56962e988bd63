//! Pooled connections as ProxySQL's statistics show them.

use crate::table::{Asks, Cell, Schema, TableDefinition, columns, microseconds};
use crate::table_input::TableInput;

use super::runtime_mysql_servers::Server;

/// See the module.
pub static TABLE: TableDefinition<StatsConnectionPoolRow> = TableDefinition {
    schema: Schema::Stats,
    name: "stats_mysql_connection_pool",
    about: "Pooled connections by backend, by the names of ProxySQL; a hostgroup is a cluster.",
    asks: Asks::Sessions,
    columns: columns! {
        integer "hostgroup", "The cluster's number.", |it| it.server.hostgroup().into();
        text "srv_host", "The host, or the path of a socket.", |it| it.server.host().into();
        integer "srv_port", "The port; 0 for a socket.", |it| it.server.port().into();
        text "status", "ONLINE, SHUNNED (down), OFFLINE_SOFT (draining) or OFFLINE_HARD (disabled).",
            |it| it.server.status().into();
        integer "ConnUsed", "Connections that a session has.", |it| it.used.into();
        integer "ConnFree", "Connections that no session uses.", |it| it.free.into();
        integer "ConnOK", "Connections opened so far.", |it| it.opened.into();
        integer "MaxConnUsed",
            "Connections that sessions have had at once, at most: the sum of what each worker and account has had.",
            |it| it.used_max.into();
        integer "ConnERR", "Connections that could not be opened.", |it| it.failures.into();
        integer "Queries", "Pooled statements that have had their reply.", |it| it.statements.into();
        measure "Bytes_data_sent" ["bytes"], "These statements, with their packets' headers.",
            |it| it.bytes_sent.into();
        measure "Bytes_data_recv" ["bytes"], "Their replies, likewise.", |it| it.bytes_received.into();
        measure "Latency_us" ["us"], "How long the backend last took to answer the proxy's own question.",
            |it| {
                let latency = it.server.backend.standing.latency();
                latency.map_or(Cell::Null, microseconds)
            };
    },
    items,
};

/// One backend.
pub struct StatsConnectionPoolRow {
    server: Server,
    used: usize,
    free: usize,
    used_max: usize,
    opened: u64,
    failures: u64,
    statements: u64,
    bytes_sent: u64,
    bytes_received: u64,
}

fn items(input: &TableInput) -> Vec<StatsConnectionPoolRow> {
    let all = super::pools::items(input);
    let times = input.data_plane.times();
    let backends = input.topology.backends.iter();
    backends
        .map(|backend| {
            let pools = all.iter().filter(|pool| pool.backend == backend.id);
            let figures = || pools.clone().map(|pool| &pool.figures);
            let times = times.iter().filter(|it| it.backend == backend.name);
            StatsConnectionPoolRow {
                used: figures().map(|it| it.leased).sum(),
                free: figures().map(|it| it.idle).sum(),
                used_max: figures().map(|it| it.counts.leased_max).sum(),
                opened: figures().map(|it| it.counts.opened).sum(),
                failures: figures().map(|it| it.counts.open_failures).sum(),
                statements: times.clone().map(|it| it.statements).sum(),
                bytes_sent: times.clone().map(|it| it.bytes_sent).sum(),
                bytes_received: times.map(|it| it.bytes_received).sum(),
                server: Server::of(backend),
            }
        })
        .collect()
}
