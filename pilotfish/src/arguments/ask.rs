//! The arguments of those who only ask: `explain`, `plan`, `probe` and `health`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use config::{Day, ListenAddress, TimeOfDay};

/// Tells where a statement would go, and why; no server is asked
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// The statement
    #[arg(value_name = "STATEMENT")]
    pub statement: String,

    /// The proxy's settings [default: no rule, no backend]
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    pub asker: AskerArguments,
}

/// Tells what a reload to another file would change, and which statements it would send elsewhere
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// The settings to come
    #[arg(value_name = "NEW.toml")]
    pub new: PathBuf,

    /// The settings that hold
    #[arg(long, short, value_name = "FILE")]
    pub config: PathBuf,

    /// Statements or digests to look at besides those in rules and their tests, one a line;
    /// `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub statements: Option<PathBuf>,

    #[command(flatten)]
    pub asker: AskerArguments,
}

/// Asks every backend how it is: its role, its lag, and what the monitor account may not ask
#[derive(Debug, Args)]
pub struct ProbeArguments {
    /// The proxy's settings
    #[arg(long, short, value_name = "FILE")]
    pub config: PathBuf,
}

/// Asks the HTTP port of a proxy on this machine whether it answers, for the health check of a container
#[derive(Debug, Args)]
pub struct HealthArguments {
    /// The proxy's settings
    #[arg(long, short, value_name = "FILE")]
    pub config: PathBuf,
}

/// Who sends a statement, and when.
#[derive(Debug, Clone, Args)]
pub struct AskerArguments {
    /// The name with which the client has logged in
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,

    /// The session's default schema
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,

    /// The client's address [default: a Unix socket]
    #[arg(long, value_name = "ADDRESS")]
    pub client: Option<IpAddr>,

    /// Where the client has connected
    #[arg(long, value_name = "ADDRESS", value_parser = listener)]
    pub listener: Option<ListenAddress>,

    /// A tag besides those in the statement, NAME or KEY=VALUE; may be given several times
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,

    /// The local time of day
    #[arg(long, value_name = "HH:MM", value_parser = time, default_value = "12:00")]
    pub time: TimeOfDay,

    /// The day of the week
    #[arg(long, value_name = "DAY", value_parser = day, default_value = "mon")]
    pub day: Day,
}

fn listener(text: &str) -> Result<ListenAddress, String> {
    text.parse()
        .map_err(|error: config::AddressError| error.to_string())
}

fn time(text: &str) -> Result<TimeOfDay, String> {
    text.parse().map_err(str::to_owned)
}

fn day(text: &str) -> Result<Day, String> {
    let found = Day::ALL.iter().find(|it| it.name() == text);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = Day::ALL.iter().map(|it| it.name()).collect();
        format!("must be one of {}", names.join(", "))
    })
}
