//! Waits of a statement: for locks, for groups, for time. Each ends early if the statement is killed.

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::spawn_local;
use tokio::time::{Instant, timeout_at};

use super::ast::WaitPolicy;
use super::error::{SqlError, SqlResult};
use super::locks::{LockFailure, Mode, Resource, Span};
use super::model::Server;
use super::session::Session;

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The awaited event has happened.
    Come,
    /// The time was over.
    Over,
    /// The statement was killed.
    Killed,
}

/// How long a server waits before it looks again whether a full disk has room.
const LOOKS_FOR_ROOM: Duration = Duration::from_secs(60);

/// The longest wait that the timers take.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

impl Session {
    /// Waits until `is_there`, which is looked at whenever the connection is woken.
    pub async fn wait_until(&self, limit: Duration, mut is_there: impl FnMut() -> bool) -> Waited {
        let control = &self.control;
        let there = poll_fn(|_| match () {
            // A server that shuts down begins nothing more.
            () if control.ends().is_some() => Poll::Ready(Waited::Killed),
            () if is_there() => Poll::Ready(Waited::Come),
            () if control.is_to_stop() => Poll::Ready(Waited::Killed),
            () => Poll::Pending,
        });
        within(limit, there).await
    }

    /// Lets time pass.
    pub async fn sleep(&self, limit: Duration) -> Waited {
        self.wait_until(limit, || false).await
    }

    /// Before a commit of something written: a server whose binary log cannot grow waits until it can.
    ///
    /// # Errors
    /// The statement is killed. MariaDB then gives the transaction up with error 3; MySQL says error 1598 and ends, because
    /// its log would lack what its tables have.
    pub async fn await_room(&self) -> SqlResult<()> {
        if self.transaction.mark() == 0 {
            return Ok(());
        }
        if !self.server.state.is_full.get() {
            return Ok(());
        }
        let _waiting = WaitingCommit::of(&self.server);
        while self.server.state.is_full.get() {
            self.control.state.set("Waiting for someone to free space");
            let waited = self.sleep(LOOKS_FOR_ROOM).await;
            self.control.state.set("");
            if waited == Waited::Killed {
                return Err(self.give_up_writing());
            }
        }
        Ok(())
    }

    fn give_up_writing(&self) -> SqlError {
        let family = self.family();
        if family.is_mariadb() {
            let text =
                "Error writing file './binlog.000001' (Errcode: 28 \"No space left on device\")";
            return SqlError::new(family, 3, text);
        }
        let server = Rc::clone(&self.server);
        // The server ends after this reply.
        spawn_local(async move { server.crash() });
        let text = "Binary logging not possible. Message: An error occurred during flush stage of the commit. \
                    'binlog_error_action' is set to 'ABORT_SERVER'. Server is being stopped.";
        SqlError::new(family, 1598, text)
    }

    /// Locks something. Whether it is locked: with SKIP LOCKED it may not be.
    ///
    /// # Errors
    /// 1205, 1213 (then the transaction is rolled back), 1317, and what NOWAIT says.
    pub async fn lock(
        &mut self,
        resource: &Resource,
        mode: Mode,
        span: Span,
        policy: WaitPolicy,
    ) -> SqlResult<bool> {
        if self
            .server
            .locks
            .take(self.control.id, resource, mode, span)
        {
            return Ok(true);
        }
        let family = self.family();
        match policy {
            WaitPolicy::Wait => {}
            WaitPolicy::Skip => return Ok(false),
            WaitPolicy::Fail if family.is_mariadb() => return Err(family.lock_wait_timeout()),
            WaitPolicy::Fail => {
                let text = "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
                return Err(SqlError::new(family, 3572, text));
            }
        }
        let limit = match resource {
            Resource::Row(..) | Resource::Gaps(_) => self.settings.row_wait,
            _ => self.settings.table_wait,
        };
        match self.wait_for_lock(resource, mode, span, limit).await {
            Ok(()) => Ok(true),
            Err(LockFailure::Timeout) => Err(family.lock_wait_timeout()),
            Err(LockFailure::Deadlock) => {
                self.roll_back();
                Err(family.deadlock())
            }
            Err(LockFailure::Killed) => {
                self.check_killed()?;
                Err(family.interrupted())
            }
        }
    }

    /// Waits in the queue for a lock.
    ///
    /// # Errors
    /// Why it was not given.
    pub async fn wait_for_lock(
        &self,
        resource: &Resource,
        mode: Mode,
        span: Span,
        limit: Duration,
    ) -> Result<(), LockFailure> {
        let (server, control) = (&self.server, &self.control);
        let weight = |id: u32| server.connections.get(id).map_or(0, |it| it.weight.get());
        let request = server.locks.request(control, resource, mode, span, weight);
        let state = match resource {
            Resource::Name(_) => "User lock",
            Resource::Row(..) | Resource::Gaps(_) => "Updating",
            _ => "Waiting for table metadata lock",
        };
        control.state.set(state);
        // The request leaves the queue even if this future is dropped.
        let place = Place(Rc::clone(server), request);
        let request = &place.1;
        let waited = self
            .wait_until(limit, || request.is_granted() || request.gives_way())
            .await;
        control.state.set("");
        match waited {
            _ if request.is_granted() && control.ends().is_none() => Ok(()),
            Waited::Come => Err(LockFailure::Deadlock),
            Waited::Over => Err(LockFailure::Timeout),
            Waited::Killed => Err(LockFailure::Killed),
        }
    }
}

/// A commit that waits for room, as long as this lives.
struct WaitingCommit(Rc<Server>);

impl WaitingCommit {
    fn of(server: &Rc<Server>) -> Self {
        let count = &server.state.waiting_commits;
        count.set(count.get() + 1);
        Self(Rc::clone(server))
    }
}

impl Drop for WaitingCommit {
    fn drop(&mut self) {
        let count = &self.0.state.waiting_commits;
        count.set(count.get() - 1);
    }
}

/// A place in a queue, which is left when this is dropped.
struct Place(Rc<Server>, Rc<super::locks::LockRequest>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.locks.leave(&self.1);
    }
}

async fn within(limit: Duration, there: impl Future<Output = Waited>) -> Waited {
    let mut there = std::pin::pin!(there);
    let first = poll_fn(|context| Poll::Ready(there.as_mut().poll(context))).await;
    match first {
        Poll::Ready(waited) => waited,
        Poll::Pending if limit.is_zero() => Waited::Over,
        Poll::Pending => {
            let until = Instant::now() + limit.min(LONGEST);
            timeout_at(until, there).await.unwrap_or(Waited::Over)
        }
    }
}
