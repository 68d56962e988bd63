//! Totals of the whole proxy, as ProxySQL's statistics show them.

use worker::{PoolView, SessionState};

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<StatsGlobalRow> = TableDefinition {
    schema: Schema::Stats,
    name: "stats_mysql_global",
    about: "Figures of the whole proxy, by the names of ProxySQL, as far as they are known here.",
    asks: Asks::Sessions,
    columns: columns! {
        text "Variable_Name", "The name of the counter.", |it| it.0.into();
        text "Variable_Value", "The value of the counter.", |it| it.1.to_string().into();
    },
    items,
};

type StatsGlobalRow = (&'static str, u64);

fn items(input: &TableInput) -> Vec<StatsGlobalRow> {
    let count = |is_it: fn(&worker::SessionView) -> bool| {
        input.sessions().filter(|it| is_it(it)).count() as u64
    };
    let pools = super::pools::items(input);
    let sum = |of: fn(&PoolView) -> u64| pools.iter().map(of).sum::<u64>();
    let reused = sum(|it| it.figures.counts.reused);
    let not_at_once = sum(|it| it.figures.counts.waits + it.figures.counts.refused);
    let times = input.data_plane.times();
    let taken = times.iter().map(|it| it.taken_steps.sum.as_nanos());
    let taken = u64::try_from(taken.sum::<u128>()).unwrap_or(u64::MAX);
    let busy = count(|it| it.state != SessionState::Idle);
    let failed = sum(|it| it.figures.counts.open_failures);
    let open = sum(|it| it.figures.connections() as u64);
    let opened = sum(|it| it.figures.counts.opened);
    let closed = sum(|it| it.figures.counts.closed.total());
    let received = times.iter().map(|it| it.bytes_received).sum();
    let sent = times.iter().map(|it| it.bytes_sent).sum();
    vec![
        ("ProxySQL_Uptime", input.now.0.as_secs()),
        ("Active_Transactions", count(|it| it.is_in_transaction)),
        ("Client_Connections_connected", count(|_| true)),
        ("Client_Connections_non_idle", busy),
        ("Server_Connections_aborted", failed),
        ("Server_Connections_connected", open),
        ("Server_Connections_created", opened),
        ("Backend_query_time_nsec", taken),
        ("Queries_backends_bytes_recv", received),
        ("Queries_backends_bytes_sent", sent),
        ("Questions", times.iter().map(|it| it.statements).sum()),
        ("MySQL_Thread_Workers", input.data_plane.workers() as u64),
        ("ConnPool_get_conn_success", reused),
        ("ConnPool_get_conn_failure", not_at_once),
        ("MyHGM_myconnpoll_get", reused + not_at_once),
        ("MyHGM_myconnpoll_get_ok", reused),
        ("MyHGM_myconnpoll_destroy", closed),
    ]
}
