//! Which loads are compared, and how long a run may take.

use std::time::Duration;

use super::backend::Kind;
use super::contestant::{DIRECT, PILOTFISH, RULED, is_pooled};
use super::sysbench::{PsMode, Script, Sysbench};
use crate::load::Workload;
use crate::results::Cell;

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

/// One thing that all contestants do in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub backend: Kind,
    pub load: Load,
    pub connections: usize,
}

impl Step {
    /// Whether a contestant takes part. What a server does by itself is asked of it directly; pools
    /// are compared where they differ.
    pub fn is_for(&self, contestant: &str) -> bool {
        if RULED.contains(&contestant) {
            return self.load == Load::Own(Workload::Point)
                && self.connections == POOLED_CLIENTS
                && self.backend == Kind::Minimal;
        }
        let is_pooled = is_pooled(contestant);
        match self.load {
            Load::Own(Workload::Reset | Workload::Restore) => contestant == DIRECT,
            Load::Own(Workload::Paced) => {
                is_pooled || contestant == DIRECT || contestant == PILOTFISH
            }
            Load::Own(Workload::Connect) => true,
            Load::Own(Workload::Rows(_)) => !is_pooled,
            Load::Own(_) => !is_pooled || self.connections == POOLED_CLIENTS,
            Load::Sysbench(sysbench) => {
                let is_text = sysbench.ps_mode == PsMode::Disable;
                !is_pooled || is_text && self.connections == POOLED_CLIENTS
            }
        }
    }

    /// Whether it is measured in a round: what has no ratio that a disturbance would spoil, once.
    pub fn is_in(&self, round: usize) -> bool {
        let is_single = matches!(
            self.load,
            Load::Own(Workload::Paced | Workload::Reset | Workload::Restore)
        );
        round == 0 || !is_single
    }

    pub fn cell(&self) -> Cell {
        Cell {
            backend: self.backend,
            workload: self.load.to_string(),
            connections: self.connections,
        }
    }
}

/// How thorough a run is.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub name: &'static str,
    /// All steps with all contestants, so many times over.
    pub rounds: usize,
    /// No measurement begins later than so long after the start.
    pub budget: Duration,
    /// Bounds of one measured window.
    pub window_min: Duration,
    pub window_max: Duration,
    pub warm_up: Duration,
    /// Rows of `sbtest1`; at least as many as the largest result.
    pub table_rows: u64,
    breadth: Breadth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breadth {
    Narrow,
    Wide,
}

/// Connections of the comparisons by connections.
pub const CONNECTIONS: [usize; 4] = [1, 8, 64, 256];

/// Clients of a pool, where it is compared by its CPU.
pub const POOLED_CLIENTS: usize = 64;

/// Sessions that ask once a second.
pub const PACED_CLIENTS: usize = 1_000;

/// How long they do, and before that until all have logged in.
pub const PACED_WINDOW: Duration = Duration::from_secs(5);
pub const PACED_WARM_UP: Duration = Duration::from_secs(2);

const ROWS: [u64; 4] = [10, 100, 1_000, 10_000];

/// sysbench starts threads and reports: time it takes beside the run itself.
const SYSBENCH_OVERHEAD: Duration = Duration::from_millis(350);

/// A process is started and its sessions logged in.
const LOAD_OVERHEAD: Duration = Duration::from_millis(100);

impl Profile {
    /// Four minutes at most.
    pub fn quick() -> Self {
        Self {
            name: "quick",
            rounds: 2,
            budget: Duration::from_secs(200),
            window_min: Duration::from_millis(400),
            window_max: Duration::from_secs(1),
            warm_up: Duration::from_millis(150),
            table_rows: 10_000,
            breadth: Breadth::Narrow,
        }
    }

    /// Thirty minutes at most.
    pub fn full() -> Self {
        Self {
            name: "full",
            rounds: 3,
            budget: Duration::from_secs(28 * 60),
            window_min: Duration::from_secs(1),
            window_max: Duration::from_secs(4),
            warm_up: Duration::from_millis(500),
            table_rows: 100_000,
            breadth: Breadth::Wide,
        }
    }

