//! The limit on how long a statement may run.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::session::PooledSession;
use registry::session_control::{Ask, SessionControl};

/// The time after which a statement that was killed and still runs is killed again.
const KILL_AGAIN: Duration = Duration::from_secs(2);

/// A time limit for a statement. After that time, the statement is killed as by KILL QUERY.
pub(crate) struct Alarm {
    task: JoinHandle<()>,
    control: Rc<SessionControl>,
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.task.abort();
        self.control.withdraw(Ask::KillStatement);
    }
}

impl PooledSession {
    /// Starts the time limit of the current command, if a rule or a hint sets one.
    pub(crate) fn alarm(&self) -> Option<Alarm> {
        let limit = self.command.policy.as_ref()?.timeout?;
        let control = Rc::clone(&self.control);
        let id = self.identity.id();
        let task = tokio::task::spawn_local(async move {
            tokio::time::sleep(limit).await;
            tracing::info!(
                id,
                ?limit,
                "a statement runs for longer than it may, and is killed"
            );
            loop {
                control.kill_overdue();
                // If the server has not begun the statement by then, it forgets the kill.
                tokio::time::sleep(KILL_AGAIN).await;
            }
        });
        Some(Alarm {
            task,
            control: Rc::clone(&self.control),
        })
    }
}
