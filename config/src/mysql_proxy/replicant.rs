//! MySQL Proxy's replication client: the plugin `replicant` of version 0.8, and the reverse mode of the first versions.
//! It follows a server, or reads a file, and prints the statements that change objects.

use std::path::PathBuf;

use super::{Translation, with_mysql_port};
use crate::{Fault, Override, PRIMARIES, REPLICAS, Secret, SourceLocation};

/// Why the client is not beside the proxy.
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
    /// What it means, for the manual.
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

/// What the options of the replication client say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replicant {
    /// It is asked for by `--plugins` or `--mode`.
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
    /// Whether the program is to be the replication client.
    pub fn is_asked_for(&self) -> bool {
        self.is_wanted || self.address.is_some() || self.binlogs.is_some()
    }

    /// The server that it follows.
    pub fn address(&self) -> &str {
        self.address.as_deref().unwrap_or(ADDRESS)
    }

    /// As whom.
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

impl Translation {
    pub(super) fn set_replicant(
        &mut self,
        option: ReplicantOption,
        (name, place): (&str, &SourceLocation),
        words: &[String],
    ) {
        let Some(word) = words.last() else {
            return;
        };
        let mut refuse = |text| self.faults.push(Fault::new(place.clone(), name, text));
        let replicant = &mut self.replicant;
        match option {
            ReplicantOption::Address => replicant.address = Some(with_mysql_port(word)),
            ReplicantOption::Port => match word.parse::<u16>() {
                Ok(port) if port > 0 => replicant.address = Some(format!("127.0.0.1:{port}")),
                _ => refuse("must be a port from 1 to 65535"),
            },
            ReplicantOption::Username => replicant.username = Some(word.clone()),
            ReplicantOption::Password => replicant.password = Some(Secret::new(word.as_str())),
            ReplicantOption::ReadBinlogs => replicant.binlogs = Some(PathBuf::from(word)),
            ReplicantOption::Mode if word == "reverse" => replicant.is_wanted = true,
            ReplicantOption::Mode => refuse("must be \"reverse\"; leave it out for the proxy"),
        }
    }

    /// Settings with the server that the replication client follows as the one backend.
    pub fn follow_source(&mut self) {
        let replicant = &self.replicant;
        if !replicant.is_asked_for() {
            let account = [
                ("--replicant-username", replicant.username.is_some()),
                ("--replicant-password", replicant.password.is_some()),
            ];
            if let Some((name, _)) = account.into_iter().find(|(_, is_given)| *is_given) {
                let text = "there is no server to follow: add --replicant-master-address";
                let place = SourceLocation::COMMAND_LINE;
                self.faults.push(Fault::new(place, name, text));
            }
            return;
        }
        let of_proxy = [PRIMARIES, REPLICAS, "listen"];
        for given in self
            .overrides
            .iter()
            .filter(|it| of_proxy.contains(&it.setting))
        {
            let fault = Fault::new(given.place.clone(), &*given.name, NOT_ALONE);
            self.faults.push(fault);
        }
        self.overrides.push(Override {
            setting: PRIMARIES,
            name: "--replicant-master-address".to_owned(),
            place: SourceLocation::COMMAND_LINE,
            words: vec![replicant.address().to_owned()],
        });
    }
}
