//! The results of a benchmark: every single measurement (kept locally) and, for each comparison
//! and contestant, the medians and paired ratios that the page shows (kept in the repository).

mod summary;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use summary::{median, summarise};

use crate::load::{Beside, Errors, Findings, Latency};
use crate::run::backend::Kind;

/// The names under which [`Findings::usage`] holds the two sides.
pub const PROXY: &str = "proxy";
pub const BACKEND: &str = "backend";

/// What is compared: one load on one kind of backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    pub backend: Kind,
    pub workload: String,
    pub connections: usize,
}

/// One contestant in one cell in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    pub round: usize,
    #[serde(flatten)]
    pub cell: Cell,
    pub contestant: String,
    /// The results, or the reason why there are none.
    pub outcome: Result<Findings, String>,
    /// The most connections that the proxy had to the backend, where they were counted.
    pub backend_connections: Option<u64>,
}

/// The published results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    pub about: About,
    pub comparisons: Vec<Comparison>,
    pub idle: Vec<Idle>,
    /// The cost of insight, if it was measured.
    #[serde(default)]
    pub insight: Option<Insight>,
}

/// What insight costs: medians over the rounds, of the differences and quotients within each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Insight {
    pub clients: u64,
    /// Processor time of a query that counting takes, in microseconds.
    pub cpu_added_us: f64,
    /// The clients' p99 while digests are read, against that while they are not.
    pub p99_ratio: f64,
    /// Until all rows of digests have come.
    pub select_ms: f64,
    /// Resident memory that the digests take.
    pub growth_bytes: f64,
    /// What a browser fetches before it shows something; none where the page was not built.
    pub page_bytes: Option<u64>,
    /// How long that takes without a browser.
    pub page_ms: Option<f64>,
    pub rounds: Vec<Looks>,
}

/// One round of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Looks {
    pub cpu_off_us: f64,
    pub cpu_on_us: f64,
    pub p99_off_us: f64,
    pub p99_on_us: f64,
    pub digests: u64,
    pub growth_bytes: u64,
    /// How often they were read.
    pub selects: u64,
    pub select_ms: f64,
    pub select_max_ms: f64,
    pub p99_alone_us: f64,
    pub p99_looked_us: f64,
    pub errors: u64,
}

/// The machine, the time and the versions of the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct About {
    /// UTC.
    pub date: String,
    pub profile: String,
    pub commit: String,
    pub machine: String,
    pub kernel: String,
    pub distribution: String,
    /// By name: contestants, backends, tools.
    pub versions: BTreeMap<String, String>,
    pub rounds: usize,
    /// Length of one measured window in seconds.
    pub window_seconds: f64,
    pub table_rows: u64,
    /// Median share of the machine that went to processes that are no part of the benchmark.
    pub foreign_cpu: f64,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// All contestants in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    #[serde(flatten)]
    pub cell: Cell,
    pub contestants: BTreeMap<String, Summary>,
}

/// One contestant in one cell: medians over the rounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Rounds that gave figures.
    pub rounds: usize,
    pub per_second: f64,
    pub per_second_min: f64,
    pub per_second_max: f64,
    pub latency_us: Latency,
    /// None for the direct way.
    pub proxy_cpu_us: Option<Cpu>,
    pub backend_cpu_us: Cpu,
    pub proxy_rss_bytes: Option<u64>,
    pub errors: Errors,
    /// The most connections that the proxy had to the backend, where they were counted.
    #[serde(default)]
    pub backend_connections: Option<u64>,
    /// By reference contestant: medians of the quotients within each round.
    pub against: BTreeMap<String, Ratios>,
    /// Median of the differences to the direct way's p50 within each round, in microseconds.
    pub p50_added_us: Option<f64>,
    /// The same of the processor time of the whole machine for a query. The kernel's threads are in it, which no
    /// process counts.
    #[serde(default)]
    pub machine_added_us: Option<f64>,
    /// What slow sessions got beside them, in all rounds.
    #[serde(default)]
    pub beside: Option<Beside>,
}

impl Summary {
    /// Of a query, that of the backend and of the proxy.
    pub fn all_cpu_us(&self) -> f64 {
        self.backend_cpu_us.sum() + self.proxy_cpu_us.map_or(0.0, Cpu::sum)
    }
}

/// Processor time per query in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    pub user: f64,
    pub system: f64,
}

impl Cpu {
    pub fn sum(self) -> f64 {
        self.user + self.system
    }
}

/// Quotients of a contestant's figures and a reference's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    pub per_second: Ratio,
    pub p50: Ratio,
    pub p99: Ratio,
    pub proxy_cpu: Option<Ratio>,
    /// Of the backend's and the proxy's together.
    #[serde(default)]
    pub all_cpu: Option<Ratio>,
    #[serde(default)]
    pub max: Option<Ratio>,
}

/// A quotient over the rounds: what it was in the middle, and between which bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// Sessions that do nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Idle {
    pub contestant: String,
    pub sessions: u64,
    /// Growth of resident memory per session.
    pub bytes_per_session: f64,
    /// The anonymous part of it.
    pub anon_bytes_per_session: f64,
    pub errors: Errors,
    /// The most connections that the proxy had to the backend.
    #[serde(default)]
    pub backend_connections: Option<u64>,
    /// Over how many proxies, one after the other: a process may open so many sockets only.
    #[serde(default = "one")]
    pub proxies: u64,
}

fn one() -> u64 {
    1
}

impl Idle {
    /// Adds the sessions of another proxy of the kind.
    pub fn add(&mut self, other: &Self) {
        let sessions = (self.sessions + other.sessions).max(1) as f64;
        let share = |own: f64, others: f64| {
            (own * self.sessions as f64 + others * other.sessions as f64) / sessions
        };
        self.bytes_per_session = share(self.bytes_per_session, other.bytes_per_session);
        self.anon_bytes_per_session =
            share(self.anon_bytes_per_session, other.anon_bytes_per_session);
        self.sessions += other.sessions;
        self.errors.add(&other.errors);
        self.backend_connections = self
            .backend_connections
            .zip(other.backend_connections)
            .map(|(own, others)| own + others);
        self.proxies += other.proxies;
    }
}

impl Results {
    /// Comparisons and nothing else.
    #[cfg(test)]
    pub fn of(comparisons: Vec<Comparison>) -> Self {
        Self {
            about: About::default(),
            comparisons,
            idle: Vec::new(),
            insight: None,
        }
    }

    /// The comparison of a cell, when it was measured.
    pub fn comparison(
        &self,
        backend: Kind,
        workload: &str,
        connections: usize,
    ) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| {
            let cell = &comparison.cell;
            cell.backend == backend && cell.workload == workload && cell.connections == connections
        })
    }
}
