//! Processor time and memory of processes, from /proc.

use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The kernel reports processor time in ticks of 10 ms whatever its own clock (USER_HZ, proc(5)).
const TICK_US: f64 = 10_000.0;

/// A process under test, or several that count as one, and the name its figures go by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    pub name: String,
    pub pids: Vec<u32>,
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
        write!(f, "{}={}", self.name, pids.join(","))
    }
}

impl FromStr for Watched {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const SHAPE: &str = "NAME=PID[,PID]";
        let (name, pids) = text.split_once('=').ok_or(SHAPE)?;
        let pids = pids.split(',').map(|pid| pid.parse().map_err(|_| SHAPE));
        Ok(Self {
            name: name.to_owned(),
            pids: pids.collect::<Result<_, _>>()?,
        })
    }
}

/// What a watched process used in a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub name: String,
    /// Processor time per exchange in microseconds, all threads.
    pub user_us: f64,
    pub system_us: f64,
    /// Processor time in the window, as a number of fully busy cores.
    pub cores: f64,
    /// Resident memory at the window's end, and its growth in the window.
    pub rss_bytes: u64,
    pub rss_growth_bytes: i64,
    /// The anonymous part of it: heap and stacks without the program's own file pages.
    pub anon_bytes: u64,
    pub anon_growth_bytes: i64,
}

impl Usage {
    /// Processor time per exchange in microseconds.
    pub fn cpu_us(&self) -> f64 {
        self.user_us + self.system_us
    }
}

/// Counters of the watched processes and the machine at one moment.
pub struct Sample {
    pub taken_at: Instant,
    processes: Vec<Process>,
    /// Ticks of the measuring process and the children it has waited for.
    own: Ticks,
    /// Busy ticks of all cores, and how many there are in all.
    machine_busy: u64,
    machine_all: u64,
}

struct Process {
    name: String,
    ticks: Ticks,
    rss_bytes: u64,
    anon_bytes: u64,
}

/// Whether children that were waited for count.
enum Children {
    Apart,
    Included,
}

#[derive(Clone, Copy)]
struct Ticks {
    user: u64,
    system: u64,
}

impl Sample {
    /// Reads the counters of `watched` and of the machine.
    ///
    /// # Errors
    /// When a process has ended.
    pub fn take(watched: &[Watched]) -> io::Result<Self> {
        let (machine_busy, machine_all) = machine_ticks()?;
        Ok(Self {
            taken_at: Instant::now(),
            processes: watched
                .iter()
                .map(Process::sample)
                .collect::<io::Result<_>>()?,
            own: Ticks::of("self", Children::Included)?,
            machine_busy,
            machine_all,
        })
    }

    /// What the processes used since `before`, shared out over `exchanges`.
    pub fn usage_since(&self, before: &Self, exchanges: u64) -> Vec<Usage> {
        let window_us = (self.taken_at - before.taken_at).as_micros() as f64;
        let pairs = self.processes.iter().zip(&before.processes);
        pairs
            .map(|(after, before)| after.usage_since(before, exchanges, window_us))
            .collect()
    }

    /// Processor time of the whole machine since `before`, shared out over `exchanges`, in microseconds.
    pub fn machine_us_since(&self, before: &Self, exchanges: u64) -> Option<f64> {
        let busy = self.machine_busy.saturating_sub(before.machine_busy);
        (exchanges > 0).then(|| busy as f64 * TICK_US / exchanges as f64)
    }

    /// Share of the machine's time since `before` that went to nobody we know.
    pub fn foreign_cpu_since(&self, before: &Self) -> f64 {
        let pairs = self.processes.iter().zip(&before.processes);
        let known: u64 = pairs
            .map(|(after, before)| after.ticks.since(before.ticks).sum())
            .sum();
        let known = known + self.own.since(before.own).sum();
        let busy = self.machine_busy.saturating_sub(before.machine_busy);
        let all = self.machine_all.saturating_sub(before.machine_all).max(1);
        busy.saturating_sub(known) as f64 / all as f64
    }
}

