//! The tables that a run can fill: which loads each compares, among whom, how many times over.

use clap::ValueEnum;

use super::Load;
use super::article;
use crate::load::Workload;
use crate::run::backend::Kind;
use crate::run::contestant::names::{
    DIRECT, HAPROXY, HAPROXY_NEWER, ISOLATED, KERNEL, LANES, LANES_2_WORKERS, PILOTFISH,
    PILOTFISH_2_WORKERS, PILOTFISH_TLS, POOLED, RIVALS, RULED, SCRIPTED,
};
use crate::run::sysbench::{Keys, PsMode, Script, Sysbench};

/// A table by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Table {
    /// Point selects by our own generator
    Point,
    /// Point selects by a prepared statement, before the minimal backend
    Prepared,
    /// Point selects in a transaction that is open, before the minimal backend
    Held,
    /// Results of many rows, and of one large value
    Rows,
    /// Connect, query, close
    Connect,
    /// TLS on each side
    Tls,
    /// Rules that nobody means
    Rules,
    /// Scripts that see each statement
    Scripts,
    /// One worker against two
    Workers,
    /// A thousand clients that ask once a second
    Paced,
    /// COM_RESET_CONNECTION and SET, directly
    Reset,
    /// Memory of idle sessions
    Idle,
    /// Digests counted, and read while clients work
    Insight,
    /// sysbench with 1 to 512 threads
    Sysbench,
    /// Fast clients beside slow ones
    Mix,
    /// MySQL Proxy and HAProxy: sysbench read-only, mysqlslap (2013)
    #[value(name = "article-1")]
    ProxiesOf2013,
    /// TiProxy and HAProxy: four workloads, sizes of results
    #[value(name = "article-2")]
    TiProxy,
    /// ProxySQL and MaxScale: read-only to 1,000 threads, maximum response times (2016)
    #[value(name = "article-3")]
    MaximumResponse,
    /// One server against two behind a balancer
    #[value(name = "article-4")]
    Replicas,
    /// Latency by operation (2007)
    #[value(name = "article-5")]
    Operations,
}

/// Connections of point selects.
pub const CONNECTIONS: [usize; 5] = [1, 16, 64, 128, 256];
const CONNECTIONS_MINIMAL: [usize; 3] = [1, 64, 256];

/// Clients where contestants are compared by their CPU.
pub const CPU_CLIENTS: usize = 64;

/// Sessions that ask once a second.
pub const PACED_CLIENTS: usize = 1_000;

/// Fast clients beside slow ones.
pub const MIX_CLIENTS: usize = 100;

/// Threads of sysbench.
pub const THREADS: [usize; 4] = [1, FEW_THREADS, 64, 512];

/// So many threads run transactions only.
const FEW_THREADS: usize = 8;

/// sysbench's scripts, each with text and with prepared statements.
pub const SCRIPTS: [Script; 4] = [
    Script::PointSelect,
    Script::ReadOnly,
    Script::ReadOnlySkipTrx,
    Script::ReadWrite,
];

const ROWS: [u64; 2] = [10, 10_000];

/// A large value, in MiB, and clients that read it.
pub const VALUE_MIB: u64 = 50;
pub const VALUE_CLIENTS: usize = 2;

impl Table {
    /// Whether it re-creates an article's.
    pub fn is_of_article(self) -> bool {
        self >= Self::ProxiesOf2013
    }

    /// Whether a short run has it without being asked for it.
    pub fn is_in_short_run(self) -> bool {
        use Table::{Mix, Point, Prepared, Rows, Workers};
        matches!(self, Point | Prepared | Rows | Workers | Mix)
    }

    /// How many times it is measured: five times if goals stand on its ratios. The tables that have no ratio are measured
    /// once, and so are those of the articles, for want of time.
    pub fn rounds(self) -> usize {
        match self {
            Self::Point
            | Self::Prepared
            | Self::Held
            | Self::Rows
            | Self::Connect
            | Self::Scripts
            | Self::Workers
            | Self::Mix
            | Self::Sysbench => 5,
            Self::Insight | Self::Tls | Self::Rules => 3,
            Self::Paced | Self::Reset | Self::Idle => 1,
            _ => 1,
        }
    }

