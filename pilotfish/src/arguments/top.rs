//! The arguments of `top`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Shows a proxy that runs: throughput, waiting, backends, digests, sessions, events; over its admin port
#[derive(Debug, Args)]
pub struct TopArguments {
    /// The proxy's settings, which say where its admin port is and who may come in
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The admin port [default: 127.0.0.1:4041, or what the settings say]
    #[arg(long, value_name = "HOST:PORT")]
    pub address: Option<String>,

    /// A user of the admin port [default: admin.username of the settings]
    #[arg(long, short, value_name = "NAME")]
    pub user: Option<String>,

    /// Its password; file:PATH and env:NAME say where it is [default: that of the settings]
    #[arg(long, value_name = "TEXT")]
    pub password: Option<String>,

    /// Whether TLS is spoken; the port's certificate is not looked at
    #[arg(long)]
    pub tls: bool,

    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
}

fn interval(text: &str) -> Result<Duration, String> {
    let least = Duration::from_millis(100);
    match config::read_duration(text) {
        Some(interval) if interval >= least => Ok(interval),
        _ => Err("must be a time such as 1s, 100ms at least".to_owned()),
    }
}
