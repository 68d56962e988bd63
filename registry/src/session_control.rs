//! The cells by which a worker observes each of its sessions and asks a session to end.
//!
//! A session writes a few cells during its work; the worker's sweep reads them once a second. So a
//! statement needs neither a timer nor a system call.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use auth::AccountId;
use route::BackendId;
use session::state::{Pins, Values};
use wire::{StatusFlags, errors};

use crate::session_info::{SessionInfo, SessionKind};
use link::failure::{Failure, FailureKind};
use link::memory::MemoryShare;

/// Why a worker asks a session to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// The proxy ends now.
    Stop = 1,
    /// The session waits for a backend that is down.
    BackendDown = 2,
    /// The session was idle for too long.
    IdleTimeout = 4,
    /// The proxy ends as soon as the session is at rest: no exchange and no transaction.
    Drain = 8,
    /// The session's statement should be killed.
    KillStatement = 16,
    /// The session should be killed.
    KillSession = 32,
    /// The session was idle for longer than its own `wait_timeout`.
    WaitTimeout = 64,
    /// The session's statement should be killed, and it is a hook that waits.
    EndHook = 128,
    /// The backend that the session uses was disabled.
    BackendDisabled = 256,
    /// The client has closed its side of the connection, and the statement has gone on for as long as it may after
    /// that.
    ClientGone = 512,
    /// The role of the backend that the session uses has changed.
    RoleChanged = 1024,
    /// The session's transaction was idle for too long.
    IdleTransaction = 2048,
    /// Other sessions wait for the connection that the session keeps.
    GiveUpKept = 4096,
}

/// The event that a hook of the session's script waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HookWait {
    /// No hook waits.
    #[default]
    None,
    /// The reply to a statement in the session itself.
    Reply,
    /// Something else: no statement runs on the session's connection, if it has one.
    Aside,
}

/// All that a session is asked at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests(u16);

impl Requests {
    /// Whether the session is asked this.
    pub fn contains(self, ask: Ask) -> bool {
        self.0 & ask as u16 != 0
    }

    /// Whether the session is asked nothing.
    pub fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Returns the end that is asked of a session between two commands, if it has to end now; `is_free`: no
    /// transaction is open.
    pub fn end(self, is_at_rest: bool, is_free: bool) -> Option<Failure> {
        let stops = self.contains(Ask::Stop) || self.contains(Ask::Drain);
        Some(if self.contains(Ask::KillSession) {
            Failure::new(FailureKind::Killed, "Connection was killed")
        } else if self.contains(Ask::ClientGone) {
            let cause = "the client has closed the connection, and does not take its reply";
            Failure::new(FailureKind::ClientLost, cause)
        } else if is_at_rest && is_free && stops {
            Failure::new(FailureKind::Drained, errors::shutting_down())
        } else if self.contains(Ask::Stop) {
            let error = errors::shutting_down_within("the transaction");
            Failure::saying(FailureKind::Stopped, error)
        } else if self.contains(Ask::IdleTimeout) && is_at_rest {
            Failure::saying(FailureKind::IdleTimeout, errors::idle_timeout())
        } else {
            return None;
        })
    }
}

/// The current activity of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It waits for a command.
    Idle,
    /// It executes a command.
    Running,
}

/// A connection that a session keeps between commands.
#[derive(Debug, Clone, Copy)]
struct KeptConnection {
    pins: Pins,
    /// When it began to keep the connection, in the worker's seconds.
    since: u32,
}

/// When bytes moved in a session, in the worker's seconds.
#[derive(Default)]
struct Movement {
    /// Whether the session is between two exchanges.
    idle: Cell<bool>,
    /// When bytes last moved.
    active: Cell<u32>,
    /// When bytes last moved before the last exchange began, if there was an exchange before.
    rested: Cell<Option<u32>>,
    /// When the last exchange began.
    began: Cell<u32>,
    /// When the client closed its side of the connection.
    half_closed: Cell<Option<u32>>,
}

