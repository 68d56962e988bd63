//! The arguments of commands that ask a proxy that runs, over its admin port.

use std::path::PathBuf;

use clap::Args;

/// How to reach the admin port.
#[derive(Clone, Debug, Default, Args)]
pub struct AdminArguments {
    /// The proxy's settings, which say where its admin port is and who may come in
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The admin port [default: 127.0.0.1:4041, or what the settings say]
    #[arg(long, value_name = "HOST:PORT")]
    pub address: Option<String>,

    /// A user of the admin port [default: the first one of the settings]
    #[arg(long, short, value_name = "NAME")]
    pub user: Option<String>,

    /// Its password; file:PATH and env:NAME say where it is [default: that of the settings]
    #[arg(long, value_name = "TEXT")]
    pub password: Option<String>,

    /// Speak TLS; the port's certificate is not checked
    #[arg(long)]
    pub tls: bool,
}
