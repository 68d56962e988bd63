//! The arguments of `binlog`.

use std::path::PathBuf;

use clap::Args;

/// Prints the events of binary log files of MySQL and MariaDB; passwords and hashes in statements are masked
#[derive(Debug, Args)]
pub struct BinlogArguments {
    /// The files, in their order; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Only statements that create, alter, drop, rename or truncate something
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

    /// Begin with the first event at this position or behind it, in the first file
    #[arg(long, short = 'j', value_name = "POSITION", default_value_t = 0)]
    pub start_position: u64,

    /// End before the first event at this position or behind it, in the last file
    #[arg(long, value_name = "POSITION")]
    pub stop_position: Option<u64>,
}
