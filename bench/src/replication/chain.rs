//! The chain: sysbench's reads and writes on a primary with one ordinary replica, and on the same primary with the proxy and
//! eight replicas behind it, in windows that alternate. In windows of a third kind the replicas behind the proxy are
//! stopped, which shows what they take of a machine that they share with the primary.
//!
//! In each window the servers of the other ways are stopped (SIGSTOP). Replicas stand for other machines, so what they do
//! must not slow the primary down: each of their threads runs only while a processor is idle (SCHED_IDLE). They catch up at
//! the end.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use super::primary;
use super::proxy::{Proxy, Relay};
use super::reader::LAST_TABLE;
use crate::accounting::cpu_seconds;
use crate::load::Session;
use crate::run::backend::{self, Kind, Server};
use crate::run::sysbench::{self, Keys, PsMode, Script, Sysbench};

/// Replicas behind the proxy.
const REPLICAS: u32 = 8;
const THREADS: usize = 8;
const ROWS: u64 = 10_000;

const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Nine servers on few cores may have a lot to do.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(3600);

const LOAD: Sysbench = Sysbench {
    script: Script::ReadWrite,
    ps_mode: PsMode::Auto,
    keys: Keys::Uniform,
};

/// What was measured.
#[derive(Debug, Default)]
pub struct Chain {
    /// Of each round, by [`Way`].
    pub rounds: Vec<[Window; 3]>,
    /// How long a window was.
    pub window_seconds: u64,
    /// The time after the last window until all replicas had all transactions.
    pub catches_up: f64,
}

/// What follows the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One ordinary replica.
    Ordinary,
    /// The proxy, which feeds eight replicas.
    Chain,
    /// The proxy, whose replicas are stopped.
    ProxyAlone,
}

/// What was found in one window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// Transactions of the primary a second.
    pub per_second: f64,
    /// Processor time of each for a transaction, in microseconds: the primary, the proxy, all replicas together.
    pub primary_us: f64,
    pub proxy_us: f64,
    pub replicas_us: f64,
}

impl Chain {
    /// The throughput of a way as a share of that with one ordinary replica, over all windows.
    pub fn ratio(&self, way: Way) -> f64 {
        self.mean(way).per_second / self.mean(Way::Ordinary).per_second
    }
}

impl Chain {
    /// The mean over all windows of a way.
    pub fn mean(&self, way: Way) -> Window {
        let windows: Vec<Window> = self.rounds.iter().map(|it| it[way as usize]).collect();
        Window::mean(&windows)
    }
}

impl Window {
    fn mean(windows: &[Self]) -> Self {
        let mean =
            |pick: fn(&Self) -> f64| windows.iter().map(pick).sum::<f64>() / windows.len() as f64;
        Self {
            per_second: mean(|it| it.per_second),
            primary_us: mean(|it| it.primary_us),
            proxy_us: mean(|it| it.proxy_us),
            replicas_us: mean(|it| it.replicas_us),
        }
    }
}

/// All servers and the proxy.
struct Site {
    primary: Server,
    ordinary: Server,
    proxy: Proxy,
    replicas: Vec<Server>,
}

/// # Errors
/// When a server or the proxy does not do what it should.
pub async fn measure(kind: Kind, is_quick: bool) -> Result<Chain> {
    let folder = tempfile::tempdir()?;
    let site = Site::start(kind, folder.path()).await?;
    sysbench::prepare(site.primary.address, ROWS).await?;
    let (rounds, window_seconds) = if is_quick { (2, 5) } else { (6, 25) };
    let mut chain = Chain {
        window_seconds,
        ..Chain::default()
    };
    let mut ways = [Way::Ordinary, Way::Chain, Way::ProxyAlone];
    for _ in 0..rounds {
        let mut round = [Window::default(); 3];
        for way in ways {
            site.run_only(way)?;
            round[way as usize] = site.measure(window_seconds).await?;
        }
        chain.rounds.push(round);
        ways.rotate_left(1);
    }
    chain.catches_up = site.catch_up().await?;
    Ok(chain)
}