    /// Its loads on a kind of backend, with their numbers of connections.
    pub fn loads(self, backend: Kind) -> Vec<(Load, usize)> {
        use Workload::{
            Connect, Held, Mix, Paced, Point, Prepared, Reset, Restore, Rows, TlsConnect, TlsPoint,
            Value,
        };
        let is_minimal = backend == Kind::Minimal;
        let own = |loads: &[(Workload, usize)]| -> Vec<_> {
            let loads = loads.iter();
            loads
                .map(|&(load, count)| (Load::Own(load), count))
                .collect()
        };
        match self {
            _ if self.is_of_article() => article::loads(self, backend),
            _ if backend == Kind::MySqlPair => Vec::new(),
            Self::Point if is_minimal => own(&CONNECTIONS_MINIMAL.map(|count| (Point, count))),
            Self::Point => own(&CONNECTIONS.map(|count| (Point, count))),
            Self::Rows => {
                let mut loads = ROWS.map(|rows| (Rows(rows), 8)).to_vec();
                if !is_minimal {
                    loads.push((Value(VALUE_MIB), VALUE_CLIENTS));
                }
                own(&loads)
            }
            Self::Connect => own(&[(Connect, 8)]),
            Self::Prepared if is_minimal => own(&[(Prepared, CPU_CLIENTS)]),
            Self::Held if is_minimal => own(&[(Held, CPU_CLIENTS)]),
            Self::Rules | Self::Scripts | Self::Workers if is_minimal => {
                own(&[(Point, CPU_CLIENTS)])
            }
            Self::Tls if !is_minimal => own(&[
                (Point, CPU_CLIENTS),
                (TlsPoint, CPU_CLIENTS),
                (TlsConnect, 8),
            ]),
            Self::Paced if !is_minimal => own(&[(Paced, PACED_CLIENTS)]),
            Self::Reset if !is_minimal => own(&[(Reset, 1), (Restore, 1)]),
            Self::Mix if !is_minimal => own(&[(Point, MIX_CLIENTS), (Mix, MIX_CLIENTS)]),
            Self::Sysbench if !is_minimal => sysbench(),
            _ => Vec::new(),
        }
    }

    /// Whether a contestant takes part with so many connections.
    pub fn takes(self, contestant: &str, backend: Kind, connections: usize) -> bool {
        let has = |names: &[&str]| names.contains(&contestant);
        let others = has(&[DIRECT, HAPROXY, HAPROXY_NEWER]);
        let is_real = backend != Kind::Minimal;
        match self {
            Self::Point => {
                let is_rival = has(&RIVALS) && (is_real || connections == CPU_CLIENTS);
                let is_pool = has(&POOLED) && connections == CPU_CLIENTS;
                others || is_rival || is_pool || has(&[PILOTFISH, KERNEL, LANES])
            }
            Self::Rows => has(&[DIRECT, HAPROXY, PILOTFISH]),
            Self::Connect => has(&[DIRECT, HAPROXY, PILOTFISH]) || has(&POOLED),
            Self::Tls => has(&[DIRECT, HAPROXY, PILOTFISH, PILOTFISH_TLS, LANES]),
            Self::Rules => has(&POOLED[..1]) || has(&RULED),
            Self::Scripts => has(&POOLED[..1]) || has(&SCRIPTED) || has(&ISOLATED),
            Self::Workers => has(&[PILOTFISH, PILOTFISH_2_WORKERS, LANES, LANES_2_WORKERS]),
            Self::Paced => has(&[DIRECT, PILOTFISH]) || has(&POOLED),
            Self::Reset => has(&[DIRECT]),
            Self::Insight => false,
            Self::Idle => {
                !has(&[DIRECT])
                    && !has(&RULED)
                    && !has(&SCRIPTED)
                    && !has(&ISOLATED)
                    && !has(&[PILOTFISH_TLS, KERNEL])
                    && !contestant.ends_with("-workers")
            }
            Self::Sysbench => {
                let is_compared = connections == CPU_CLIENTS;
                has(&[DIRECT, HAPROXY, LANES]) || has(&[PILOTFISH]) && is_compared
            }
            Self::Prepared | Self::Held | Self::Mix => has(&[DIRECT, HAPROXY, PILOTFISH, LANES]),
            Self::Operations => others || has(&RIVALS) || has(&[PILOTFISH, LANES]),
            _ => has(&[DIRECT, HAPROXY, LANES]) || has(&RIVALS),
        }
    }
}

fn sysbench() -> Vec<(Load, usize)> {
    let mut loads = Vec::new();
    for script in SCRIPTS {
        for ps_mode in [PsMode::Disable, PsMode::Auto] {
            let load = Load::Sysbench(Sysbench {
                script,
                ps_mode,
                keys: Keys::Special,
            });
            let has_transactions = matches!(script, Script::ReadOnly | Script::ReadWrite);
            let threads = THREADS.into_iter();
            let threads = threads.filter(|&count| count != FEW_THREADS || has_transactions);
            loads.extend(threads.map(|threads| (load, threads)));
        }
    }
    loads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_but_those_with_their_own_way_has_loads_and_contestants() {
        for &table in Table::value_variants() {
            let loads = Kind::ALL.map(|kind| (kind, table.loads(kind)));
            let all = loads.iter().flat_map(|(kind, loads)| {
                let kind = *kind;
                loads.iter().map(move |&(_, count)| (kind, count))
            });
            let has_own = matches!(table, Table::Idle | Table::Insight);
            assert_eq!(all.clone().count() > 0, !has_own, "{table:?}");
            for (kind, count) in all {
                let known = [DIRECT, PILOTFISH, POOLED[0]];
                assert!(known.iter().any(|name| table.takes(name, kind, count)));
            }
        }
    }
}
