//! The arguments of `schema`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Tells what the schemas of a cluster were, from the history that the proxy keeps (`schema_history.file`)
#[derive(Debug, Args)]
pub struct SchemaArguments {
    #[command(subcommand)]
    pub command: SchemaCommand,
}

#[derive(Debug, Subcommand)]
pub enum SchemaCommand {
    /// Prints what is different between two times, object by object
    Diff(SchemaDiffArguments),
    /// Writes the history into a Git repository: a file for each object, a commit for each change
    Export(SchemaExportArguments),
}

#[derive(Debug, Args)]
pub struct SchemaExportArguments {
    /// The cluster
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,

    /// The repository. It is made if it is not there. If it is, the commits that it does not have yet are added
    #[arg(long, value_name = "FOLDER")]
    pub git: PathBuf,

    /// Only this schema
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,

    /// The proxy's settings
    #[arg(long, short, value_name = "FILE")]
    pub config: PathBuf,
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

    /// Prints SQL statements that lead from the first state to the second; comments say what they leave out
    #[arg(long)]
    pub sql: bool,

    /// Only this schema
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,

    /// The proxy's settings
    #[arg(long, short, value_name = "FILE")]
    pub config: PathBuf,
}
