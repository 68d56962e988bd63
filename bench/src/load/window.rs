//! Time around the sessions: warm-up, the measured window, the end.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::{sleep, sleep_until, timeout};

use super::workload::Worker;
use super::{Beside, Errors, Failure, Findings, Latency, Run, Workload, beside};
use crate::accounting::Sample;

/// How long sessions may take to finish their last exchange.
const PATIENCE: Duration = Duration::from_secs(5);

/// The pause between two attempts of a session whose connection broke.
const PAUSE_BROKEN: Duration = Duration::from_millis(10);

/// After so many failures no more idle sessions are tried, nor after so many that got no reply.
const FAILURES_MAX: u64 = 20;
const UNANSWERED_MAX: u64 = 2;

/// How long idle sessions are left alone before memory is read.
const SETTLE: Duration = Duration::from_secs(1);

/// The state that all sessions of a run share.
pub struct Shared {
    phase: Cell<Phase>,
    sessions_running: Cell<u64>,
    exchanges_in_all: Cell<u64>,
    latencies_ns: RefCell<Histogram<u64>>,
    errors: RefCell<Errors>,
    beside: Cell<Beside>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Measured,
    Ending,
}

impl Shared {
    fn new() -> Rc<Self> {
        let latencies = Histogram::new_with_bounds(1_000, 600_000_000_000, 3)
            .expect("the bounds are in order and the precision is allowed");
        Rc::new(Self {
            phase: Cell::new(Phase::WarmUp),
            sessions_running: Cell::new(0),
            exchanges_in_all: Cell::new(0),
            latencies_ns: RefCell::new(latencies),
            errors: RefCell::default(),
            beside: Cell::default(),
        })
    }

    /// Counts for the slow sessions.
    pub fn count_beside(&self, count: impl FnOnce(&mut Beside)) {
        if self.phase.get() == Phase::Measured {
            let mut beside = self.beside.get();
            count(&mut beside);
            self.beside.set(beside);
        }
    }

    fn count(&self, taken: Duration) {
        self.exchanges_in_all.set(self.exchanges_in_all.get() + 1);
        if self.phase.get() == Phase::Measured {
            self.latencies_ns
                .borrow_mut()
                .saturating_record(taken.as_nanos() as u64);
        }
    }

    /// Errors count whenever they happen: a faulty warm-up is a faulty run.
    pub fn note(&self, failure: &Failure) {
        self.errors.borrow_mut().note(failure);
    }

    fn findings(&self, before: &Sample, after: &Sample) -> Findings {
        let latencies = self.latencies_ns.borrow();
        let micros = |quantile| latencies.value_at_quantile(quantile) as f64 / 1000.0;
        let seconds = (after.taken_at - before.taken_at).as_secs_f64();
        Findings {
            seconds,
            exchanges: latencies.len(),
            exchanges_in_all: self.exchanges_in_all.get(),
            per_second: latencies.len() as f64 / seconds,
            latency_us: Latency {
                p50: micros(0.50),
                p95: micros(0.95),
                p99: micros(0.99),
                max: latencies.max() as f64 / 1000.0,
                mean: latencies.mean() / 1000.0,
            },
            errors: self.errors.borrow().clone(),
            beside: Some(self.beside.get()).filter(|it| *it != Beside::default()),
            usage: after.usage_since(before, latencies.len()),
            foreign_cpu: after.foreign_cpu_since(before),
            machine_us: after.machine_us_since(before, latencies.len()),
        }
    }
}

/// All sessions in a closed loop.
pub async fn drive(run: Run) -> io::Result<Findings> {
    let shared = Shared::new();
    let run = Rc::new(run);
    let sessions = LocalSet::new();
    for seed in 0..run.connections {
        let (run, shared) = (Rc::clone(&run), Rc::clone(&shared));
        sessions.spawn_local(async move { repeat(&run, seed, &shared).await });
    }
    let (before, after) = sessions
        .run_until(async {
            let slow = match run.workload {
                Workload::Mix => beside::start(&run, &shared),
                _ => Vec::new(),
            };
            sleep(run.warm_up).await;
            let before = Sample::take(&run.watched)?;
            shared.phase.set(Phase::Measured);
            sleep(run.window).await;
            shared.phase.set(Phase::Ending);
            let after = Sample::take(&run.watched)?;
            slow.iter().for_each(JoinHandle::abort);
            io::Result::Ok((before, after))
        })
        .await?;
    if timeout(PATIENCE, sessions).await.is_err() {
        shared
            .errors
            .borrow_mut()
            .give_up(shared.sessions_running.get());
    }
    Ok(shared.findings(&before, &after))
}

async fn repeat(run: &Run, seed: usize, shared: &Shared) {
    shared
        .sessions_running
        .set(shared.sessions_running.get() + 1);
    let mut worker = Worker::new(&run.target, run.workload, seed as u64);
    let mut turns = Turns::new(run, seed);
    loop {
        turns.next().await;
        if shared.phase.get() == Phase::Ending {
            break;
        }
        if let Err(failure) = attempt(&mut worker, shared).await {
            shared.note(&failure);
            sleep(PAUSE_BROKEN).await;
        }
    }
    shared
        .sessions_running
        .set(shared.sessions_running.get() - 1);
}

/// The schedule of a session's statements.
struct Turns {
    pace: Option<Duration>,
    at: tokio::time::Instant,
}

impl Turns {
    /// The sessions' first turns are spread over the time between two of one session's.
    fn new(run: &Run, seed: usize) -> Self {
        let pace = run.workload.pace();
        let share = seed as f64 / run.connections.max(1) as f64;
        let first = pace.unwrap_or_default().mul_f64(share);
        Self {
            pace,
            at: tokio::time::Instant::now() + first,
        }
    }

    /// Waits for the next turn; a session that is late has it at once.
    async fn next(&mut self) {
        if let Some(pace) = self.pace {
            sleep_until(self.at).await;
            self.at += pace;
        }
    }
}

async fn attempt(worker: &mut Worker<'_>, shared: &Shared) -> Result<(), Failure> {
    worker.ready().await?;
    let start = Instant::now();
    worker.once().await?;
    shared.count(start.elapsed());
    Ok(())
}

/// Opens all sessions, lets each ask once, and reads memory while they do nothing.
pub async fn hold(run: Run) -> io::Result<Findings> {
    let shared = Shared::new();
    shared.phase.set(Phase::Measured);
    let before = Sample::take(&run.watched)?;
    let held = open_all(&run, &shared).await;
    sleep(SETTLE).await;
    let after = Sample::take(&run.watched)?;
    drop(held);
    Ok(shared.findings(&before, &after))
}

async fn open_all<'a>(run: &'a Run, shared: &Shared) -> Vec<Worker<'a>> {
    let mut held = Vec::with_capacity(run.connections);
    for seed in 0..run.connections {
        let mut worker = Worker::new(&run.target, run.workload, seed as u64);
        match timeout(PATIENCE, attempt(&mut worker, shared)).await {
            Ok(Ok(())) => held.push(worker),
            Ok(Err(failure)) => shared.note(&failure),
            Err(_) => shared.errors.borrow_mut().give_up(1),
        }
        let errors = shared.errors.borrow();
        if errors.count() > FAILURES_MAX || errors.unanswered > UNANSWERED_MAX {
            break;
        }
    }
    held
}
