//! The runner: starts backends and contestants, lets one after the other do the same thing, round by
//! round, and writes down what was found. All processes are children that end with it.

pub mod backend;
mod connections;
pub mod contestant;
pub mod generator;
mod insight;
pub mod machine;
pub mod plan;
pub mod process;
mod program;
pub mod sysbench;
mod train;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::accounting::Watched;
use crate::load::{self, Findings, Workload};
use crate::report;
use crate::results::{self, About, Idle, Insight, Measurement, Results, median};
use backend::{Backend, Kind};
use contestant::names::{self, DIRECT};
use contestant::{Contestant, Way};
use plan::{Load, Profile, Step, Table};
pub use train::train;

/// Sessions of the comparison of idle memory.
const IDLE_SESSIONS: u64 = 10_000;

/// Time between two looks at a proxy's connections.
const COUNT_AGAIN: Duration = Duration::from_millis(100);

/// Files a process opens beside its sessions' sockets.
const FILES_SPARE: u64 = 128;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    pub quick: bool,
    /// Seconds in place of the profile's budget.
    pub budget: Option<u64>,
    /// Kinds of backend to leave out.
    pub without: Vec<Kind>,
    /// Tables to fill; all if there are none.
    pub only: Vec<Table>,
    /// The folder of the page, its plots and the results.
    pub out: PathBuf,
    /// The folder of every single measurement.
    pub raw: PathBuf,
}

/// Measures everything and writes the report.
///
/// # Errors
/// When a backend or contestant does not come up, or files cannot be written. Runs that fail are
/// results.
pub async fn run(settings: &Settings) -> Result<()> {
    let mut bench = Bench::prepare(settings)?;
    let (measurements, idle, insight) = bench.measure().await?;
    fs::create_dir_all(&settings.raw)?;
    fs::write(
        settings.raw.join("measurements.json"),
        serde_json::to_string_pretty(&measurements)?,
    )?;
    let results = Results {
        about: bench.about(&measurements),
        comparisons: results::summarise(&measurements),
        idle,
        insight,
    };
    report::write(&results, &settings.out)
}

struct Bench {
    profile: Profile,
    tables: Vec<Table>,
    steps: Vec<Step>,
    backends: Vec<Kind>,
    contestants: Vec<Box<dyn Contestant>>,
    /// Whether the direct way takes part.
    has_direct: bool,
    sysbench: Option<String>,
    /// Sockets that a process may have.
    sockets_max: u64,
    /// The folder of all processes that were started.
    folder: TempDir,
    started: Instant,
    window: Duration,
    left_out: Vec<String>,
}

impl Bench {
    fn prepare(settings: &Settings) -> Result<Self> {
        let mut profile = if settings.quick {
            Profile::quick()
        } else {
            Profile::full()
        };
        if let Some(seconds) = settings.budget {
            profile.budget = Duration::from_secs(seconds);
        }
        let sysbench = sysbench::found();
        let mut backends = Kind::found();
        backends.retain(|kind| !settings.without.contains(kind));
        // Real servers get their table from sysbench.
        backends.retain(|kind| *kind == Kind::Minimal || sysbench.is_some());
        let tables = profile.tables(&settings.only);
        let steps = plan::steps(&tables, &backends, sysbench.is_some());
        let has_own = tables
            .iter()
            .any(|it| matches!(it, Table::Idle | Table::Insight));
        backends.retain(|kind| {
            let is_needed = has_own && *kind == Kind::Minimal;
            is_needed || steps.iter().any(|step| step.backend == *kind)
        });
        ensure!(!backends.is_empty(), "no backend is left to measure");
        let files = machine::raise_open_files();
        let mut bench = Self {
            profile,
            tables,
            steps,
            backends,
            contestants: contestant::found(),
            has_direct: true,
            sysbench,
            sockets_max: files.saturating_sub(FILES_SPARE),
            folder: TempDir::with_prefix("pilotfish-bench-")?,
            started: Instant::now(),
            window: Duration::ZERO,
            left_out: Vec::new(),
        };
        bench.note_what_is_missing();
        Ok(bench)
    }

    fn note_what_is_missing(&mut self) {
        for kind in Kind::ALL {
            if !self.backends.contains(&kind) {
                self.left_out
                    .push(format!("{}: not found or not wanted", kind.title()));
            }
        }
        let wanted = [
            names::HAPROXY,
            names::HAPROXY_NEWER,
            names::PILOTFISH,
            names::KERNEL,
        ];
        for name in wanted.into_iter().chain(names::RIVALS) {
            if !self.contestants.iter().any(|proxy| proxy.name() == name) {
                self.left_out
                    .push(format!("{}: not found on this machine", names::title(name)));
            }
        }
        if self.sysbench.is_none() {
            self.left_out.push("sysbench: not found".to_owned());
        }
        for missing in &self.left_out {
            eprintln!("left out: {missing}");
        }
    }

