//! MySQL Proxy's replication client: the plugin `replicant` of version 0.8, and the reverse mode of the first versions.
//! It follows a server, or reads a file, and prints the statements that change objects.

use std::path::PathBuf;

use crate::Secret;

/// Why the client does not run together with the proxy.
pub(super) const NOT_ALONE: &str = "the replication client is a process of its own: give --plugins=replicant alone, or let \
                                    the proxy follow a cluster with [[replication]]";

/// The server of the first versions.
const ADDRESS: &str = "127.0.0.1:3306";

/// The account of the first versions.
const USERNAME: &str = "repl";

/// An option of the replication client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicantOption {
    /// The server to follow.
    Address,
    /// The port of a server on this machine.
    Port,
    /// The account.
    Username,
    /// Its password.
    Password,
    /// A file to read.
    ReadBinlogs,
    /// `reverse`
    Mode,
}

impl ReplicantOption {
    /// The option's meaning, for the manual.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Address => {
                "prints the statements that change objects, as this server executes them"
            }
            Self::Port => "the same of the server at this port of 127.0.0.1",
            Self::Username => "the account for that; default `repl`",
            Self::Password => "its password; default: none",
            Self::ReadBinlogs => {
                "prints the statements in this file that change objects: `pilotfish binlog --ddl`"
            }
            Self::Mode => "`reverse`: `--plugins=replicant`",
        }
    }
}

/// The options of the replication client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replicant {
    /// `--plugins` or `--mode` asks for the replication client.
    pub is_wanted: bool,
    /// The server.
    pub address: Option<String>,
    /// The account.
    pub username: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// The file.
    pub binlogs: Option<PathBuf>,
}

impl Replicant {
    /// Whether the program must run as the replication client.
    pub fn is_asked_for(&self) -> bool {
        self.is_wanted || self.address.is_some() || self.binlogs.is_some()
    }

    /// The server that it follows.
    pub fn address(&self) -> &str {
        self.address.as_deref().unwrap_or(ADDRESS)
    }

    /// The user with which it logs in.
    pub fn username(&self) -> &str {
        self.username.as_deref().unwrap_or(USERNAME)
    }

    pub(super) fn then(self, later: Self) -> Self {
        Self {
            is_wanted: self.is_wanted || later.is_wanted,
            address: later.address.or(self.address),
            username: later.username.or(self.username),
            password: later.password.or(self.password),
            binlogs: later.binlogs.or(self.binlogs),
        }
    }
}