/// The cells of one session.
#[derive(Default)]
pub struct SessionControl {
    movement: Movement,
    /// The backend of its statements, once the session has logged in.
    backend: Cell<Option<BackendId>>,
    /// The longest idle time by the session's own `wait_timeout`, in seconds; 0: without limit.
    wait_timeout: Cell<u32>,
    asked: Cell<Requests>,
    waker: RefCell<Option<Waker>>,
    /// The digest of its current or last statement; 0: not known.
    digest: Cell<u64>,
    /// The id at the backend of a pooled session's connection; 0: no connection of its own.
    thread: Cell<u32>,
    /// When its statement was last asked to be killed.
    killed: Cell<Duration>,
    /// The flags of the last reply.
    status: Cell<StatusFlags>,
    /// The connection that a pooled session keeps, if it keeps one.
    kept: Cell<Option<KeptConnection>>,
    /// The schema and variables of a pooled session.
    values: RefCell<Option<Rc<Values>>>,
    /// What a hook waits for, and the id at the backend of the connection that the session has
    /// meanwhile; 0: no connection of its own.
    hook: Cell<(HookWait, u32)>,
    /// The memory that the session keeps.
    pub memory: Arc<MemoryShare>,
    info: RefCell<Option<Box<SessionInfo>>>,
}

impl SessionControl {
    /// Notes whether the session is idle, at this second.
    pub fn note(&self, second: u32, idle: bool) {
        if self.movement.idle.replace(idle) && !idle {
            self.movement.rested.set(Some(self.movement.active.get()));
            self.movement.began.set(second);
        }
        self.movement.active.set(second);
    }

    /// Returns for how many seconds nothing has come from the backend; the current command's own time does not count.
    pub fn unheard_seconds(&self, second: u32) -> Option<u32> {
        let active = self.movement.active.get();
        let heard = match self.movement.idle.get() || active != self.movement.began.get() {
            true => Some(active),
            false => self.movement.rested.get(),
        };
        heard.map(|heard| second.saturating_sub(heard))
    }

    /// Notes the flags that the client was told last.
    pub fn stand(&self, status: StatusFlags) {
        self.status.set(status);
    }

    /// Notes the schema and variables of a pooled session; they seldom change.
    pub fn note_values(&self, values: &Rc<Values>) {
        let mut known = self.values.borrow_mut();
        if !known
            .as_ref()
            .is_some_and(|known| Rc::ptr_eq(known, values))
        {
            *known = Some(Rc::clone(values));
        }
    }

    /// Notes that a pooled session keeps its connection between commands, for these reasons; `None`: it keeps none.
    pub fn hold(&self, pins: Option<Pins>) {
        if pins.is_none() {
            self.thread.set(0);
        }
        let since = self
            .kept
            .get()
            .map_or(self.movement.active.get(), |kept| kept.since);
        self.kept
            .set(pins.map(|pins| KeptConnection { pins, since }));
    }

    /// Notes that a hook waits from now on: the session is within a command.
    pub fn hook_waits(&self, second: u32, wait: HookWait, thread_id: u32) {
        self.withdraw(Ask::EndHook);
        self.hook.set((wait, thread_id));
        self.note(second, false);
    }

    /// Notes that the hook has what it waited for. Returns false if the hook has to end.
    pub fn hook_goes_on(&self, second: u32) -> bool {
        let is_to_end = self.asked.get().contains(Ask::EndHook);
        self.hook.set((HookWait::None, self.hook.get().1));
        if is_to_end {
            // The same request has asked for both.
            self.withdraw(Ask::KillStatement);
        }
        self.withdraw(Ask::EndHook);
        self.note(second, false);
        !is_to_end
    }

    /// Whether a hook waits. If so, only the hook can be killed.
    pub fn has_waiting_hook(&self) -> bool {
        self.hook.get().0 != HookWait::None
    }

    /// Whether a hook waits in the session that has this connection.
    pub fn has_waiting_hook_at(&self, backend: BackendId, thread_id: u32) -> bool {
        self.has_waiting_hook()
            && self.hook.get().1 == thread_id
            && self.backend.get() == Some(backend)
    }

    /// Asks the session to end its statement, as KILL QUERY does. `said`: the time of the request.
    pub fn kill_statement(&self, said: Duration) {
        self.killed.set(said);
        self.ask(Ask::KillStatement);
        if self.has_waiting_hook() {
            self.ask(Ask::EndHook);
        }
    }

