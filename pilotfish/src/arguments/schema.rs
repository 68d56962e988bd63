//! The arguments of `schema`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Tells what the schemas of a cluster were, from the history that the proxy keeps (`schema_history.file`)
#[derive(Debug, Args)]
pub struct SchemaArguments {
    #[command(subcommand)]
    pub what: SchemaCommand,
}

#[derive(Debug, Subcommand)]
pub enum SchemaCommand {
    /// Prints what is different between two times, object by object
    Diff(SchemaDiffArguments),
}

#[derive(Debug, Args)]
pub struct SchemaDiffArguments {
    /// The cluster
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,

    /// The first time in UTC, as "2026-11-01 12:00"
    #[arg(long, value_name = "TIME")]
    pub from: String,

    /// The second time
    #[arg(long, value_name = "TIME", default_value = "now")]
    pub to: String,

    /// Only this schema
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,

    /// The proxy's settings
    #[arg(long, short, value_name = "FILE")]
    pub config: PathBuf,
}
