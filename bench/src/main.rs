//! Benchmarks of Pilotfish against a direct connection and other proxies.
//!
//! `backend` is a server that answers at once, `load` asks and measures, `run` sets contestants up
//! before the minimal backend and real servers and lets `load` and sysbench loose on them in turn,
//! `soak` lets them loose for long,
//! `report` turns the results into a page with plots. `README.md` says what is measured how.

mod accounting;
mod attacks;
mod load;
mod minimal;
mod protocol;
mod replication;
mod report;
mod results;
mod run;
mod soak;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use accounting::Watched;
use anyhow::Result;
use load::Workload;
use protocol::EofStyle;
use run::Settings;
use run::backend::Kind;
use run::plan::Table;

/// Benchmarks of Pilotfish against a direct connection and other proxies
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Serve canned answers, at once
    Backend {
        /// Address to listen on; port 0 takes a free one and prints it
        #[arg(long, default_value = "127.0.0.1:0")]
        listen: SocketAddr,
    },
    /// Put load on a server or proxy and print what was found as JSON
    Load(LoadArguments),
    /// Compare all contestants and write the report
    Run(RunArguments),
    /// Run statements of many kinds through Pilotfish alone, without figures: what an optimised build learns from
    Train {
        /// Backends to leave out
        #[arg(long, value_enum)]
        without: Vec<BackendChoice>,
    },
    /// Measure what replication costs: following, changes as JSON, feeding eight replicas
    Replication(ReplicationArguments),
    /// Reads and writes for minutes beside idle and slow sessions: no error, and memory that does not grow
    Soak(SoakArguments),
    /// Attack the proxy with long statements and idle transactions: what well-behaved clients notice
    Attacks {
        /// Backends to leave out
        #[arg(long, value_enum)]
        without: Vec<BackendChoice>,
    },
    /// Write the report again from the results of the last run
    Report {
        /// Folder of the page
        #[arg(long, default_value = "docs")]
        out: PathBuf,
    },
}

#[derive(Args)]
struct LoadArguments {
    /// Server or proxy to ask
    #[arg(long)]
    target: SocketAddr,
    /// point, prepared, rows:N, constant (SELECT 1111), prepare (COM_STMT_PREPARE), mix (point
    /// selects beside slow sessions; needs the view slow_sbtest1), paced (point selects, one a
    /// second), connect (connect, query, close), log-in (connect, close), tls-point and tls-connect
    /// (the same over TLS), reset
    /// (COM_RESET_CONNECTION), restore (SET of three variables), digests:N (point selects of so many digests),
    /// or idle (open and hold)
    #[arg(long, default_value = "point")]
    workload: Workload,
    /// Sessions at once
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Length of the measured window in seconds
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Seconds of load before the window
    #[arg(long, default_value_t = 0.5)]
    warm_up: f64,
    /// Account without password
    #[arg(long, default_value = "bench")]
    user: String,
    /// Schema that holds sysbench's table sbtest1
    #[arg(long, default_value = "sbtest")]
    schema: String,
    /// Rows of sbtest1
    #[arg(long, default_value_t = 10_000)]
    table_rows: u64,
    /// How result sets end
    #[arg(long, value_enum, default_value = "deprecated")]
    eof: EofChoice,
    /// Processes whose processor time and memory to report, as NAME=PID; several that
    /// count as one as NAME=PID,PID
    #[arg(long)]
    watch: Vec<Watched>,
}

#[derive(Args)]
struct ReplicationArguments {
    /// A tenth of the load: to see that it works
    #[arg(long)]
    quick: bool,
    /// Backends to leave out
    #[arg(long, value_enum)]
    without: Vec<BackendChoice>,
    /// The page
    #[arg(long, default_value = "docs/benchmarks/replication.md")]
    out: PathBuf,
}

#[derive(Args)]
struct SoakArguments {
    /// How long, for each backend
    #[arg(long, default_value_t = 1800, value_parser = clap::value_parser!(u64).range(30..))]
    seconds: u64,
    /// Backends to leave out
    #[arg(long, value_enum)]
    without: Vec<BackendChoice>,
}