    /// Asks the session to end a statement that takes longer than it may, but not a hook that waits for the statement.
    pub fn kill_overdue(&self) {
        self.killed.set(Duration::MAX);
        self.ask(Ask::KillStatement);
    }

    /// Stores the session's description.
    pub fn introduce(&self, info: SessionInfo) {
        *self.info.borrow_mut() = Some(Box::new(info));
    }

    /// Changes the session's description.
    pub fn change_info(&self, change: impl FnOnce(&mut SessionInfo)) {
        if let Some(info) = self.info.borrow_mut().as_mut() {
            change(info);
        }
    }

    /// Returns the session's description; `None` before the client's address is known.
    pub fn info(&self) -> Option<SessionInfo> {
        self.info.borrow().as_deref().cloned()
    }

    /// Returns what the session does at `second`, and for how many seconds.
    pub fn activity(&self, second: u32) -> (Activity, u32) {
        let activity = match self.movement.idle.get() {
            true => Activity::Idle,
            false => Activity::Running,
        };
        // The clock counts whole seconds: only this many have passed for certain.
        let over = second.saturating_sub(self.movement.active.get());
        (activity, over.saturating_sub(1))
    }

    /// Notes the digest of a statement that begins; 0 if it has none.
    pub fn set_digest(&self, digest: u64) {
        self.digest.set(digest);
    }

    /// Returns the digest of the statement; 0: not known.
    pub fn digest(&self) -> u64 {
        self.digest.get()
    }

    /// Returns the flags of the last reply.
    pub fn status(&self) -> StatusFlags {
        self.status.get()
    }

    /// Returns the reasons why the session keeps its connection; `None`: it keeps none.
    pub fn pins(&self) -> Option<Pins> {
        self.kept.get().map(|kept| kept.pins)
    }

    /// Returns for how many seconds the session has kept its connection between commands, if it keeps one.
    pub fn kept_seconds(&self, second: u32) -> Option<u32> {
        let kept = self.kept.get()?;
        Some(second.saturating_sub(kept.since))
    }

    /// Returns the account of a pooled session.
    pub fn account(&self) -> Option<AccountId> {
        let info = self.info.borrow();
        let info = info.as_ref()?;
        let is_pooled = matches!(info.kind, SessionKind::Pooled(_));
        info.account.clone().filter(|_| is_pooled)
    }

    /// Returns the default schema of a pooled session.
    pub fn schema(&self) -> Option<String> {
        let values = self.values.borrow();
        let schema = values.as_ref()?.schema()?;
        Some(String::from_utf8_lossy(schema).into_owned())
    }

    /// Returns the backend of the session's commands.
    pub fn backend(&self) -> Option<BackendId> {
        self.backend.get()
    }

    /// Notes the backend of the session's next commands.
    pub fn settle(&self, backend: BackendId) {
        self.backend.set(Some(backend));
    }

    /// Notes the backend of the session's next commands, and the id there of the pooled connection.
    pub fn settle_at(&self, backend: BackendId, thread_id: u32) {
        self.settle(backend);
        self.thread.set(thread_id);
    }

    /// Notes that the session has no backend until its next command.
    pub fn unsettle(&self) {
        self.backend.set(None);
        self.thread.set(0);
    }

    /// Returns the id of the session's last pooled connection; 0: none.
    pub fn thread(&self) -> u32 {
        self.thread.get()
    }

    /// Returns for how many seconds the session has been between two exchanges; 0 during an exchange or a login.
    pub fn idle_seconds(&self, second: u32) -> u32 {
        match self.movement.idle.get() {
            true => second.saturating_sub(self.movement.active.get()),
            false => 0,
        }
    }

    /// Notes the session's own `wait_timeout`, as far as the proxy knows it.
    pub fn may_wait(&self, timeout: Option<Duration>) {
        let seconds = timeout.map_or(0, |timeout| timeout.as_secs());
        self.wait_timeout
            .set(u32::try_from(seconds).unwrap_or(u32::MAX));
    }

    /// Whether the session's own `wait_timeout` is known.
    pub fn knows_wait_timeout(&self) -> bool {
        self.wait_timeout.get() > 0
    }

