//! What a benchmark leaves behind: every single measurement (kept locally) and, for each comparison
//! and contestant, the medians and paired ratios that the page shows (kept in the repository).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::load::{Beside, Errors, Findings, Latency};
use crate::run::backend::Kind;
use crate::run::contestant::names::{
    DIRECT, HAPROXY, ISOLATED, LANES, LANES_2_WORKERS, PILOTFISH, PILOTFISH_2_WORKERS, POOLED,
    RIVALS, RULED, SCRIPTED,
};

/// The names under which [`Findings::usage`] holds the two sides.
pub const PROXY: &str = "proxy";
pub const BACKEND: &str = "backend";

/// Contestants that the others are divided by.
const REFERENCES: [&str; 3] = [DIRECT, HAPROXY, PILOTFISH];

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
    /// What was found, or why nothing was.
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
    /// What insight costs, where that was measured.
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

/// Where, when and with what was measured.
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

impl Ratio {
    /// None of no rounds.
    fn over(rounds: &[f64]) -> Option<Self> {
        Some(Self {
            median: median(rounds.iter().copied())?,
            min: rounds.iter().copied().reduce(f64::min)?,
            max: rounds.iter().copied().reduce(f64::max)?,
        })
    }
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

/// Brings measurements together, cells in the order they were first measured in.
pub fn summarise(measurements: &[Measurement]) -> Vec<Comparison> {
    let mut cells: Vec<&Cell> = Vec::new();
    for measurement in measurements {
        if !cells.contains(&&measurement.cell) {
            cells.push(&measurement.cell);
        }
    }
    cells
        .into_iter()
        .map(|cell| compare(cell, measurements))
        .collect()
}

fn compare(cell: &Cell, measurements: &[Measurement]) -> Comparison {
    let mut rounds: BTreeMap<&str, BTreeMap<usize, &Result<Findings, String>>> = BTreeMap::new();
    for measurement in measurements
        .iter()
        .filter(|measurement| measurement.cell == *cell)
    {
        let by_round = rounds.entry(&measurement.contestant).or_default();
        by_round.insert(measurement.round, &measurement.outcome);
    }
    let contestants = rounds.iter().map(|(name, own)| {
        let mut summary = Summary::of(own);
        let counted = measurements
            .iter()
            .filter(|measurement| measurement.cell == *cell && measurement.contestant == **name);
        summary.backend_connections = counted.filter_map(|one| one.backend_connections).max();
        for reference in references(name) {
            if let Some(others) = rounds.get(reference) {
                summary.set_against(reference, own, others);
            }
        }
        ((*name).to_owned(), summary)
    });
    Comparison {
        cell: cell.clone(),
        contestants: contestants.collect(),
    }
}

/// Whom a contestant's figures are compared with: rules and scripts, with the pool that has none; two workers, with
/// one; lanes, with every rival.
fn references(contestant: &str) -> Vec<&'static str> {
    let mut references = REFERENCES.to_vec();
    match contestant {
        LANES => references.extend(RIVALS),
        LANES_2_WORKERS => references.push(LANES),
        PILOTFISH_2_WORKERS => references.push(PILOTFISH),
        _ if contestant == ISOLATED[1] => references.push(ISOLATED[0]),
        _ if RULED.contains(&contestant)
            || SCRIPTED.contains(&contestant)
            || contestant == ISOLATED[0] =>
        {
            references.push(POOLED[0]);
        }
        _ => {}
    }
    references.retain(|it| *it != contestant);
    references.dedup();
    references
}

fn all_cpu_us(found: &Findings) -> Option<f64> {
    let of = |side| found.used_by(side).map(|usage| usage.cpu_us());
    Some(of(BACKEND)? + of(PROXY).unwrap_or_default())
}

type ByRound<'a> = BTreeMap<usize, &'a Result<Findings, String>>;

impl Summary {
    fn of(rounds: &ByRound<'_>) -> Self {
        let good: Vec<&Findings> = rounds
            .values()
            .filter_map(|outcome| outcome.as_ref().ok())
            .collect();
        let of = |figure: &dyn Fn(&Findings) -> f64| median(good.iter().map(|found| figure(found)));
        let cpu = |side: &str| {
            let found = good.iter().filter_map(|found| found.used_by(side));
            let (user, system): (Vec<_>, Vec<_>) =
                found.map(|usage| (usage.user_us, usage.system_us)).unzip();
            Some(Cpu {
                user: median(user)?,
                system: median(system)?,
            })
        };
        let rss = good.iter().filter_map(|found| found.used_by(PROXY));
        let speeds = good.iter().map(|found| found.per_second);
        Self {
            rounds: good.len(),
            per_second: of(&|found| found.per_second).unwrap_or_default(),
            per_second_min: speeds.clone().reduce(f64::min).unwrap_or_default(),
            per_second_max: speeds.reduce(f64::max).unwrap_or_default(),
            latency_us: Latency {
                p50: of(&|found| found.latency_us.p50).unwrap_or_default(),
                p95: of(&|found| found.latency_us.p95).unwrap_or_default(),
                p99: of(&|found| found.latency_us.p99).unwrap_or_default(),
                max: of(&|found| found.latency_us.max).unwrap_or_default(),
                mean: of(&|found| found.latency_us.mean).unwrap_or_default(),
            },
            proxy_cpu_us: cpu(PROXY),
            backend_cpu_us: cpu(BACKEND).unwrap_or_default(),
            proxy_rss_bytes: median(rss.map(|usage| usage.rss_bytes as f64)).map(|rss| rss as u64),
            errors: all_errors(rounds),
            backend_connections: None,
            against: BTreeMap::new(),
            p50_added_us: None,
            beside: all_beside(&good),
        }
    }

