//! The loads of the articles that are re-created, point by point.

use super::{Load, Table};
use crate::load::Workload;
use crate::run::backend::Kind;
use crate::run::sysbench::{Keys, PsMode, Script, Sysbench};

/// The server they are re-created on: all but one measured MySQL.
pub const SERVER: Kind = Kind::MySql;

/// Threads and clients of MySQL Proxy and HAProxy.
pub const PROXIES_CLIENTS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
pub const PROXIES_READ_ONLY: Load = sysbench(Script::ReadOnly, PsMode::Disable, Keys::Special);
pub const PROXIES_SLAP: Load = Load::Own(Workload::Constant);

/// TiProxy's workloads, each with its threads.
pub const TIPROXY: [(Load, [usize; 3]); 4] = [
    (tiproxy(Script::PointSelect), [20, 50, 100]),
    (tiproxy(Script::ReadOnly), [50, 100, 200]),
    (tiproxy(Script::WriteOnly), [100, 300, 500]),
    (tiproxy(Script::ReadWrite), [50, 100, 200]),
];

/// TiProxy's sizes of results in rows.
pub const TIPROXY_RANGES: [u64; 4] = [10, 100, 1_000, 10_000];
pub const TIPROXY_RANGE_THREADS: usize = 100;

/// Threads of ProxySQL and MaxScale.
pub const RESPONSE_THREADS: [usize; 5] = [1, 16, 100, 300, 1_000];
pub const RESPONSE_LOAD: Load = sysbench(Script::ReadOnly, PsMode::Auto, Keys::Pareto);

/// Threads of one server and two: by throughput, then by CPU.
pub const REPLICA_THREADS_MOST: usize = 50;
pub const REPLICA_THREADS: [usize; 6] = [1, 2, 4, 8, 16, 32];
pub const REPLICA_LOAD: Load = sysbench(Script::PointSelect, PsMode::Auto, Keys::Special);

/// Operations of one client.
pub const OPERATIONS: [Workload; 5] = [
    Workload::LogIn,
    Workload::Point,
    Workload::Rows(1_000),
    Workload::Prepare,
    Workload::Prepared,
];

pub const fn tiproxy(script: Script) -> Load {
    sysbench(script, PsMode::Auto, Keys::Uniform)
}

const fn sysbench(script: Script, ps_mode: PsMode, keys: Keys) -> Load {
    Load::Sysbench(Sysbench {
        script,
        ps_mode,
        keys,
    })
}

/// The loads of an article's table on a kind of backend; none on others than the article's.
pub fn loads(table: Table, backend: Kind) -> Vec<(Load, usize)> {
    match (table, backend) {
        (Table::ProxiesOf2013, SERVER) => [PROXIES_READ_ONLY, PROXIES_SLAP]
            .into_iter()
            .flat_map(|load| PROXIES_CLIENTS.map(|clients| (load, clients)))
            .collect(),
        (Table::TiProxy, SERVER) => {
            let workloads = TIPROXY.into_iter();
            let workloads = workloads.flat_map(|(load, all)| all.map(|threads| (load, threads)));
            let range = |rows| (tiproxy(Script::Range(rows)), TIPROXY_RANGE_THREADS);
            workloads.chain(TIPROXY_RANGES.map(range)).collect()
        }
        (Table::MaximumResponse, SERVER) => RESPONSE_THREADS
            .map(|threads| (RESPONSE_LOAD, threads))
            .into(),
        (Table::Replicas, Kind::MySqlPair) => REPLICA_THREADS
            .into_iter()
            .chain([REPLICA_THREADS_MOST])
            .map(|threads| (REPLICA_LOAD, threads))
            .collect(),
        (Table::Operations, SERVER) => OPERATIONS.map(|load| (Load::Own(load), 1)).into(),
        _ => Vec::new(),
    }
}
