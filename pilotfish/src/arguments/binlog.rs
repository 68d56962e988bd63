//! The arguments of `binlog`.

use std::path::PathBuf;

use clap::Args;

/// Prints the events of binary log files of MySQL and MariaDB, or of a cluster as they come; passwords and hashes in statements are masked
#[derive(Debug, Default, Args)]
pub struct BinlogArguments {
    /// The files, in their order; `-` is standard input. With --config the name of a cluster, whose primary is
    /// followed from now on, with the account of its [[replication]]
    #[arg(value_name = "FILE|CLUSTER", required = true)]
    pub files: Vec<PathBuf>,

    /// Only statements that create, alter, drop, rename or truncate something, or change privileges
    #[arg(long)]
    pub ddl: bool,

    /// A JSON object a line for each event
    #[arg(long)]
    pub json: bool,

    /// Only statements and rows of this schema
    #[arg(long, short, value_name = "NAME")]
    pub database: Option<String>,

    /// Only statements and rows of the tables of this name
    #[arg(long, short, value_name = "NAME")]
    pub table: Option<String>,

    /// The proxy's settings, to follow a cluster
    #[arg(long, short, value_name = "FILE", requires = "server_id", conflicts_with_all = ["start_position", "stop_position"])]
    pub config: Option<PathBuf>,

    /// As which replica to follow: an id that no other replica, and no proxy, has
    #[arg(long, value_name = "ID", requires = "config")]
    pub server_id: Option<u32>,

    /// Begin with the first event at this position or behind it, in the first file
    #[arg(long, short = 'j', value_name = "POSITION", default_value_t = 0)]
    pub start_position: u64,

    /// End before the first event at this position or behind it, in the last file
    #[arg(long, value_name = "POSITION")]
    pub stop_position: Option<u64>,
}
