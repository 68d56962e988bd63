//! The attacking clients, and the proxy that they attack.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{half_statement, idle_transaction, whole_statement};
use crate::load::Target as Login;
use crate::run::backend::ATTACKER;
use crate::run::contestant::{Contestant, Place};
use crate::run::process::version_line;

/// Attackers at once: as many as the pool has connections.
const ATTACKERS: usize = 100;

/// The pause between two attempts of one attacker.
const PAUSE: Duration = Duration::from_millis(500);

/// The memory that the proxy may keep for its clients.
const MEMORY_MAX: &str = "256MiB";

/// The kind of attack.
#[derive(Clone, Copy)]
pub enum Attack {
    /// Compressed, each of 16 KB that would be 15 MiB; kept open.
    HalfStatements,
    /// Compressed, each of 16 KB that are 16 MiB; one behind the other.
    WholeStatements,
    /// Of one account, each with a row that it has written.
    IdleTransactions,
}

impl Attack {
    /// Returns the attack's name in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::HalfStatements => "100 compressed half statements",
            Self::WholeStatements => "100 connections with compressed statements",
            Self::IdleTransactions => "100 idle transactions of another account",
        }
    }
}

/// The attackers that run now.
pub struct Attackers(JoinSet<()>);

impl Attackers {
    /// Starts the attackers. If the proxy ends an attacker's session, the attacker begins again.
    pub fn start(attack: Attack, login: &Login) -> Self {
        let mut all = JoinSet::new();
        let login = Login {
            user: ATTACKER.to_owned(),
            ..login.clone()
        };
        for number in 0..ATTACKERS as u64 {
            let login = login.clone();
            all.spawn(async move {
                loop {
                    // Every failure is the proxy's defence.
                    match attack {
                        Attack::HalfStatements => drop(half_statement::keep(&login).await),
                        Attack::WholeStatements => {
                            drop(whole_statement::send(&login, number).await);
                        }
                        Attack::IdleTransactions => {
                            drop(idle_transaction::keep(&login, number).await);
                        }
                    }
                    sleep(PAUSE).await;
                }
            });
        }
        Self(all)
    }

    /// Ends the attackers.
    pub async fn stop(mut self) {
        self.0.shutdown().await;
    }
}

/// The proxy: it answers the logins of the well-behaved account and of the attackers' one. Apart from the bound of memory its
/// settings have their defaults.
pub struct Target(pub PathBuf);

impl Contestant for Target {
    fn name(&self) -> &str {
        "pilotfish"
    }

    fn version(&self) -> String {
        version_line(Command::new(&self.0).arg("--version"))
    }

    fn command(&self, place: &Place<'_>) -> io::Result<Command> {
        let backends = place.backends.iter();
        let backends: String = backends
            .map(|address| format!("[[backend]]\naddress = \"{address}\"\n"))
            .collect();
        let text = format!(
            "listen = [\"{}\"]\n{backends}[limits]\nmemory_bytes_max = \"{MEMORY_MAX}\"\n\
             [[account]]\nuser = \"bench\"\n[[account]]\nuser = \"{ATTACKER}\"\n",
            place.listen
        );
        let file = place.folder.join("pilotfish.toml");
        fs::write(&file, text)?;
        let mut command = Command::new(&self.0);
        command.arg("--config").arg(file);
        Ok(command)
    }
}