    async fn measure(&mut self) -> Result<(Vec<Measurement>, Vec<Idle>, Option<Insight>)> {
        let mut backends = Vec::new();
        for &kind in &self.backends {
            backends.push(self.start(kind).await?);
        }
        let idle = match self.tables.contains(&Table::Idle) {
            true => self.idle_memory(&backends).await,
            false => Vec::new(),
        };
        let insight = self.insight(&backends).await;
        let left = self.profile.budget.saturating_sub(self.started.elapsed());
        let proxies = self.contestants.iter().map(|proxy| proxy.name());
        let names: Vec<&str> = std::iter::once(DIRECT).chain(proxies).collect();
        self.window = self.profile.window(&self.steps, &names, left);
        eprintln!(
            "{} steps, windows of {:.2} s",
            self.steps.len(),
            self.window.as_secs_f64()
        );
        let mut measurements = Vec::new();
        for round in 0..self.profile.rounds {
            for backend in &mut backends {
                self.round(round, backend, &mut measurements).await?;
            }
        }
        Ok((measurements, idle, insight))
    }

    /// A backend with all that the loads read.
    async fn start(&self, kind: Kind) -> Result<Backend> {
        eprintln!("starting {}", kind.title());
        let backend = Backend::start(kind, self.folder.path()).await?;
        if kind == Kind::Minimal {
            return Ok(backend);
        }
        for address in backend.addresses() {
            sysbench::prepare(address, self.profile.table_rows).await?;
            let target = backend::target(address, self.profile.table_rows);
            load::statement(&target, load::VIEW).await?;
        }
        Ok(backend)
    }

    /// All contestants in front of one backend, fresh, through all its steps.
    async fn round(
        &mut self,
        round: usize,
        backend: &mut Backend,
        measurements: &mut Vec<Measurement>,
    ) -> Result<()> {
        let of_backend = self
            .steps
            .iter()
            .filter(|step| step.backend == backend.kind);
        let steps: Vec<Step> = of_backend.cloned().collect();
        let takes_part = |name: &str| steps.iter().any(|step| step.is_for(name, round));
        let mut ways = self.proxies(backend, takes_part).await;
        if self.has_direct && takes_part(DIRECT) {
            ways.push(Way::direct(backend.address()));
        }
        self.all_steps(round, &steps, &mut ways, backend, measurements)
            .await?;
        for proxy in ways.into_iter().filter_map(|way| way.proxy) {
            proxy.end().await;
        }
        Ok(())
    }

    async fn all_steps(
        &mut self,
        round: usize,
        steps: &[Step],
        ways: &mut [Way],
        backend: &mut Backend,
        measurements: &mut Vec<Measurement>,
    ) -> Result<()> {
        for (number, step) in steps.iter().enumerate() {
            // The order changes, so that no contestant always runs first or always after the same one.
            let shift = 1.min(ways.len());
            ways.rotate_left(shift);
            for way in ways.iter_mut().filter(|way| step.is_for(&way.name, round)) {
                if self.started.elapsed() > self.profile.budget {
                    self.note_lack_of_time(round, backend.kind, steps.len() - number);
                    return Ok(());
                }
                backend.alive()?;
                let (outcome, backend_connections) = self.watched_step(step, way, backend).await;
                tell(round, step, &way.name, &outcome);
                let (cell, contestant) = (step.cell(), way.name.clone());
                measurements.push(Measurement {
                    round,
                    cell,
                    contestant,
                    outcome,
                    backend_connections,
                });
            }
        }
        Ok(())
    }

    fn note_lack_of_time(&mut self, round: usize, kind: Kind, steps: usize) {
        let round = round + 1;
        self.left_out.push(format!(
            "round {round}, {}: {steps} steps, no time left",
            kind.title()
        ));
    }

    /// Every proxy that takes part, in front of `backend`. One that does not come up is left out, and
    /// that is noted.
    async fn proxies(&mut self, backend: &Backend, takes_part: impl Fn(&str) -> bool) -> Vec<Way> {
        let mut ways = Vec::new();
        let (folder, sessions_max) = (
            self.folder.path(),
            self.sessions_max(names::HAPROXY) as usize,
        );
        let addresses = backend.addresses();
        for proxy in self
            .contestants
            .iter()
            .filter(|proxy| takes_part(proxy.name()))
        {
            match Way::through(proxy.as_ref(), &addresses, folder, sessions_max).await {
                Ok(way) => ways.push(way),
                Err(error) => {
                    eprintln!("{error:#}");
                    let (proxy, backend) = (names::title(proxy.name()), backend.kind.title());
                    let missing = format!("{proxy} before {backend}: {error:#}");
                    if !self.left_out.contains(&missing) {
                        self.left_out.push(missing);
                    }
                }
            }
        }
        ways
    }

