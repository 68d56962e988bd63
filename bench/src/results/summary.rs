//! From single measurements to what the page shows: medians over the rounds, and quotients within each.

use std::collections::BTreeMap;

use super::{BACKEND, Cell, Comparison, Cpu, Measurement, PROXY, Ratio, Ratios, Summary};
use crate::load::{Beside, Errors, Findings, Latency};
use crate::run::contestant::names::{
    DIRECT, HAPROXY, ISOLATED, LANES, LANES_2_WORKERS, PILOTFISH, PILOTFISH_2_WORKERS, POOLED,
    RIVALS, RULED, SCRIPTED,
};

/// Contestants that the others are divided by.
const REFERENCES: [&str; 3] = [DIRECT, HAPROXY, PILOTFISH];

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
            machine_added_us: None,
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
            let machine_added =
                |(own, other): &(&Findings, &Findings)| Some(own.machine_us? - other.machine_us?);
            self.machine_added_us = median(pairs.iter().filter_map(machine_added));
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
    use crate::run::backend::Kind;

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
            machine_us: Some(20.0 + 2.0 * proxy_us.unwrap_or_default()),
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
        assert_eq!(ours.machine_added_us, Some(12.0));
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