    /// Returns how long the session's transactions may be idle: by its account, or its listener, or in general. Zero:
    /// no limit.
    pub fn timeout_idle_transaction(&self, in_general: Duration) -> Duration {
        let info = self.info.borrow();
        let own = info.as_ref().and_then(|info| {
            (info.timeout_idle_transaction).or(info.listener.timeout_idle_transaction)
        });
        own.unwrap_or(in_general)
    }

    /// Whether the session's transaction has been idle for longer than it may.
    pub fn has_idle_transaction(&self, second: u32, in_general: Duration) -> bool {
        let idle = Duration::from_secs(u64::from(self.idle_seconds(second)));
        if idle.is_zero() || !self.status.get().contains(StatusFlags::IN_TRANS) {
            return false;
        }
        let limit = self.timeout_idle_transaction(in_general);
        !limit.is_zero() && idle > limit
    }

    /// Withdraws the requests that were made because the client was silent.
    pub fn has_spoken(&self) {
        self.withdraw(Ask::IdleTransaction);
        self.withdraw(Ask::GiveUpKept);
        self.withdraw(Ask::IdleTimeout);
        self.withdraw(Ask::WaitTimeout);
    }

    /// Whether the session has been idle for longer than its own `wait_timeout`.
    pub fn has_waited_too_long(&self, second: u32) -> bool {
        let limit = self.wait_timeout.get();
        limit > 0 && self.idle_seconds(second) > limit
    }

    /// The same check by a server's clock, which may be a little ahead of the proxy's.
    pub fn is_about_to_wait_too_long(&self, second: u32) -> bool {
        self.has_waited_too_long(second.saturating_add(2))
    }

    /// Notes that the client has closed its side of the connection, and may still read its reply.
    pub fn client_closes(&self, second: u32) {
        if self.movement.half_closed.get().is_none() {
            self.movement.half_closed.set(Some(second));
        }
    }

    /// Returns for how many seconds no bytes have moved since the client closed its side of the connection.
    pub fn half_closed_seconds(&self, second: u32) -> Option<u32> {
        let closed = self.movement.half_closed.get()?;
        Some(second.saturating_sub(closed.max(self.movement.active.get())))
    }

    /// Returns the backend for which an exchange waits, and for how many seconds no bytes have moved.
    pub fn waits_for(&self, second: u32) -> Option<(BackendId, u32)> {
        let is_within = !self.movement.idle.get() && self.hook.get().0 != HookWait::Aside;
        let backend = self.backend.get().filter(|_| is_within)?;
        Some((backend, second.saturating_sub(self.movement.active.get())))
    }

    /// Asks the session to end.
    pub fn ask(&self, ask: Ask) {
        self.asked.set(Requests(self.asked.get().0 | ask as u16));
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Withdraws a request whose reason is gone.
    pub fn withdraw(&self, ask: Ask) {
        self.asked.set(Requests(self.asked.get().0 & !(ask as u16)));
    }

    /// Whether the session is asked this.
    pub fn is_asked(&self, ask: Ask) -> bool {
        self.asked.get().contains(ask)
    }

    /// Whether a statement that arrived at `came` should be killed. The request counts as done after that.
    #[inline]
    pub fn takes_kill(&self, came: Duration) -> bool {
        let is_asked = self.asked.get().contains(Ask::KillStatement);
        if is_asked {
            self.withdraw(Ask::KillStatement);
        }
        is_asked && self.killed.get() >= came
    }

    /// Returns what the session is asked, and registers the task to wake when that changes.
    pub fn poll_asked(&self, context: &Context<'_>) -> Requests {
        let mut waker = self.waker.borrow_mut();
        if !waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            *waker = Some(context.waker().clone());
        }
        self.asked.get()
    }

