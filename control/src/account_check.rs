//! Asks for the accounts of a few users by name, over a connection that stays open.

use std::sync::Arc;
use std::time::Duration;

use auth::Account;
use auth::learned::query_of;
use tokio::time::{Instant, timeout};

use crate::account_loader::{Teacher, read_accounts};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::login::{Access, Entry};

/// How long one server may take. Logins wait for a shorter time.
const TIME_MAX: Duration = Duration::from_secs(2);

/// The longest time that a connection is used. An open connection does not notice that its account's privileges or
/// password have changed.
const AGE_MAX: Duration = Duration::from_secs(60);

/// A connection to ask over.
pub(crate) struct CheckLine {
    connection: Connection,
    opened: Instant,
    access: Arc<Access>,
    backend: String,
    endpoints: Vec<route::Endpoint>,
}

impl CheckLine {
    async fn open(access: &Arc<Access>, teacher: &Teacher) -> Result<CheckLine, Failure> {
        match access.log_in(&teacher.destination).await? {
            Entry::In(connection) => Ok(CheckLine {
                connection,
                opened: net::clock::now(),
                access: Arc::clone(access),
                backend: teacher.name.clone(),
                endpoints: teacher.destination.endpoints.clone(),
            }),
            Entry::Refused { text, .. } => Err(Failure::AccountRefused(text)),
        }
    }

    fn is_of_use(&self, access: &Arc<Access>, teacher: &Teacher) -> bool {
        Arc::ptr_eq(&self.access, access)
            && self.backend == teacher.name
            && self.endpoints == teacher.destination.endpoints
            && self.opened.elapsed() < AGE_MAX
    }

    async fn ask(&mut self, users: &[String]) -> Result<Vec<Account>, Failure> {
        let version = self.connection.version.clone();
        let query = query_of(&version, users);
        read_accounts(&self.access, &mut self.connection, &version, &query).await
    }

    /// Closes with COM_QUIT.
    pub(crate) async fn hang_up(self) {
        // The connection is closed in any case, so an error does not matter.
        let _ = timeout(TIME_MAX, self.connection.quit()).await;
    }
}

/// Asks the teachers in turn until one answers, over `line` if it leads there. Returns the line for the next question.
pub(crate) async fn check(
    access: &Arc<Access>,
    teachers: &[Teacher],
    mut line: Option<CheckLine>,
    users: &[String],
) -> (Option<Vec<Account>>, Option<CheckLine>) {
    for teacher in teachers {
        let kept = match line.take() {
            Some(kept) if kept.is_of_use(access, teacher) => Some(kept),
            Some(other) => {
                tokio::spawn(other.hang_up());
                None
            }
            None => None,
        };
        let asked = timeout(TIME_MAX, ask_teacher(access, teacher, kept, users)).await;
        match asked {
            Ok(Ok((accounts, line))) => return (Some(accounts), Some(line)),
            Ok(Err(failure)) => {
                let backend = &teacher.name;
                tracing::debug!(backend, cause = %failure, "accounts cannot be asked for by name");
            }
            Err(_) => {
                let backend = &teacher.name;
                tracing::debug!(backend, "a question for accounts has no answer in time");
            }
        }
    }
    (None, None)
}

/// Asks over the kept connection. If the backend has closed that, asks over a new one.
async fn ask_teacher(
    access: &Arc<Access>,
    teacher: &Teacher,
    kept: Option<CheckLine>,
    users: &[String],
) -> Result<(Vec<Account>, CheckLine), Failure> {
    if let Some(mut kept) = kept
        && let Ok(accounts) = kept.ask(users).await
    {
        return Ok((accounts, kept));
    }
    let mut line = CheckLine::open(access, teacher).await?;
    let accounts = line.ask(users).await?;
    Ok((accounts, line))
}
