//! sysbench's OLTP scripts: how they are started and what their report says.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::time::timeout;

use super::process::{find_program, version_line};
use crate::accounting::{Sample, Watched};
use crate::load::{Errors, Findings, Latency};

/// One way to run sysbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sysbench {
    pub script: Script,
    pub ps_mode: PsMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Script {
    PointSelect,
    ReadOnly,
}

/// Whether statements are prepared (binary protocol) or sent as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PsMode {
    Disable,
    Auto,
}

impl Script {
    pub fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp_point_select",
            Self::ReadOnly => "oltp_read_only",
        }
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

impl std::fmt::Display for Sysbench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "sysbench {} ps={}",
            self.script.name(),
            self.ps_mode.name()
        )
    }
}

/// sysbench's version, where it is installed.
pub fn found() -> Option<String> {
    let program = find_program("SYSBENCH", "sysbench")?;
    Some(version_line(Command::new(program).arg("--version")))
}

/// Fills `sbtest1`.
///
/// # Errors
/// When sysbench fails; with what it says.
pub async fn prepare(backend: SocketAddr, table_rows: u64) -> Result<()> {
    let mut command = command(Script::PointSelect, backend, table_rows)?;
    command.arg("prepare");
    run_to_end(command, Duration::from_secs(120))
        .await
        .map(drop)
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
        let mut command = command(self.script, address, table_rows)?;
        command
            .arg(format!("--threads={threads}"))
            .arg(format!("--time={seconds}"))
            .arg(format!("--db-ps-mode={}", self.ps_mode.name()))
            .args(["--histogram=on", "run"]);
        let before = Sample::take(watched)?;
        let report = run_to_end(command, Duration::from_secs(seconds + 20)).await?;
        let after = Sample::take(watched)?;
        let report = Report::read(&report).context("sysbench's report is not understood")?;
        Ok(Findings {
            seconds: report.seconds,
            exchanges: report.queries,
            exchanges_in_all: report.queries,
            per_second: report.queries as f64 / report.seconds,
            latency_us: report.latency_us,
            errors: report.errors,
            usage: after.usage_since(&before, report.queries),
            foreign_cpu: after.foreign_cpu_since(&before),
        })
    }
}

fn command(script: Script, address: SocketAddr, table_rows: u64) -> Result<Command> {
    let program = find_program("SYSBENCH", "sysbench").context("sysbench is not installed")?;
    let mut command = Command::new(program);
    command
        .arg(script.name())
        .args([
            "--db-driver=mysql",
            "--mysql-user=bench",
            "--mysql-db=sbtest",
            "--tables=1",
        ])
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

/// The line of sysbench's output that says what went wrong.
fn fault(text: &str) -> &str {
    text.lines()
        .find(|line| line.starts_with("FATAL"))
        .unwrap_or("no reason given")
}

/// What a run's output holds. Latencies are those of sysbench's events: one query of a point select,
/// one transaction of the others.
#[derive(Debug, PartialEq)]
struct Report {
    queries: u64,
    seconds: f64,
    latency_us: Latency,
    errors: Errors,
}

impl Report {
    fn read(text: &str) -> Option<Self> {
        let histogram = Histogram::read(text);
        let ignored: u64 = field(text, "ignored errors:")?.parse().ok()?;
        let first = (ignored > 0).then(|| "sysbench ignored errors".to_owned());
        Some(Self {
            queries: field(text, "queries:")?.parse().ok()?,
            seconds: field(text, "total time:")?
                .trim_end_matches('s')
                .parse()
                .ok()?,
            latency_us: Latency {
                p50: histogram.quantile_us(0.50)?,
                p95: histogram.quantile_us(0.95)?,
                p99: histogram.quantile_us(0.99)?,
                max: field(text, "max:")?.parse::<f64>().ok()? * 1000.0,
            },
            errors: Errors {
                failed: ignored,
                first,
                ..Errors::default()
            },
        })
    }
}

/// The first word behind the label of a line.
fn field<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(label))?;
    line.split_ascii_whitespace().next()
}

/// sysbench's histogram: upper bounds in milliseconds and how many events fell below each.
struct Histogram(Vec<(f64, u64)>);

impl Histogram {
    fn read(text: &str) -> Self {
        let bars = text.lines().filter_map(|line| {
            let (value, bar) = line.split_once('|')?;
            let count = bar.rsplit(' ').next()?;
            Some((value.trim().parse().ok()?, count.parse().ok()?))
        });
        Self(bars.collect())
    }

    fn quantile_us(&self, quantile: f64) -> Option<f64> {
        let all: u64 = self.0.iter().map(|(_, count)| count).sum();
        let mut below = 0;
        let found = self.0.iter().find(|(_, count)| {
            below += count;
            below as f64 >= all as f64 * quantile
        });
        found.map(|(milliseconds, _)| milliseconds * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sysbench 1.0.20 against MariaDB 10.11, shortened.
    const OUTPUT: &str = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.037 |****************                         50
       0.041 |****************************************  47
       0.500 |                                         3

SQL statistics:
    queries performed:
        read:                            100
        write:                           0
        other:                           0
        total:                           100
    transactions:                        100    (99.65 per sec.)
    queries:                             100    (99.65 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          1.0035s
    total number of events:              100

Latency (ms):
         min:                                    0.02
         avg:                                    0.03
         max:                                    0.52
         95th percentile:                        0.04
         sum:                                  995.23
";

    #[test]
    fn the_report_and_its_histogram_are_read() {
        let report = Report::read(OUTPUT).expect("it is a report");
        assert_eq!((report.queries, report.seconds), (100, 1.0035));
        let Latency { p50, p95, p99, max } = report.latency_us;
        assert_eq!([p50, p95, p99, max], [37.0, 41.0, 500.0, 520.0]);
    }

    #[test]
    fn what_is_no_report_is_not_read_as_one() {
        assert_eq!(Report::read("FATAL: unable to connect"), None);
    }
}
