//! The arguments of `top`.

use std::time::Duration;

use clap::Args;

use super::AdminArguments;

/// Shows a proxy that runs: throughput, waiting, backends, digests, sessions, events; over its admin port
#[derive(Debug, Args)]
pub struct TopArguments {
    #[command(flatten)]
    pub admin: AdminArguments,

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
