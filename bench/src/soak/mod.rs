//! The soak: for minutes, sysbench reads and writes in transactions through the proxy, beside idle sessions and slow ones.
//! No client may see an error, each idle session must answer at the end, and the proxy's memory must not grow.

mod idle_sessions;
mod memory;
mod proxy;

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::interval;

use crate::load::{Errors, Findings, Workload};
use crate::run::backend::{self, Backend, Kind};
use crate::run::contestant::Way;
use crate::run::generator;
use crate::run::machine::raise_open_files;
use crate::run::process::Process;
use crate::run::sysbench::{self, Keys, PsMode, Report, Script, Sysbench};
use idle_sessions::IdleSessions;
use memory::Memory;
use proxy::PooledByDefault;

const LOAD: Sysbench = Sysbench {
    script: Script::ReadWrite,
    ps_mode: PsMode::Auto,
    keys: Keys::Uniform,
};
const THREADS: usize = 512;
const IDLE_SESSIONS: usize = 500;
const ROWS: u64 = 10_000;

/// A line is printed as often, and oftener in a short soak.
const LINE_EVERY: Duration = Duration::from_secs(60);
const LINES_MIN: u32 = 6;

/// How often the proxy's memory is read.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// What one soak found.
struct Soak {
    report: Report,
    slow: Findings,
    /// The idle sessions that did not answer, and what the first one said.
    idle_errors: Errors,
    memory: Memory,
}

/// Runs a soak on each family of servers, one after the other.
///
/// # Errors
/// A server or the proxy does not come up, a client saw an error, or the proxy's memory grew.
pub async fn run(length: Duration, without: &[Kind]) -> Result<()> {
    raise_open_files();
    let found = Kind::found();
    let wanted = |kind: &Kind| found.contains(kind) && !without.contains(kind);
    let kinds = [Kind::MariaDb, Kind::MySql].into_iter().filter(wanted);
    let mut faults = Vec::new();
    let mut soaks = 0;
    for kind in kinds {
        soaks += 1;
        let faults_before = faults.len();
        match soak(kind, length).await {
            Ok(soak) => faults.extend(soak.tell(kind)),
            Err(error) => faults.push(format!("{}: {error:#}", kind.title())),
        }
        for fault in &faults[faults_before..] {
            println!("{fault}");
        }
    }
    ensure!(soaks > 0, "there is no server to soak with");
    ensure!(faults.is_empty(), "{} faults", faults.len());
    Ok(())
}

async fn soak(kind: Kind, length: Duration) -> Result<Soak> {
    let folder = tempfile::tempdir()?;
    let backend = Backend::start(kind, folder.path()).await?;
    let server = backend::target(backend.address(), ROWS);
    sysbench::prepare(backend.address(), ROWS).await?;
    crate::load::statement(&server, crate::load::VIEW).await?;
    let program = PooledByDefault::found()?;
    let mut way = Way::through(&program, &backend.addresses(), folder.path(), 2000).await?;
    let Some(proxy) = &mut way.proxy else {
        anyhow::bail!("there is no proxy");
    };
    let idle = IdleSessions::open(&backend::target(way.address, ROWS), IDLE_SESSIONS).await?;
    let mut memory = Memory::of(length);
    let period = LINE_EVERY.min(length / LINES_MIN);
    println!("{}: a line every {} s", kind.title(), period.as_secs());
    let pid = proxy.pid();
    let slow = generator::load(
        way.address,
        Workload::Mix,
        0,
        ROWS,
        (Duration::ZERO, length),
        &[],
    );
    let fast = LOAD.run_for(way.address, ROWS, THREADS, (length, period), |line| {
        println!("{line} | proxy {}", memory::mib(memory::now(pid)));
    });
    let (report, slow) = tokio::select! {
        both = async { tokio::try_join!(fast, slow) } => both?,
        ended = sample(proxy, &mut memory) => {
            ended?;
            unreachable!("sampling ends with an error only")
        }
    };
    let idle_errors = idle.ask_all().await;
    proxy.alive()?;
    Ok(Soak {
        report,
        slow,
        idle_errors,
        memory,
    })
}

/// Reads the proxy's memory again and again.
async fn sample(proxy: &mut Process, memory: &mut Memory) -> Result<()> {
    let mut ticks = interval(SAMPLE_EVERY);
    loop {
        ticks.tick().await;
        proxy.alive()?;
        memory.add(memory::now(proxy.pid()));
    }
}

impl Soak {
    /// Prints what was found; the faults.
    fn tell(&self, kind: Kind) -> Vec<String> {
        let (report, slow) = (&self.report, &self.slow);
        let beside = slow.beside.unwrap_or_default();
        println!(
            "{}: {} transactions in {:.0} s, p99 {:.0} ms, longest {:.0} ms; {} transactions begun again after a deadlock \
             or a lock wait, {} reconnects",
            kind.title(),
            report.transactions,
            report.seconds,
            report.latency_us.p99 / 1000.0,
            report.latency_us.max / 1000.0,
            report.ignored,
            report.reconnects,
        );
        println!(
            "slow sessions: {} reads of 200 ms, {:.0} MB of large results, {} errors; idle sessions: {} of \
             {IDLE_SESSIONS} without an answer",
            beside.reads,
            beside.bytes as f64 / 1e6,
            slow.errors.count(),
            self.idle_errors.count(),
        );
        println!("the proxy's resident memory: {}", self.memory);
        let mut faults = Vec::new();
        let mut fault = |is_fault: bool, text: String| {
            if is_fault {
                faults.push(format!("{}: {text}", kind.title()));
            }
        };
        let first = |errors: &Errors| errors.first.clone().unwrap_or_default();
        fault(
            report.reconnects > 0,
            format!("{} reconnects of sysbench", report.reconnects),
        );
        fault(
            slow.errors.count() > 0,
            format!("a slow session failed: {}", first(&slow.errors)),
        );
        fault(
            beside.reads == 0 || beside.bytes == 0,
            "slow sessions got nothing".to_owned(),
        );
        fault(
            self.idle_errors.count() > 0,
            format!("an idle session failed: {}", first(&self.idle_errors)),
        );
        fault(
            self.memory.has_grown(),
            format!("the proxy's memory has grown: {}", self.memory),
        );
        faults
    }
}