impl Site {
    async fn start(kind: Kind, folder: &std::path::Path) -> Result<Self> {
        let mut servers = Vec::new();
        for id in 1..=REPLICAS + 2 {
            let server = primary::start(kind, folder, id).await?;
            primary::forget_log(kind, server.address).await?;
            if id > 1 {
                run_only_when_idle(&server)?;
            }
            servers.push(server);
        }
        let mut servers = servers.into_iter();
        let (Some(primary), Some(ordinary)) = (servers.next(), servers.next()) else {
            anyhow::bail!("no server was started");
        };
        let replicas: Vec<_> = servers.collect();
        let mut proxy = Proxy::new(folder, "chain", primary.address, Relay::On)?;
        proxy.start().await?;
        proxy.wait("state = 'streaming'").await?;
        primary::follow(kind, ordinary.address, primary.address).await?;
        for replica in &replicas {
            primary::follow(kind, replica.address, proxy.replicas).await?;
        }
        let site = Self {
            primary,
            ordinary,
            proxy,
            replicas,
        };
        let table = format!("CREATE TABLE {LAST_TABLE} (id INT PRIMARY KEY AUTO_INCREMENT, k INT)");
        open(&site.primary).await?.look(&table).await?;
        Ok(site)
    }

    /// Lets the servers of a way run, and stops the other servers.
    fn run_only(&self, way: Way) -> Result<()> {
        let signal = |runs: bool| if runs { Signal::CONT } else { Signal::STOP };
        kill_process(pid(&self.ordinary)?, signal(way == Way::Ordinary))?;
        for replica in &self.replicas {
            kill_process(pid(replica)?, signal(way == Way::Chain))?;
        }
        let proxy = i32::try_from(self.proxy.pid())?;
        if let Some(proxy) = Pid::from_raw(proxy) {
            kill_process(proxy, signal(way != Way::Ordinary))?;
        }
        Ok(())
    }

    /// One window of load on the primary.
    async fn measure(&self, seconds: u64) -> Result<Window> {
        let all = self.replicas.iter().chain([&self.ordinary]);
        let replicas: Vec<u32> = all.map(Server::pid).collect();
        let used = || -> Result<[f64; 3]> {
            let replicas = replicas.iter().map(|&pid| cpu_seconds(pid));
            let replicas = replicas.sum::<std::io::Result<f64>>()?;
            let (primary, proxy) = (self.primary.pid(), self.proxy.pid());
            Ok([cpu_seconds(primary)?, cpu_seconds(proxy)?, replicas])
        };
        let before = used()?;
        let found = LOAD.measure(self.primary.address, ROWS, THREADS, seconds, &[]);
        let per_second = found.await?.per_second / LOAD.script.queries() as f64;
        let after = used()?;
        let us = |at: usize| (after[at] - before[at]) * 1e6 / (per_second * seconds as f64);
        Ok(Window {
            per_second,
            primary_us: us(0),
            proxy_us: us(1),
            replicas_us: us(2),
        })
    }

    /// Lets all servers run until each has all transactions, and returns how long that takes.
    async fn catch_up(&self) -> Result<f64> {
        self.run_only(Way::Chain)?;
        kill_process(pid(&self.ordinary)?, Signal::CONT)?;
        let begun = Instant::now();
        let last = format!("INSERT INTO {LAST_TABLE} (k) VALUES (1)");
        open(&self.primary).await?.look(&last).await?;
        for replica in self.replicas.iter().chain([&self.ordinary]) {
            let mut session = open(replica).await?;
            let has_last = format!("SELECT k FROM {LAST_TABLE}");
            while session.look(&has_last).await? == 0 {
                ensure!(
                    begun.elapsed() < CATCHES_UP_WITHIN,
                    "a replica does not catch up"
                );
                sleep(LOOK_AGAIN).await;
            }
        }
        Ok(begun.elapsed().as_secs_f64())
    }
}

/// Has all threads of a server run only while a processor is idle. Threads that they start inherit that.
fn run_only_when_idle(server: &Server) -> Result<()> {
    let mut command = Command::new("chrt");
    command.args(["--all-tasks", "--idle", "--pid", "0"]);
    let status = command.arg(server.pid().to_string()).status();
    let status = status.context("chrt (util-linux) cannot be started")?;
    ensure!(status.success(), "chrt ends with {status}");
    Ok(())
}

async fn open(server: &Server) -> Result<Session> {
    Ok(Session::open(&backend::target(server.address, 1)).await?)
}

fn pid(server: &Server) -> Result<Pid> {
    let pid = Pid::from_raw(i32::try_from(server.pid())?);
    pid.ok_or_else(|| anyhow::anyhow!("a process has no number"))
}
