//! Which loads are compared, and how long a run may take.

pub mod article;
mod table;

use std::time::Duration;

use clap::ValueEnum;

use super::backend::Kind;
use super::sysbench::Sysbench;
use crate::load::Workload;
use crate::results::Cell;
pub use table::{
    CPU_CLIENTS, MIX_CLIENTS, PACED_CLIENTS, SCRIPTS, THREADS, Table, VALUE_CLIENTS, VALUE_MIB,
};

/// A load, by our own generator or by sysbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    Own(Workload),
    Sysbench(Sysbench),
}

impl std::fmt::Display for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Own(workload) => workload.fmt(f),
            Self::Sysbench(sysbench) => sysbench.fmt(f),
        }
    }
}

/// One thing that contestants do in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub backend: Kind,
    pub load: Load,
    pub connections: usize,
    /// The tables that have it.
    tables: Vec<Table>,
}

impl Step {
    /// Whether a contestant takes part in a round: wherever one of its tables wants it.
    pub fn is_for(&self, contestant: &str, round: usize) -> bool {
        self.tables.iter().any(|table| {
            round < table.rounds() && table.takes(contestant, self.backend, self.connections)
        })
    }

    pub fn cell(&self) -> Cell {
        Cell {
            backend: self.backend,
            workload: self.load.to_string(),
            connections: self.connections,
        }
    }

    /// Time before the window, and the window.
    pub fn times(&self, profile: &Profile, window: Duration) -> (Duration, Duration) {
        match self.load {
            Load::Own(Workload::Paced) => (PACED_WARM_UP, PACED_WINDOW),
            Load::Own(Workload::Mix) => (MIX_WARM_UP, window.max(MIX_WINDOW_MIN)),
            Load::Own(Workload::Value(_)) => (profile.warm_up, window.max(VALUE_WINDOW_MIN)),
            Load::Own(_) => (profile.warm_up, window),
            Load::Sysbench(_) => {
                let seconds = window.as_secs_f64().round().max(1.0);
                let seconds = seconds.max((self.connections / THREADS_PER_SECOND) as f64);
                (Duration::ZERO, Duration::from_secs(seconds as u64))
            }
        }
    }

    /// What it takes with one contestant.
    fn cost(&self, profile: &Profile, window: Duration) -> Duration {
        let (warm_up, window) = self.times(profile, window);
        let overhead = match self.load {
            Load::Own(_) => LOAD_OVERHEAD,
            Load::Sysbench(_) => SYSBENCH_OVERHEAD + THREAD_OVERHEAD * self.connections as u32,
        };
        warm_up + window + overhead
    }
}

/// How long paced sessions ask, and before that until all have logged in.
const PACED_WINDOW: Duration = Duration::from_secs(5);
const PACED_WARM_UP: Duration = Duration::from_secs(2);

/// Slow sessions must have begun, and ten of their reads end.
const MIX_WARM_UP: Duration = Duration::from_secs(1);
const MIX_WINDOW_MIN: Duration = Duration::from_secs(2);

/// Some twenty large values pass, so that one more or less is five percent.
const VALUE_WINDOW_MIN: Duration = Duration::from_secs(3);

/// sysbench starts threads and reports: time it takes beside the run itself. Many threads get longer.
const SYSBENCH_OVERHEAD: Duration = Duration::from_millis(350);
const THREAD_OVERHEAD: Duration = Duration::from_micros(500);
const THREADS_PER_SECOND: usize = 250;

/// A process is started and its sessions logged in.
const LOAD_OVERHEAD: Duration = Duration::from_millis(100);

/// The proxies of one backend are started, in each round.
const START_OVERHEAD: Duration = Duration::from_secs(4);

/// The window is cut in steps of so much until all fits.
const WINDOW_STEP: Duration = Duration::from_millis(50);

/// How thorough a run is.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub name: &'static str,
    /// No table is measured more often.
    pub rounds: usize,
    /// No measurement begins later than so long after the start.
    pub budget: Duration,
    /// Bounds of one measured window.
    window_min: Duration,
    window_max: Duration,
    pub warm_up: Duration,
    /// Rows of `sbtest1`; at least as many as the largest result.
    pub table_rows: u64,
    is_short: bool,
}

