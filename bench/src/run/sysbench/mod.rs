//! sysbench's OLTP scripts and how they are started.

mod report;

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use super::backend::{READ, WRITTEN};
use super::process::{find_program, version_line};
use crate::accounting::{Sample, Watched};
use crate::load::{Errors, Findings};
pub use report::Report;

/// One way to run sysbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sysbench {
    pub script: Script,
    pub ps_mode: PsMode,
    pub keys: Keys,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    PointSelect,
    ReadOnly,
    /// Without BEGIN and COMMIT.
    ReadOnlySkipTrx,
    WriteOnly,
    ReadWrite,
    /// One range of so many rows, and nothing else.
    Range(u64),
}

/// Whether statements are prepared (binary protocol) or sent as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PsMode {
    Disable,
    Auto,
}

/// Which rows are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keys {
    /// sysbench's own choice: some rows more often than others.
    Special,
    Uniform,
    Pareto,
}

impl Script {
    fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp_point_select",
            Self::ReadOnly | Self::ReadOnlySkipTrx | Self::Range(_) => "oltp_read_only",
            Self::WriteOnly => "oltp_write_only",
            Self::ReadWrite => "oltp_read_write",
        }
    }

    /// Options beside the name.
    fn options(self) -> Vec<String> {
        let without = [
            "point_selects",
            "sum_ranges",
            "order_ranges",
            "distinct_ranges",
        ];
        match self {
            Self::ReadOnlySkipTrx => vec!["--skip_trx=on".to_owned()],
            Self::Range(rows) => {
                let mut options = vec!["--skip_trx=on".to_owned(), "--simple_ranges=1".to_owned()];
                options.push(format!("--range_size={rows}"));
                options.extend(without.map(|kind| format!("--{kind}=0")));
                options
            }
            _ => Vec::new(),
        }
    }

    /// Queries of one transaction, which is what a latency is of.
    pub fn queries(self) -> u64 {
        match self {
            Self::PointSelect | Self::Range(_) => 1,
            Self::ReadOnly => 16,
            Self::ReadOnlySkipTrx => 14,
            Self::WriteOnly => 6,
            Self::ReadWrite => 20,
        }
    }

    fn writes(self) -> bool {
        matches!(self, Self::WriteOnly | Self::ReadWrite)
    }
}

impl PsMode {
    fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Auto => "auto",
        }
    }
}

impl Keys {
    fn name(self) -> &'static str {
        match self {
            Self::Special => "special",
            Self::Uniform => "uniform",
            Self::Pareto => "pareto",
        }
    }
}

impl std::fmt::Display for Sysbench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, ps_mode) = (self.script.name(), self.ps_mode.name());
        write!(f, "sysbench {name} ps={ps_mode}")?;
        match self.script {
            Script::ReadOnlySkipTrx => f.write_str(" skip_trx")?,
            Script::Range(rows) => write!(f, " range={rows}")?,
            _ => {}
        }
        match self.keys {
            Keys::Special => Ok(()),
            keys => write!(f, " rand={}", keys.name()),
        }
    }
}

/// sysbench's version, where it is installed.
pub fn found() -> Option<String> {
    let program = find_program("SYSBENCH", "sysbench")?;
    Some(version_line(Command::new(program).arg("--version")))
}

/// Fills `sbtest1`, of readers and of writers.
///
/// # Errors
/// When sysbench fails; with what it says.
pub async fn prepare(backend: SocketAddr, table_rows: u64) -> Result<()> {
    for script in [Script::PointSelect, Script::WriteOnly] {
        let mut command = command(script, backend, table_rows)?;
        command.arg("prepare");
        run_to_end(command, Duration::from_secs(120)).await?;
    }
    Ok(())
}