    /// A step, and where it is paced, the most connections that the proxy had to the backend.
    async fn watched_step(
        &self,
        step: &Step,
        way: &mut Way,
        backend: &Backend,
    ) -> (Result<Findings, String>, Option<u64>) {
        let pid = way.proxy.as_ref().map(process::Process::pid);
        let counted = match (pid, step.load) {
            (Some(pid), Load::Own(Workload::Paced)) => Some(pid),
            _ => None,
        };
        let mut most = None;
        let outcome = tokio::select! {
            outcome = self.step(step, way, backend) => outcome,
            () = count_often(counted, backend.address(), &mut most) => unreachable!("it has no end"),
        };
        (outcome.map_err(|error| format!("{error:#}")), most)
    }

    async fn step(&self, step: &Step, way: &mut Way, backend: &Backend) -> Result<Findings> {
        if let Some(proxy) = &mut way.proxy {
            proxy.alive()?;
        }
        let watched = watched(way, backend);
        let (address, rows) = (way.address, self.profile.table_rows);
        let times = step.times(&self.profile, self.window);
        match step.load {
            Load::Sysbench(sysbench) => {
                sysbench
                    .measure(address, rows, step.connections, times.1.as_secs(), &watched)
                    .await
            }
            Load::Own(workload) => {
                generator::load(
                    way.address,
                    workload,
                    step.connections,
                    rows,
                    times,
                    &watched,
                )
                .await
            }
        }
    }

    /// What insight costs, if that is wanted and can be had.
    async fn insight(&mut self, backends: &[Backend]) -> Option<Insight> {
        let is_wanted = self.tables.contains(&Table::Insight);
        let backend = backends.iter().find(|it| it.kind == Kind::Minimal);
        let backend = backend.filter(|_| is_wanted)?;
        let rounds = Table::Insight.rounds().min(self.profile.rounds);
        let times = (self.profile.warm_up, Duration::ZERO);
        let measured = insight::measure(backend, self.folder.path(), rounds, times).await;
        let missing = |error| {
            eprintln!("insight: {error:#}");
            format!("insight: {error:#}")
        };
        match measured {
            Ok(insight) => Some(insight),
            Err(error) => {
                self.left_out.push(missing(error));
                None
            }
        }
    }

    /// Idle sessions that one proxy can have. All sessions of a pool need fewer sockets than two for each.
    fn sessions_max(&self, contestant: &str) -> u64 {
        let sockets = if names::is_pooled(contestant) || contestant == names::LANES {
            1
        } else {
            2
        };
        (self.sockets_max / sockets).clamp(1, IDLE_SESSIONS)
    }

    /// Each proxy, fresh, before the minimal backend. If the limit of open files is too low for all sessions, further proxies
    /// take the rest.
    async fn idle_memory(&mut self, backends: &[Backend]) -> Vec<Idle> {
        let mut idle = Vec::new();
        let Some(backend) = backends
            .iter()
            .find(|backend| backend.kind == Kind::Minimal)
        else {
            return idle;
        };
        let takes = |name: &str| Table::Idle.takes(name, Kind::Minimal, 0);
        let ways = self.proxies(backend, takes).await;
        for way in ways {
            let name = way.name.clone();
            match self.hold_all(way, backend).await {
                Ok(held) => {
                    let bytes = held.bytes_per_session;
                    eprintln!("{name:10} {bytes:7.0} bytes per idle session");
                    idle.push(held);
                }
                Err(error) => self.left_out.push(format!("idle, {name}: {error:#}")),
            }
        }
        idle
    }

    async fn hold_all(&self, way: Way, backend: &Backend) -> Result<Idle> {
        let name = way.name.clone();
        let sessions_max = self.sessions_max(&name);
        let mut all = self.hold(&way, backend, sessions_max).await?;
        drop(way);
        while all.errors.count() == 0 && all.sessions < IDLE_SESSIONS {
            let contestant = self.contestants.iter().find(|it| it.name() == name);
            let contestant = contestant.context("no such proxy")?;
            let rest = sessions_max.min(IDLE_SESSIONS - all.sessions);
            let (addresses, folder) = (backend.addresses(), self.folder.path());
            let way = Way::through(contestant.as_ref(), &addresses, folder, rest as usize).await?;
            let more = self.hold(&way, backend, rest).await?;
            all.add(&more);
        }
        Ok(all)
    }