impl Profile {
    /// Four minutes at most.
    pub fn quick() -> Self {
        Self {
            name: "quick",
            rounds: 1,
            budget: Duration::from_secs(200),
            window_min: Duration::from_millis(400),
            window_max: Duration::from_secs(1),
            warm_up: Duration::from_millis(150),
            table_rows: 10_000,
            is_short: true,
        }
    }

    /// An hour at most.
    pub fn full() -> Self {
        Self {
            name: "full",
            rounds: 5,
            budget: Duration::from_secs(58 * 60),
            window_min: Duration::from_millis(500),
            window_max: Duration::from_secs(4),
            warm_up: Duration::from_millis(400),
            table_rows: 100_000,
            is_short: false,
        }
    }

    /// The tables of a run: those that are asked for, or what the profile has.
    pub fn tables(&self, only: &[Table]) -> Vec<Table> {
        let all = Table::value_variants().iter().copied();
        all.filter(|table| match only {
            [] => !self.is_short || table.is_in_short_run(),
            only => only.contains(table),
        })
        .collect()
    }

    /// The window that lets all rounds fit in what is left of the budget, within the bounds.
    pub fn window(&self, steps: &[Step], contestants: &[&str], left: Duration) -> Duration {
        let mut runs: Vec<(&Step, u32)> = Vec::new();
        for round in 0..self.rounds {
            for step in steps {
                let takes = contestants.iter().filter(|name| step.is_for(name, round));
                runs.push((step, takes.count() as u32));
            }
        }
        let backends = steps.iter().map(|step| step.backend);
        let backends: std::collections::HashSet<Kind> = backends.collect();
        let starts = START_OVERHEAD * (backends.len() * self.rounds) as u32;
        let all = |window| {
            let costs = runs
                .iter()
                .map(|(step, runs)| step.cost(self, window) * *runs);
            starts + costs.sum::<Duration>()
        };
        let mut window = self.window_max;
        while window > self.window_min && all(window) > left {
            window = window.saturating_sub(WINDOW_STEP);
        }
        window.max(self.window_min)
    }
}

/// The steps that fill tables on backends, each once.
pub fn steps(tables: &[Table], backends: &[Kind], sysbench: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for &table in tables {
        for &backend in backends {
            for (load, connections) in table.loads(backend) {
                if matches!(load, Load::Sysbench(_)) && !sysbench {
                    continue;
                }
                let known = steps.iter_mut().find(|step| {
                    (step.backend, step.load, step.connections) == (backend, load, connections)
                });
                match known {
                    Some(step) => step.tables.push(table),
                    None => steps.push(Step {
                        backend,
                        load,
                        connections,
                        tables: vec![table],
                    }),
                }
            }
        }
    }
    steps
}

/// Whether articles alone have a cell.
pub fn is_of_articles(cell: &Cell) -> bool {
    let (articles, others): (Vec<_>, Vec<_>) = Table::value_variants()
        .iter()
        .copied()
        .partition(|table| table.is_of_article());
    let has = |tables: &[Table]| {
        let steps = steps(tables, &[cell.backend], true);
        steps.iter().any(|step| step.cell() == *cell)
    };
    has(&articles) && !has(&others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::contestant::names::{DIRECT, HAPROXY, LANES, PILOTFISH, ROUTER};

    #[test]
    fn a_full_run_fits_its_budget_with_more_than_the_shortest_window() {
        let profile = Profile::full();
        let steps = steps(&profile.tables(&[]), &Kind::ALL, true);
        let names = [DIRECT, HAPROXY, ROUTER, PILOTFISH, LANES];
        let window = profile.window(&steps, &names, profile.budget);
        assert!(window > profile.window_min, "{window:?}");
    }

    #[test]
    fn plan_runs_a_cell_of_two_tables_once() {
        let steps = steps(&[Table::Point, Table::Workers], &[Kind::Minimal], true);
        let cells = steps.iter().filter(|step| step.connections == CPU_CLIENTS);
        assert_eq!(cells.count(), 1);
        assert_eq!(steps.len(), 3);
    }
}