    /// Waits until the session is asked to end during its login; returns why. A login runs no
    /// statement, so a kill of its statement does nothing, as in the servers.
    pub async fn asked_to_end(&self) -> Failure {
        poll_fn(|context| {
            self.withdraw(Ask::KillStatement);
            self.withdraw(Ask::EndHook);
            let asked = self.poll_asked(context);
            match asked.is_nothing() {
                true => Poll::Pending,
                false if asked.contains(Ask::KillSession) => {
                    Poll::Ready(Failure::new(FailureKind::Killed, "Connection was killed"))
                }
                false => {
                    let error = errors::shutting_down();
                    Poll::Ready(Failure::saying(FailureKind::Stopped, error))
                }
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withdrawing_one_request_to_a_session_keeps_the_other_requests() {
        let control = SessionControl::default();
        control.ask(Ask::Drain);
        control.ask(Ask::BackendDown);
        control.withdraw(Ask::BackendDown);
        assert!(control.asked.get().contains(Ask::Drain));
        assert!(!control.asked.get().contains(Ask::BackendDown));
    }

    #[test]
    fn a_kill_of_a_statement_does_not_end_a_login() {
        let control = SessionControl::default();
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut ends = std::pin::pin!(control.asked_to_end());
        control.kill_statement(Duration::ZERO);
        assert!(ends.as_mut().poll(&mut context).is_pending());
        control.ask(Ask::KillSession);
        let ended = ends.as_mut().poll(&mut context);
        assert!(matches!(ended, Poll::Ready(failure) if failure.kind == FailureKind::Killed));
    }

    #[test]
    fn a_half_closed_session_has_time_since_bytes_moved() {
        let control = SessionControl::default();
        assert_eq!(control.half_closed_seconds(9), None);
        control.note(3, false);
        control.client_closes(5);
        control.client_closes(7);
        assert_eq!(control.half_closed_seconds(9), Some(4));
        control.note(8, false);
        assert_eq!(control.half_closed_seconds(9), Some(1));
    }

    #[test]
    fn a_session_ends_by_its_own_time_limit_when_it_has_one() {
        let control = SessionControl::default();
        control.note(100, true);
        assert!(!control.has_waited_too_long(4_000_000));
        control.may_wait(Some(Duration::from_secs(30)));
        assert!(!control.has_waited_too_long(130));
        assert!(control.has_waited_too_long(131));
        control.note(100, false);
        assert!(!control.has_waited_too_long(131));
    }

    #[test]
    fn only_an_open_transaction_is_idle_for_too_long() {
        let control = SessionControl::default();
        let limit = Duration::from_secs(5);
        control.note(100, true);
        assert!(!control.has_idle_transaction(200, limit));
        control.stand(StatusFlags::IN_TRANS);
        assert!(!control.has_idle_transaction(105, limit));
        assert!(control.has_idle_transaction(106, limit));
        assert!(!control.has_idle_transaction(200, Duration::ZERO));
        control.note(106, false);
        assert!(!control.has_idle_transaction(200, limit));
    }

    #[test]
    fn a_kill_of_a_statement_ends_a_waiting_hook() {
        let control = SessionControl::default();
        control.settle(BackendId(7));
        control.kill_statement(Duration::ZERO);
        control.hook_waits(100, HookWait::Aside, 42);
        assert_eq!(
            (control.idle_seconds(130), control.waits_for(130)),
            (0, None)
        );
        assert!(control.has_waiting_hook_at(BackendId(7), 42));
        assert!(!control.has_waiting_hook_at(BackendId(8), 42));
        assert!(control.hook_goes_on(130));
        control.hook_waits(130, HookWait::Reply, 42);
        control.kill_statement(Duration::ZERO);
        assert!(!control.hook_goes_on(131));
        assert!(!control.has_waiting_hook());
    }

    #[test]
    fn a_client_command_does_not_reset_the_backends_silence() {
        let control = SessionControl::default();
        assert_eq!(control.unheard_seconds(9), None, "within its login");
        control.note(100, true);
        assert_eq!(control.unheard_seconds(130), Some(30));
        control.note(130, false);
        assert_eq!(control.unheard_seconds(135), Some(35));
        control.note(136, false);
        assert_eq!(
            control.unheard_seconds(138),
            Some(2),
            "some of its reply has come"
        );
        control.note(140, true);
        assert_eq!(control.unheard_seconds(141), Some(1));
    }

    #[test]
    fn a_session_is_idle_between_exchanges_and_waiting_within_one() {
        let control = SessionControl::default();
        control.settle(BackendId(7));
        control.note(100, true);
        assert_eq!(
            (control.idle_seconds(130), control.waits_for(130)),
            (30, None)
        );
        control.note(130, false);
        assert_eq!(
            (control.idle_seconds(140), control.waits_for(140)),
            (0, Some((BackendId(7), 10)))
        );
    }
}