impl Process {
    fn sample(watched: &Watched) -> io::Result<Self> {
        let mut all = Self {
            name: watched.name.clone(),
            ticks: Ticks { user: 0, system: 0 },
            rss_bytes: 0,
            anon_bytes: 0,
        };
        for pid in &watched.pids {
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            let ticks = Ticks::of(&pid.to_string(), Children::Apart)?;
            all.ticks.user += ticks.user;
            all.ticks.system += ticks.system;
            all.rss_bytes += status_bytes(&status, "VmRSS:")?;
            all.anon_bytes += status_bytes(&status, "RssAnon:")?;
        }
        Ok(all)
    }

    fn usage_since(&self, before: &Self, exchanges: u64, window_us: f64) -> Usage {
        let ticks = self.ticks.since(before.ticks);
        let per_exchange = |ticks: u64| ticks as f64 * TICK_US / exchanges.max(1) as f64;
        Usage {
            name: self.name.clone(),
            user_us: per_exchange(ticks.user),
            system_us: per_exchange(ticks.system),
            cores: ticks.sum() as f64 * TICK_US / window_us,
            rss_bytes: self.rss_bytes,
            rss_growth_bytes: self.rss_bytes as i64 - before.rss_bytes as i64,
            anon_bytes: self.anon_bytes,
            anon_growth_bytes: self.anon_bytes as i64 - before.anon_bytes as i64,
        }
    }
}

impl Ticks {
    /// Fields 14 to 17 of /proc/PID/stat, counted from behind the name, which may hold spaces.
    fn of(process: &str, children: Children) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let behind_name = stat
            .rsplit_once(')')
            .map(|(_, fields)| fields)
            .unwrap_or_default();
        let fields = behind_name.split_ascii_whitespace().skip(11).take(4);
        let ticks: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
        let [user, system, children_user, children_system] = ticks[..] else {
            return Err(io::Error::other(format!(
                "/proc/{process}/stat has no times"
            )));
        };
        Ok(match children {
            Children::Apart => Self { user, system },
            Children::Included => Self {
                user: user + children_user,
                system: system + children_system,
            },
        })
    }

    fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }

    fn sum(self) -> u64 {
        self.user + self.system
    }
}

/// Busy and all ticks of the whole machine, stolen time counted as busy.
fn machine_ticks() -> io::Result<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat")?;
    let line = stat.lines().next().unwrap_or_default();
    // user, nice, system, idle, iowait, irq, softirq, steal; guest times are part of user.
    let fields = line.split_ascii_whitespace().skip(1).take(8);
    let ticks: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks[..] else {
        return Err(io::Error::other("/proc/stat has no processor line"));
    };
    let busy = user + nice + system + irq + softirq + steal;
    Ok((busy, busy + idle + iowait))
}

/// The resident memory of a process, now.
///
/// # Errors
/// When it is not there any more.
pub fn rss_bytes(pid: u32) -> io::Result<u64> {
    status_bytes(
        &fs::read_to_string(format!("/proc/{pid}/status"))?,
        "VmRSS:",
    )
}

/// The most resident memory that a process has had.
///
/// # Errors
/// When it is not there any more.
pub fn peak_rss_bytes(pid: u32) -> io::Result<u64> {
    status_bytes(
        &fs::read_to_string(format!("/proc/{pid}/status"))?,
        "VmHWM:",
    )
}

/// The processor time that a process has used, in seconds.
///
/// # Errors
/// When it is not there any more.
pub fn cpu_seconds(pid: u32) -> io::Result<f64> {
    let ticks = Ticks::of(&pid.to_string(), Children::Apart)?;
    Ok(ticks.sum() as f64 * TICK_US / 1e6)
}

fn status_bytes(status: &str, field: &'static str) -> io::Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024)
        .ok_or_else(|| io::Error::other(format!("no {field} in status")))
}