impl Sysbench {
    /// Runs for `seconds` and reports what was found.
    ///
    /// # Errors
    /// When sysbench does not run to its end. What it says then is the error.
    pub async fn measure(
        self,
        address: SocketAddr,
        table_rows: u64,
        threads: usize,
        seconds: u64,
        watched: &[Watched],
    ) -> Result<Findings> {
        let command = self.command(address, table_rows, threads, seconds)?;
        let before = Sample::take(watched)?;
        let report = run_to_end(command, Duration::from_secs(seconds + 30)).await?;
        let after = Sample::take(watched)?;
        let report = Report::read(&report).context("sysbench's report is not understood")?;
        Ok(Findings {
            seconds: report.seconds,
            exchanges: report.queries,
            exchanges_in_all: report.queries,
            per_second: report.queries as f64 / report.seconds,
            latency_us: report.latency_us,
            errors: self.errors(report.ignored),
            beside: None,
            usage: after.usage_since(&before, report.queries),
            foreign_cpu: after.foreign_cpu_since(&before),
            machine_us: after.machine_us_since(&before, report.queries),
        })
    }
}

impl Sysbench {
    /// Runs for that long and hands each line that sysbench prints meanwhile, one a period, to `on_line`.
    ///
    /// # Errors
    /// As of [`Self::measure`]. A statement that fails ends sysbench, unless it was chosen as the victim of a deadlock or
    /// waited too long for a lock.
    pub async fn run_for(
        self,
        address: SocketAddr,
        table_rows: u64,
        threads: usize,
        (length, period): (Duration, Duration),
        on_line: impl FnMut(&str),
    ) -> Result<Report> {
        let mut command = self.command(address, table_rows, threads, length.as_secs())?;
        command.arg(format!("--report-interval={}", period.as_secs().max(1)));
        let printed = run_printing(command, on_line);
        let report = timeout(length + Duration::from_secs(60), printed)
            .await
            .context("sysbench hangs")??;
        Report::read(&report).context("sysbench's report is not understood")
    }

    fn command(
        self,
        address: SocketAddr,
        table_rows: u64,
        threads: usize,
        seconds: u64,
    ) -> Result<Command> {
        let mut command = command(self.script, address, table_rows)?;
        command
            .arg(format!("--threads={threads}"))
            .arg(format!("--time={seconds}"))
            .arg(format!("--db-ps-mode={}", self.ps_mode.name()))
            .arg(format!("--rand-type={}", self.keys.name()))
            .args(self.script.options())
            .args(["--histogram=on", "run"]);
        Ok(command)
    }

    /// Writers meet one another, and sysbench starts the transaction again: no error of whoever
    /// stands between. Readers do not.
    fn errors(self, ignored: u64) -> Errors {
        if self.script.writes() {
            return Errors {
                deadlocks: ignored,
                ..Errors::default()
            };
        }
        Errors {
            failed: ignored,
            first: (ignored > 0).then(|| "sysbench ignored errors".to_owned()),
            ..Errors::default()
        }
    }
}

fn command(script: Script, address: SocketAddr, table_rows: u64) -> Result<Command> {
    let program = find_program("SYSBENCH", "sysbench").context("sysbench is not installed")?;
    let schema = if script.writes() { WRITTEN } else { READ };
    let mut command = Command::new(program);
    command
        .arg(script.name())
        .args(["--db-driver=mysql", "--mysql-user=bench", "--tables=1"])
        .arg(format!("--mysql-db={schema}"))
        .arg(format!("--table-size={table_rows}"))
        .arg(format!("--mysql-host={}", address.ip()))
        .arg(format!("--mysql-port={}", address.port()));
    Ok(command)
}

async fn run_to_end(command: Command, patience: Duration) -> Result<String> {
    let mut command = tokio::process::Command::from(command);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(patience, command.output())
        .await
        .context("sysbench hangs")??;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "sysbench failed: {}", fault(&text));
    Ok(text)
}

/// Runs to the end, and hands the lines that are printed meanwhile to `on_line`.
async fn run_printing(command: Command, mut on_line: impl FnMut(&str)) -> Result<String> {
    let mut command = tokio::process::Command::from(command);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn()?;
    let output = child.stdout.take().context("sysbench has no output")?;
    let mut lines = BufReader::new(output).lines();
    let mut text = String::new();
    while let Some(line) = lines.next_line().await? {
        if line.starts_with('[') {
            on_line(&line);
        }
        text.push_str(&line);
        text.push('\n');
    }
    let status = child.wait().await?;
    ensure!(status.success(), "sysbench failed: {}", fault(&text));
    Ok(text)
}

/// The line of sysbench's output that says what went wrong.
fn fault(text: &str) -> &str {
    text.lines()
        .find(|line| line.starts_with("FATAL"))
        .unwrap_or("no reason given")
}
