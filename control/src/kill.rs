//! Kills statements that no client waits for any more: over one connection per backend at a time, which does all kills
//! that wait for the backend.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use route::{BackendId, KillReason, KillScope};
use wire::ErrPacket;

use crate::connection::Connection;
use crate::failure::{Failure, printable};
use crate::login::{Access, Destination, Entry};

/// One statement or connection to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kill {
    /// The id of the connection at its backend.
    pub thread_id: u32,
    /// Why the statement must not run on.
    pub why: KillReason,
}

impl fmt::Display for Kill {
    /// The KILL statement.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why.scope() {
            KillScope::Statement => write!(f, "KILL QUERY {}", self.thread_id),
            KillScope::Connection => write!(f, "KILL {}", self.thread_id),
        }
    }
}

/// The most kills that wait per backend. Each stands for a connection that was in use a moment ago, so more of them
/// wait only if the backend does not answer.
const WAITING_MAX: usize = 10_000;

/// The kills that wait, and the backends for which kills are under way.
#[derive(Debug, Default)]
pub(crate) struct Kills {
    waiting: BTreeMap<BackendId, Vec<Kill>>,
    running: BTreeSet<BackendId>,
}

impl Kills {
    /// Adds a kill to those of its backend.
    pub(crate) fn push(&mut self, backend: BackendId, kill: Kill) {
        let waiting = self.waiting.entry(backend).or_default();
        if waiting.len() < WAITING_MAX {
            waiting.push(kill);
        }
    }

    /// The next backend with waiting kills, if no kills are under way there; with all of them.
    pub(crate) fn begin(&mut self) -> Option<(BackendId, Vec<Kill>)> {
        let backend = *self
            .waiting
            .keys()
            .find(|backend| !self.running.contains(backend))?;
        let kills = self.waiting.remove(&backend)?;
        self.running.insert(backend);
        Some((backend, kills))
    }

    /// Notes that the kills begun for this backend are done or given up.
    pub(crate) fn end(&mut self, backend: BackendId) {
        self.running.remove(&backend);
    }

    /// Whether no kill waits or is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }
}

/// Does all of these kills, and tells the log the results.
pub(crate) async fn kill_all(
    access: &Access,
    backend: &str,
    destination: &Destination,
    kills: &[Kill],
) {
    let count = kills.len();
    match try_all(access, backend, destination, kills).await {
        Ok(()) => tracing::debug!(backend, count, "kills are done"),
        Err(cause) => {
            tracing::warn!(
                backend,
                count,
                cause,
                "the proxy could not kill statements that no client waits for; they may run on at the backend"
            );
        }
    }
}

async fn try_all(
    access: &Access,
    backend: &str,
    destination: &Destination,
    kills: &[Kill],
) -> Result<(), String> {
    let entry = access.log_in(destination).await;
    let mut connection = match entry.map_err(|failure| failure.to_string())? {
        Entry::In(connection) => connection,
        Entry::Refused { text, .. } => return Err(text),
    };
    for kill in kills {
        let done = access
            .in_time(run_kill(&mut connection, backend, *kill))
            .await;
        done.map_err(|failure| failure.to_string())?;
    }
    connection.quit().await;
    Ok(())
}

/// ER_NO_SUCH_THREAD: the connection has ended already.
const NO_SUCH_THREAD: u16 = 1094;

async fn run_kill(connection: &mut Connection, backend: &str, kill: Kill) -> Result<(), Failure> {
    let reply = connection.execute(&kill.to_string()).await?;
    let (thread_id, why) = (kill.thread_id, kill.why);
    match ErrPacket::decode(&reply) {
        Err(_) => {
            tracing::info!(kind = "statement_killed", backend, thread_id, %why, "statement killed")
        }
        Ok(err) if err.number == NO_SUCH_THREAD => {
            tracing::debug!(backend, thread_id, %why, "statement had ended");
        }
        Ok(err) => {
            let cause = printable(err.text);
            tracing::warn!(backend, thread_id, %why, error = err.number, cause, "a backend has refused to kill a statement; it may run on there");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: BackendId = BackendId(0);
    const B: BackendId = BackendId(1);

    fn kill(thread_id: u32) -> Kill {
        Kill {
            thread_id,
            why: KillReason::ClientGone,
        }
    }

    #[test]
    fn kills_of_a_backend_are_batched_and_run_one_batch_at_a_time() {
        let mut kills = Kills::default();
        kills.push(A, kill(1));
        kills.push(A, kill(2));
        assert_eq!(kills.begin(), Some((A, vec![kill(1), kill(2)])));
        kills.push(A, kill(3));
        kills.push(B, kill(4));
        assert_eq!(kills.begin(), Some((B, vec![kill(4)])));
        assert_eq!(kills.begin(), None);
        kills.end(A);
        assert_eq!(kills.begin(), Some((A, vec![kill(3)])));
        kills.end(A);
        kills.end(B);
        assert!(kills.is_idle());
    }

    #[test]
    fn waiting_kills_of_a_backend_are_bounded() {
        let mut kills = Kills::default();
        for thread_id in 0..20_000 {
            kills.push(A, kill(thread_id));
        }
        assert_eq!(kills.begin().unwrap().1.len(), WAITING_MAX);
    }

    #[test]
    fn a_statement_over_its_time_is_killed_without_its_session() {
        let over_time = Kill {
            thread_id: 7,
            why: KillReason::OverTime,
        };
        assert_eq!(over_time.to_string(), "KILL QUERY 7");
        assert_eq!(kill(7).to_string(), "KILL 7");
    }
}
