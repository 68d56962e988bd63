//! The arguments of `init`.

use std::path::PathBuf;

use clap::Args;

/// Looks at a server and writes a first configuration file: backends, roles, a monitor account, an admin user
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  pilotfish init
  pilotfish init db1.example.com:3306 --user root --password file:/root/pw -o /etc/pilotfish/pilotfish.toml

What the flags do not say is asked for on the terminal.

Exit codes: 0 the file is written, 1 it is not, 2 the arguments are wrong.")]
pub struct InitArguments {
    /// A server: the primary, or any other that replicates with it
    #[arg(value_name = "HOST:PORT")]
    pub server: Option<String>,

    /// An account of the server that may look at replication, and create the monitor account
    #[arg(long, short, value_name = "NAME")]
    pub user: Option<String>,

    /// Its password; file:PATH and env:NAME say where it is
    #[arg(long, value_name = "TEXT")]
    pub password: Option<String>,

    /// The monitor account, which is created unless its password is given
    #[arg(long, value_name = "NAME", default_value = "pilotfish")]
    pub monitor_user: String,

    /// Password of a monitor account that is there already
    #[arg(long, value_name = "TEXT")]
    pub monitor_password: Option<String>,

    /// From which hosts the monitor account may log in
    #[arg(long, value_name = "HOST", default_value = "%")]
    pub monitor_host: String,

    /// Change nothing on the server: no monitor account is created
    #[arg(long)]
    pub no_monitor: bool,

    /// Where clients are to connect
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4040")]
    pub listen: config::ListenAddress,

    /// File to write, which must not be there yet
    #[arg(long, short, value_name = "FILE", default_value = "pilotfish.toml")]
    pub output: PathBuf,
}