    async fn hold(&self, way: &Way, backend: &Backend, sessions: u64) -> Result<Idle> {
        let (sessions, rows) = (sessions as usize, self.profile.table_rows);
        let (watched, times) = (watched(way, backend), (Duration::ZERO, Duration::ZERO));
        let pid = way.proxy.as_ref().map(process::Process::pid);
        let mut most = None;
        let found = tokio::select! {
            found = generator::load(way.address, Workload::Idle, sessions, rows, times, &watched) => found?,
            () = count_often(pid, backend.address(), &mut most) => unreachable!("it has no end"),
        };
        let usage = found
            .used_by(results::PROXY)
            .context("no proxy is watched")?;
        let each = |bytes: i64| bytes as f64 / found.exchanges.max(1) as f64;
        Ok(Idle {
            contestant: way.name.clone(),
            sessions: found.exchanges,
            bytes_per_session: each(usage.rss_growth_bytes),
            anon_bytes_per_session: each(usage.anon_growth_bytes),
            errors: found.errors,
            backend_connections: most,
            proxies: 1,
        })
    }

    fn about(&self, measurements: &[Measurement]) -> About {
        let mut versions = BTreeMap::new();
        let same = |name: &str| names::is_ours(name) && name != names::PILOTFISH;
        for proxy in self.contestants.iter().filter(|proxy| !same(proxy.name())) {
            versions.insert(proxy.name().to_owned(), proxy.version());
        }
        for kind in &self.backends {
            versions.insert(kind.title().to_owned(), kind.version());
        }
        if let Some(version) = &self.sysbench {
            versions.insert("sysbench".to_owned(), version.clone());
        }
        let found = measurements
            .iter()
            .filter_map(|measurement| measurement.outcome.as_ref().ok());
        About {
            date: machine::date(),
            profile: self.profile.name.to_owned(),
            commit: machine::commit(),
            machine: machine::machine(),
            kernel: machine::kernel(),
            distribution: machine::distribution(),
            versions,
            rounds: self.profile.rounds,
            window_seconds: self.window.as_secs_f64(),
            table_rows: self.profile.table_rows,
            foreign_cpu: median(found.map(|found| found.foreign_cpu)).unwrap_or_default(),
            left_out: self.left_out.clone(),
        }
    }
}

fn watched(way: &Way, backend: &Backend) -> Vec<Watched> {
    watched_of(way.proxy.as_ref().map(process::Process::pid), backend)
}

fn watched_of(proxy: Option<u32>, backend: &Backend) -> Vec<Watched> {
    let proxy = proxy.map(|pid| (results::PROXY, vec![pid]));
    let both = proxy
        .into_iter()
        .chain([(results::BACKEND, backend.pids())]);
    both.map(|(name, pids)| Watched {
        name: name.to_owned(),
        pids,
    })
    .collect()
}

/// Counts a proxy's connections to its backend again and again, and keeps the most.
async fn count_often(pid: Option<u32>, backend: SocketAddr, most: &mut Option<u64>) {
    let Some(pid) = pid else {
        return std::future::pending().await;
    };
    loop {
        if let Ok(now) = connections::count(pid, backend) {
            *most = Some(now.max(most.unwrap_or_default()));
        }
        sleep(COUNT_AGAIN).await;
    }
}

fn tell(round: usize, step: &Step, name: &str, outcome: &Result<Findings, String>) {
    let place = format!(
        "{} {:9} {:34} {:3}",
        round + 1,
        step.backend.title(),
        step.load.to_string(),
        step.connections
    );
    match outcome {
        Ok(found) => {
            let cpu = |side| found.used_by(side).map_or(0.0, |usage| usage.cpu_us());
            eprintln!(
                "{place} {name:10} {:8.0}/s  p50 {:7.0}  p99 {:7.0} µs  cpu {:5.1} + {:5.1} µs  {} errors",
                found.per_second,
                found.latency_us.p50,
                found.latency_us.p99,
                cpu(results::PROXY),
                cpu(results::BACKEND),
                found.errors.count(),
            );
        }
        Err(reason) => eprintln!("{place} {name:10} FAILED: {reason}"),
    }
}

/// Where reports go unless told otherwise: the manual for whole runs, out of sight for others.
pub fn default_out(is_partial: bool, raw: &Path) -> PathBuf {
    if is_partial {
        raw.join("quick")
    } else {
        PathBuf::from("docs")
    }
}