#[derive(Args)]
struct RunArguments {
    /// Fewer tables, one round, shorter windows: four minutes in place of an hour
    #[arg(long)]
    quick: bool,
    /// Fill these tables alone, and write the page out of sight
    #[arg(long, value_enum, num_args = 1..)]
    only: Vec<Table>,
    /// Seconds after which no measurement begins any more
    #[arg(long)]
    budget: Option<u64>,
    /// Backends to leave out
    #[arg(long, value_enum)]
    without: Vec<BackendChoice>,
    /// Folder of the page [default: docs; for quick and partial runs a folder beside the raw figures]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Folder of every single measurement
    #[arg(long, default_value = "bench/results/raw")]
    raw: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum BackendChoice {
    Minimal,
    Mariadb,
    Mysql,
}

impl RunArguments {
    fn settings(self) -> Settings {
        let kinds = self.without.into_iter().flat_map(BackendChoice::kinds);
        let is_partial = self.quick || !self.only.is_empty();
        Settings {
            quick: self.quick,
            budget: self.budget,
            without: kinds.collect(),
            out: self
                .out
                .unwrap_or_else(|| run::default_out(is_partial, &self.raw)),
            only: self.only,
            raw: self.raw,
        }
    }
}

impl BackendChoice {
    fn kinds(self) -> Vec<Kind> {
        match self {
            Self::Minimal => vec![Kind::Minimal],
            Self::Mariadb => vec![Kind::MariaDb],
            Self::Mysql => vec![Kind::MySql, Kind::MySqlPair],
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum EofChoice {
    /// With EOF packets
    Classic,
    /// With CLIENT_DEPRECATE_EOF where the server offers it
    Deprecated,
}

impl LoadArguments {
    fn run(self) -> Result<load::Run> {
        let eof = match self.eof {
            EofChoice::Classic => EofStyle::Classic,
            EofChoice::Deprecated => EofStyle::Deprecated,
        };
        let tls = self.workload.is_over_tls().then(load::connector);
        Ok(load::Run {
            target: load::Target {
                address: self.target,
                user: self.user,
                password: String::new(),
                schema: self.schema,
                eof,
                table_rows: self.table_rows,
                tls: tls.transpose()?,
            },
            workload: self.workload,
            connections: self.connections,
            warm_up: Duration::from_secs_f64(self.warm_up),
            window: Duration::from_secs_f64(self.seconds),
            watched: self.watch,
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match perform(Arguments::parse().task).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pilotfish-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn perform(task: Task) -> Result<()> {
    match task {
        Task::Backend { listen } => minimal::serve(listen).await?,
        Task::Load(arguments) => {
            let findings = load::run(arguments.run()?).await?;
            println!("{}", serde_json::to_string_pretty(&findings)?);
        }
        Task::Run(arguments) => {
            let settings = arguments.settings();
            // Whichever ends first drops the other, and with the run all that it started.
            tokio::select! {
                result = run::run(&settings) => result?,
                result = interrupted() => result?,
            }
        }
        Task::Train { without } => {
            let without = without.into_iter().flat_map(BackendChoice::kinds);
            tokio::select! {
                result = run::train(without.collect()) => result?,
                result = interrupted() => result?,
            }
        }
        Task::Replication(arguments) => {
            let without = arguments.without.into_iter();
            let without: Vec<Kind> = without.flat_map(BackendChoice::kinds).collect();
            let measuring = replication::run(arguments.quick, &without, &arguments.out);
            tokio::select! {
                result = measuring => result?,
                result = interrupted() => result?,
            }
        }
        Task::Soak(arguments) => {
            let without = arguments.without.into_iter();
            let without: Vec<Kind> = without.flat_map(BackendChoice::kinds).collect();
            let soaking = soak::run(Duration::from_secs(arguments.seconds), &without);
            tokio::select! {
                result = soaking => result?,
                result = interrupted() => result?,
            }
        }
        Task::Attacks { without } => {
            let without = without.into_iter().flat_map(BackendChoice::kinds);
            let without: Vec<Kind> = without.collect();
            tokio::select! {
                result = attacks::run(&without) => result?,
                result = interrupted() => result?,
            }
        }
        Task::Report { out } => report::again(&out)?,
    }
    Ok(())
}

/// Waits for SIGINT or SIGTERM.
async fn interrupted() -> Result<()> {
    let (mut interrupt, mut terminate) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    anyhow::bail!("interrupted; nothing was written")
}
