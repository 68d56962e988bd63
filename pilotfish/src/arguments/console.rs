//! The arguments of commands that look at a proxy that runs, and change it.

use clap::{Args, Subcommand};

use super::AdminArguments;

/// How an answer looks.
#[derive(Clone, Debug, Default, Args)]
pub struct ConsoleArguments {
    #[command(flatten)]
    pub admin: AdminArguments,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// A command for a proxy that runs.
#[derive(Clone, Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub enum Console {
    /// Says in a few lines whether all is well: backends, sessions, statements, changes that are not saved
    #[command(after_help = "\
Example:
  pilotfish status -c /etc/pilotfish/pilotfish.toml

Exit codes: 0 all is well, 1 some backend is not, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Status(ConsoleArguments),

    /// Lists the backends: state, role, lag, sessions, latency
    #[command(after_help = "\
Example:
  pilotfish backends -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Backends(ConsoleArguments),

    /// Lists the sessions, those that wait or run longest first
    #[command(after_help = "\
Example:
  pilotfish sessions -c pilotfish.toml --limit 20

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Sessions {
        #[command(flatten)]
        console: ConsoleArguments,
        /// How many to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
    },

    /// Lists pooled connections by backend and account
    #[command(after_help = "\
Example:
  pilotfish pools -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Pools(ConsoleArguments),

    /// Lists digests, those that took the most time first
    #[command(after_help = "\
Example:
  pilotfish digests -c pilotfish.toml --limit 10 --json

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Digests {
        #[command(flatten)]
        console: ConsoleArguments,
        /// How many to list
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },

    /// Lists the rules with their hits
    #[command(after_help = "\
Example:
  pilotfish rules -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Rules(ConsoleArguments),

    /// Lets a backend become free: no new sessions and statements, what runs there ends in its own time
    #[command(after_help = "\
Example:
  pilotfish drain db2 -c pilotfish.toml
  pilotfish drain db2 --undo -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Drain(BackendArguments),

    /// Takes a backend out of use: all that runs there ends at once
    #[command(after_help = "\
Example:
  pilotfish disable db2 -c pilotfish.toml
  pilotfish disable db2 --undo -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Disable(BackendArguments),

    /// Ends a session, or only its statement
    #[command(after_help = "\
Example:
  pilotfish kill 1073741824 -c pilotfish.toml
  pilotfish kill 1073741824 --query -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Kill {
        /// The session, as `pilotfish sessions` lists it
        #[arg(value_name = "ID")]
        id: u64,
        /// End its statement only
        #[arg(long)]
        query: bool,
        #[command(flatten)]
        console: ConsoleArguments,
    },

    /// Reads the file again; what was changed and not saved is given up
    #[command(after_help = "\
Example:
  pilotfish reload -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Reload(ConsoleArguments),

    /// Changes a setting at once
    #[command(after_help = "\
Example:
  pilotfish set limits.sessions_max 5000 -c pilotfish.toml --save

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Set {
        /// The setting, such as limits.sessions_max
        #[arg(value_name = "NAME")]
        name: String,
        /// Its value, as the file has it without quotes
        #[arg(value_name = "VALUE")]
        value: String,
        /// Write it into the file as well
        #[arg(long)]
        save: bool,
        #[command(flatten)]
        console: ConsoleArguments,
    },

    /// Lists settings whose names have a text in them, or all
    #[command(after_help = "\
Example:
  pilotfish settings timeout -c pilotfish.toml
  pilotfish settings --changed -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    Settings {
        /// A part of the names
        #[arg(value_name = "TEXT")]
        part: Option<String>,
        /// Only those that are not at their default
        #[arg(long)]
        changed: bool,
        #[command(flatten)]
        console: ConsoleArguments,
    },

    /// Shows the level of the log, or changes it at once
    #[command(after_help = "\
Example:
  pilotfish log-level debug -c pilotfish.toml

Exit codes: 0 done, 1 refused, 2 the arguments are wrong, 3 the admin port cannot be reached.")]
    LogLevel {
        /// error, warning, info, debug or trace
        #[arg(value_name = "LEVEL", value_parser = ["error", "warning", "info", "debug", "trace"])]
        level: Option<String>,
        #[command(flatten)]
        console: ConsoleArguments,
    },
}

/// A backend to drain or disable.
#[derive(Clone, Debug, Args)]
pub struct BackendArguments {
    /// The backend's name
    #[arg(value_name = "BACKEND")]
    pub backend: String,
    /// Take it back into use
    #[arg(long)]
    pub undo: bool,
    /// Write it into the file as well
    #[arg(long)]
    pub save: bool,
    #[command(flatten)]
    pub console: ConsoleArguments,
}

impl Console {
    /// How to reach the proxy, and how to print.
    pub fn common(&self) -> &ConsoleArguments {
        match self {
            Self::Status(console)
            | Self::Backends(console)
            | Self::Pools(console)
            | Self::Rules(console)
            | Self::Reload(console)
            | Self::Sessions { console, .. }
            | Self::Digests { console, .. }
            | Self::Kill { console, .. }
            | Self::Set { console, .. }
            | Self::Settings { console, .. }
            | Self::LogLevel { console, .. } => console,
            Self::Drain(one) | Self::Disable(one) => &one.console,
        }
    }
}