    /// Compares round by round: what disturbs a round disturbs all its contestants.
    fn set_against(&mut self, reference: &str, own: &ByRound<'_>, others: &ByRound<'_>) {
        let pairs: Vec<(&Findings, &Findings)> = own
            .iter()
            .filter_map(|(round, outcome)| {
                let other = others.get(round)?.as_ref().ok()?;
                Some((outcome.as_ref().ok()?, other))
            })
            .filter(|(own, other)| own.exchanges > 0 && other.exchanges > 0)
            .collect();
        let quotient = |figure: &dyn Fn(&Findings) -> Option<f64>| {
            let quotients = pairs
                .iter()
                .map(|(own, other)| Some(figure(own)? / figure(other)?));
            Ratio::over(&quotients.flatten().collect::<Vec<_>>())
        };
        if reference == DIRECT {
            let added =
                |(own, other): &(&Findings, &Findings)| own.latency_us.p50 - other.latency_us.p50;
            self.p50_added_us = median(pairs.iter().map(added));
        }
        let (Some(per_second), Some(p50), Some(p99)) = (
            quotient(&|found| Some(found.per_second)),
            quotient(&|found| Some(found.latency_us.p50)),
            quotient(&|found| Some(found.latency_us.p99)),
        ) else {
            return;
        };
        let proxy_cpu = quotient(&|found| found.used_by(PROXY).map(|usage| usage.cpu_us()));
        let all_cpu = quotient(&all_cpu_us);
        let max = quotient(&|found| Some(found.latency_us.max));
        self.against.insert(
            reference.to_owned(),
            Ratios {
                per_second,
                p50,
                p99,
                proxy_cpu,
                all_cpu,
                max,
            },
        );
    }
}

fn all_beside(good: &[&Findings]) -> Option<Beside> {
    let found = good.iter().filter_map(|found| found.beside);
    found.reduce(|all, one| Beside {
        reads: all.reads + one.reads,
        bytes: all.bytes + one.bytes,
    })
}

fn all_errors(rounds: &ByRound<'_>) -> Errors {
    let mut all = Errors::default();
    for outcome in rounds.values() {
        match outcome {
            Ok(found) => all.add(&found.errors),
            Err(reason) => all.add(&Errors {
                failed: 1,
                first: Some(reason.clone()),
                ..Errors::default()
            }),
        }
    }
    all
}

/// The middle of the values, the mean of the two middle ones; none of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Usage;

    fn found(per_second: f64, p50: f64, proxy_us: Option<f64>) -> Findings {
        let usage = |name: &str, us: f64| Usage {
            name: name.to_owned(),
            user_us: 0.0,
            system_us: us,
            cores: 0.0,
            rss_bytes: 0,
            rss_growth_bytes: 0,
            anon_bytes: 0,
            anon_growth_bytes: 0,
        };
        Findings {
            seconds: 1.0,
            exchanges: per_second as u64,
            exchanges_in_all: per_second as u64,
            per_second,
            latency_us: Latency {
                p50,
                p95: p50,
                p99: p50,
                max: p50,
                mean: p50,
            },
            errors: Errors::default(),
            beside: None,
            usage: proxy_us
                .map(|us| usage(PROXY, us))
                .into_iter()
                .chain([usage(BACKEND, 5.0)])
                .collect(),
            foreign_cpu: 0.0,
        }
    }

    fn measured(round: usize, contestant: &str, outcome: Result<Findings, String>) -> Measurement {
        let cell = Cell {
            backend: Kind::Minimal,
            workload: "point".to_owned(),
            connections: 1,
        };
        Measurement {
            round,
            cell,
            contestant: contestant.to_owned(),
            outcome,
            backend_connections: None,
        }
    }

    #[test]
    fn ratios_are_taken_within_a_round_so_that_a_slow_round_does_not_count() {
        let all = [
            measured(0, DIRECT, Ok(found(100.0, 10.0, None))),
            measured(0, "ours", Ok(found(90.0, 12.0, Some(4.0)))),
            measured(1, DIRECT, Ok(found(50.0, 20.0, None))),
            measured(1, "ours", Ok(found(45.0, 24.0, Some(8.0)))),
        ];
        let comparisons = summarise(&all);
        let ours = &comparisons[0].contestants["ours"];
        assert_eq!(
            ours.against[DIRECT].per_second,
            Ratio {
                median: 0.9,
                min: 0.9,
                max: 0.9
            }
        );
        assert_eq!(ours.p50_added_us, Some(3.0));
        assert_eq!(ours.proxy_cpu_us.map(Cpu::sum), Some(6.0));
        assert_eq!(ours.against[DIRECT].proxy_cpu, None);
    }

    #[test]
    fn rules_are_compared_with_the_pool_that_has_none() {
        let all = [
            measured(0, POOLED[0], Ok(found(100.0, 10.0, Some(4.0)))),
            measured(0, RULED[2], Ok(found(80.0, 10.0, Some(6.0)))),
        ];
        let contestants = &summarise(&all)[0].contestants;
        let cpu = contestants[RULED[2]].against[POOLED[0]].proxy_cpu;
        assert_eq!(cpu.map(|ratio| ratio.median), Some(1.5));
        assert!(contestants[POOLED[0]].against.is_empty());
    }

    #[test]
    fn a_run_that_failed_is_an_error_and_no_figure() {
        let all = [
            measured(0, "ours", Ok(found(90.0, 12.0, Some(4.0)))),
            measured(1, "ours", Err("it ended".to_owned())),
        ];
        let ours = &summarise(&all)[0].contestants["ours"];
        assert_eq!(
            (ours.rounds, ours.per_second, ours.errors.count()),
            (1, 90.0, 1)
        );
    }
}