    /// The steps of one round.
    pub fn steps(&self, backends: &[Kind], sysbench: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        for &backend in backends {
            let own = self.own_loads(backend);
            steps.extend(own.into_iter().map(|(workload, connections)| Step {
                backend,
                load: Load::Own(workload),
                connections,
            }));
            if sysbench && backend != Kind::Minimal {
                let loads = self.sysbench_loads(backend);
                steps.extend(loads.into_iter().map(|(sysbench, connections)| Step {
                    backend,
                    load: Load::Sysbench(sysbench),
                    connections,
                }));
            }
        }
        steps
    }

    fn own_loads(&self, backend: Kind) -> Vec<(Workload, usize)> {
        use Workload::{Connect, Paced, Point, Prepared, Reset, Restore, Rows};
        let by_connections = |workload| CONNECTIONS.map(|connections| (workload, connections));
        let mut loads = match (backend, self.breadth) {
            (Kind::Minimal, Breadth::Narrow) => {
                [&by_connections(Point)[..], &[(Prepared, 64)]].concat()
            }
            (Kind::Minimal, Breadth::Wide) => {
                [by_connections(Point), by_connections(Prepared)].concat()
            }
            (_, Breadth::Narrow) => vec![(Point, 64)],
            (_, Breadth::Wide) => by_connections(Point).to_vec(),
        };
        match (backend, self.breadth) {
            (Kind::MySql, Breadth::Narrow) => loads.push((Rows(10_000), 8)),
            _ => loads.extend(ROWS.map(|rows| (Rows(rows), 8))),
        }
        loads.push((Connect, 8));
        if backend != Kind::Minimal {
            loads.extend([(Reset, 1), (Restore, 1), (Paced, PACED_CLIENTS)]);
        }
        loads
    }

    fn sysbench_loads(&self, backend: Kind) -> Vec<(Sysbench, usize)> {
        let loads = |script, ps_mode, connections: &[usize]| -> Vec<_> {
            let sysbench = Sysbench { script, ps_mode };
            connections
                .iter()
                .map(|&connections| (sysbench, connections))
                .collect()
        };
        let (point, read_only) = (Script::PointSelect, Script::ReadOnly);
        match (self.breadth, backend) {
            (Breadth::Narrow, Kind::MySql) => loads(point, PsMode::Disable, &[64]),
            (Breadth::Narrow, _) => [
                loads(point, PsMode::Disable, &CONNECTIONS),
                loads(point, PsMode::Auto, &[64]),
                loads(read_only, PsMode::Disable, &[64]),
                loads(read_only, PsMode::Auto, &[64]),
            ]
            .concat(),
            (Breadth::Wide, _) => [
                loads(point, PsMode::Disable, &CONNECTIONS),
                loads(point, PsMode::Auto, &CONNECTIONS),
                loads(read_only, PsMode::Disable, &CONNECTIONS),
                loads(read_only, PsMode::Auto, &CONNECTIONS),
            ]
            .concat(),
        }
    }

    /// The window that lets all rounds fit in what is left of the budget, within the bounds.
    pub fn window(&self, steps: &[Step], contestants: &[&str], left: Duration) -> Duration {
        let (mut own, mut sysbench, mut paced) = (0, 0, 0);
        for round in 0..self.rounds {
            for step in steps.iter().filter(|step| step.is_in(round)) {
                let runs = match step.load {
                    Load::Own(Workload::Paced) => &mut paced,
                    Load::Own(_) => &mut own,
                    Load::Sysbench(_) => &mut sysbench,
                };
                *runs += contestants.iter().filter(|name| step.is_for(name)).count() as u32;
            }
        }
        let overhead = own * (self.warm_up + LOAD_OVERHEAD)
            + sysbench * SYSBENCH_OVERHEAD
            + paced * (PACED_WARM_UP + PACED_WINDOW + LOAD_OVERHEAD);
        let window = left.saturating_sub(overhead) / (own + sysbench).max(1);
        window.clamp(self.window_min, self.window_max)
    }
}

/// sysbench counts in whole seconds.
pub fn sysbench_seconds(window: Duration) -> u64 {
    (window.as_secs_f64().round() as u64).max(1)
}
