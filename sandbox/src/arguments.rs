//! The options of `pilotfish sandbox`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use config::ListenAddress;

/// Starts a private primary with replicas, and the proxy in front of them; Ctrl-C removes it all
#[derive(Debug, Args)]
pub struct SandboxArguments {
    /// Empty or new folder for the servers, removed at the end [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,

    /// Replicas behind the primary
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = replicas)]
    pub replicas: usize,

    /// Address for clients [default: 127.0.0.1:4040, or a free port]
    #[arg(long, value_name = "ADDRESS", value_parser = tcp_address)]
    pub listen: Option<SocketAddr>,

    /// Server program to start, mariadbd or mysqld [default: the one this machine has]
    #[arg(long, value_name = "FILE")]
    pub server: Option<PathBuf>,

    /// A few clients that use the servers all the time, so that there is something to see
    #[arg(long)]
    pub load: bool,

    /// Follow the primary, and keep the history of its schemas
    #[arg(long)]
    pub schema_history: bool,
}

fn replicas(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(replicas) if replicas <= 9 => Ok(replicas),
        _ => Err("must be from 0 to 9".to_owned()),
    }
}

fn tcp_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse() {
        Ok(ListenAddress::Tcp(address)) => Ok(address),
        Ok(ListenAddress::Unix(_)) => Err("the sandbox listens on a TCP port".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
