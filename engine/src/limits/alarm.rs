//! The limit on how long a statement may run.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::session::PooledSession;
use registry::session_control::{Ask, SessionControl};

/// After which a statement is killed once more that has had its time, was killed, and still runs.
const KILL_AGAIN: Duration = Duration::from_secs(2);

/// A bound of time for a statement: when it is over, the statement is killed as KILL QUERY does it.
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
    /// Bounds what is sent now, where a rule or hint says so.
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
                // A server that had not begun by then forgets a kill.
                tokio::time::sleep(KILL_AGAIN).await;
            }
        });
        Some(Alarm {
            task,
            control: Rc::clone(&self.control),
        })
    }
}
