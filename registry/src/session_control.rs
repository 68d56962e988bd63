//! What a worker sees of each of its sessions, and how it tells one to end.
//!
//! A session writes a few cells as it goes; the worker's sweep reads them once a second. So neither
//! a timer nor a system call belongs to a statement.

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
    /// The proxy is to end now.
    Stop = 1,
    /// The session waits for a backend that is down.
    BackendDown = 2,
    /// It was idle for too long.
    IdleTimeout = 4,
    /// The proxy ends: when nothing is going on, no exchange, no transaction.
    Drain = 8,
    /// Its statement is to be killed.
    KillStatement = 16,
    /// It is to be killed.
    KillSession = 32,
    /// It was idle for longer than its own `wait_timeout`.
    WaitTimeout = 64,
    /// Its statement is to be killed, and is a hook that waits.
    EndHook = 128,
    /// The backend that it uses was disabled.
    BackendDisabled = 256,
    /// Its client has closed its side of the connection for longer than a statement may go on then.
    ClientGone = 512,
    /// The role of the backend that it uses is another one now.
    RoleChanged = 1024,
    /// Its transaction was idle for too long.
    IdleTransaction = 2048,
    /// Others wait for the connection that it keeps.
    GiveUpKept = 4096,
}

/// What a hook of its script waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HookWait {
    /// None waits.
    #[default]
    None,
    /// The reply to a statement in the session itself.
    Reply,
    /// Something else: nothing runs on the session's connection, if it has one.
    Aside,
}

/// What a session is asked, all at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests(u16);

impl Requests {
    /// Whether this is among what the session is asked.
    pub fn contains(self, ask: Ask) -> bool {
        self.0 & ask as u16 != 0
    }

    /// Whether the session is asked nothing.
    pub fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// The end that is asked of a session between two commands, if it is now; `is_free`: it is in no transaction.
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

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Waits for a command.
    Idle,
    /// Executes one.
    Running,
}

/// A connection that a session keeps between commands.
#[derive(Debug, Clone, Copy)]
struct KeptConnection {
    pins: Pins,
    /// The worker's second.
    since: u32,
}

/// When bytes moved in a session, in the worker's seconds.
#[derive(Default)]
struct Movement {
    /// Between two exchanges?
    idle: Cell<bool>,
    /// When bytes last moved.
    active: Cell<u32>,
    /// The same as of the end of the exchange before the last one, if there was one.
    rested: Cell<Option<u32>>,
    /// When the last exchange began.
    began: Cell<u32>,
    /// When its client closed its side of the connection.
    half_closed: Cell<Option<u32>>,
}

/// One session's cells.
#[derive(Default)]
pub struct SessionControl {
    movement: Movement,
    /// Where its statements go, once it is logged in.
    backend: Cell<Option<BackendId>>,
    /// The seconds that it may be idle by its own setting; 0: as long as it likes.
    wait_timeout: Cell<u32>,
    asked: Cell<Requests>,
    waker: RefCell<Option<Waker>>,
    /// The digest of the statement that it runs, or has run last; 0: not known.
    digest: Cell<u64>,
    /// The id on its backend of the connection that a pooled one has; 0: none that is its own.
    thread: Cell<u32>,
    /// When its statement was last asked to be killed.
    killed: Cell<Duration>,
    /// The flags of its last reply.
    status: Cell<StatusFlags>,
    /// The connection that a pooled one keeps, while it keeps one.
    kept: Cell<Option<KeptConnection>>,
    /// The schema and variables of a pooled one.
    values: RefCell<Option<Rc<Values>>>,
    /// What a hook waits for, and the id on its backend of the connection that the session has meanwhile; 0: none
    /// that is its own.
    hook: Cell<(HookWait, u32)>,
    /// What it keeps.
    pub memory: Arc<MemoryShare>,
    info: RefCell<Option<Box<SessionInfo>>>,
}

impl SessionControl {
    /// The session notes where it stands.
    pub fn note(&self, second: u32, idle: bool) {
        if self.movement.idle.replace(idle) && !idle {
            self.movement.rested.set(Some(self.movement.active.get()));
            self.movement.began.set(second);
        }
        self.movement.active.set(second);
    }

    /// For how many seconds nothing has come of its backend, but for the current command.
    pub fn unheard_seconds(&self, second: u32) -> Option<u32> {
        let active = self.movement.active.get();
        let heard = match self.movement.idle.get() || active != self.movement.began.get() {
            true => Some(active),
            false => self.movement.rested.get(),
        };
        heard.map(|heard| second.saturating_sub(heard))
    }

    /// The flags that its client was told last.
    pub fn stand(&self, status: StatusFlags) {
        self.status.set(status);
    }

    /// The schema and variables of a pooled session; seldom other ones.
    pub fn note_values(&self, values: &Rc<Values>) {
        let mut known = self.values.borrow_mut();
        if !known
            .as_ref()
            .is_some_and(|known| Rc::ptr_eq(known, values))
        {
            *known = Some(Rc::clone(values));
        }
    }

    /// A pooled session keeps its connection between commands, because of these, or keeps none.
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

    /// A hook waits from here on: the session is within a command.
    pub fn hook_waits(&self, second: u32, wait: HookWait, thread_id: u32) {
        self.withdraw(Ask::EndHook);
        self.hook.set((wait, thread_id));
        self.note(second, false);
    }

    /// It has what it waited for, unless it is to be ended.
    pub fn hook_goes_on(&self, second: u32) -> bool {
        let is_to_end = self.asked.get().contains(Ask::EndHook);
        self.hook.set((HookWait::None, self.hook.get().1));
        if is_to_end {
            // It is the same that asked for both.
            self.withdraw(Ask::KillStatement);
        }
        self.withdraw(Ask::EndHook);
        self.note(second, false);
        !is_to_end
    }

    /// Whether a hook waits, and nothing else can be killed.
    pub fn has_waiting_hook(&self) -> bool {
        self.hook.get().0 != HookWait::None
    }

    /// Whether a hook waits in a session that has this connection.
    pub fn has_waiting_hook_at(&self, backend: BackendId, thread_id: u32) -> bool {
        self.has_waiting_hook()
            && self.hook.get().1 == thread_id
            && self.backend.get() == Some(backend)
    }

    /// Asks that its statement be ended, as KILL QUERY does.
    /// `said`: when that was said.
    pub fn kill_statement(&self, said: Duration) {
        self.killed.set(said);
        self.ask(Ask::KillStatement);
        if self.has_waiting_hook() {
            self.ask(Ask::EndHook);
        }
    }

    /// The same of the statement that takes longer than it may, and of no hook that waits for it.
    pub fn kill_overdue(&self) {
        self.killed.set(Duration::MAX);
        self.ask(Ask::KillStatement);
    }

    /// Who it is.
    pub fn introduce(&self, info: SessionInfo) {
        *self.info.borrow_mut() = Some(Box::new(info));
    }

    /// Changes what is known of who it is.
    pub fn change_info(&self, change: impl FnOnce(&mut SessionInfo)) {
        if let Some(info) = self.info.borrow_mut().as_mut() {
            change(info);
        }
    }

    /// Who it is; none before its client's address is known.
    pub fn info(&self) -> Option<SessionInfo> {
        self.info.borrow().as_deref().cloned()
    }

    /// What it does at `second`, and for how many seconds it has done so.
    pub fn activity(&self, second: u32) -> (Activity, u32) {
        let activity = match self.movement.idle.get() {
            true => Activity::Idle,
            false => Activity::Running,
        };
        // Seconds are counted in whole ones: as many are over for certain.
        let over = second.saturating_sub(self.movement.active.get());
        (activity, over.saturating_sub(1))
    }

    /// A statement of this digest begins; 0: something that has none.
    pub fn set_digest(&self, digest: u64) {
        self.digest.set(digest);
    }

    /// The digest of its statement; 0: not known.
    pub fn digest(&self) -> u64 {
        self.digest.get()
    }

    /// The flags of its last reply.
    pub fn status(&self) -> StatusFlags {
        self.status.get()
    }

    /// What keeps it on a connection; none: nothing does.
    pub fn pins(&self) -> Option<Pins> {
        self.kept.get().map(|kept| kept.pins)
    }

    /// For how many seconds it has kept its connection between commands, if it keeps one.
    pub fn kept_seconds(&self, second: u32) -> Option<u32> {
        let kept = self.kept.get()?;
        Some(second.saturating_sub(kept.since))
    }

    /// The account of a pooled one.
    pub fn account(&self) -> Option<AccountId> {
        let info = self.info.borrow();
        let info = info.as_ref()?;
        let is_pooled = matches!(info.kind, SessionKind::Pooled(_));
        info.account.clone().filter(|_| is_pooled)
    }

    /// The default schema of a pooled one.
    pub fn schema(&self) -> Option<String> {
        let values = self.values.borrow();
        let schema = values.as_ref()?.schema()?;
        Some(String::from_utf8_lossy(schema).into_owned())
    }

    /// The backend that its commands go to.
    pub fn backend(&self) -> Option<BackendId> {
        self.backend.get()
    }

    /// The session's commands go to this backend from now on.
    pub fn settle(&self, backend: BackendId) {
        self.backend.set(Some(backend));
    }

    /// The same over a pool's connection with this id there.
    pub fn settle_at(&self, backend: BackendId, thread_id: u32) {
        self.settle(backend);
        self.thread.set(thread_id);
    }

    /// They go nowhere until the next one.
    pub fn unsettle(&self) {
        self.backend.set(None);
        self.thread.set(0);
    }

    /// The id of the pool's connection that it has had last; 0: none.
    pub fn thread(&self) -> u32 {
        self.thread.get()
    }

    /// Seconds between two exchanges at `second`; 0 within one, and in a login.
    pub fn idle_seconds(&self, second: u32) -> u32 {
        match self.movement.idle.get() {
            true => second.saturating_sub(self.movement.active.get()),
            false => 0,
        }
    }

    /// What the session's own `wait_timeout` is, as far as that is known here.
    pub fn may_wait(&self, timeout: Option<Duration>) {
        let seconds = timeout.map_or(0, |timeout| timeout.as_secs());
        self.wait_timeout
            .set(u32::try_from(seconds).unwrap_or(u32::MAX));
    }

    /// Whether that is known.
    pub fn knows_wait_timeout(&self) -> bool {
        self.wait_timeout.get() > 0
    }

    /// How long its transactions may be idle: as its account says, or its listener, or in general. Zero: for ever.
    pub fn timeout_idle_transaction(&self, in_general: Duration) -> Duration {
        let info = self.info.borrow();
        let own = info.as_ref().and_then(|info| {
            (info.timeout_idle_transaction).or(info.listener.timeout_idle_transaction)
        });
        own.unwrap_or(in_general)
    }

    /// Whether its transaction has been idle for longer than it may.
    pub fn has_idle_transaction(&self, second: u32, in_general: Duration) -> bool {
        let idle = Duration::from_secs(u64::from(self.idle_seconds(second)));
        if idle.is_zero() || !self.status.get().contains(StatusFlags::IN_TRANS) {
            return false;
        }
        let limit = self.timeout_idle_transaction(in_general);
        !limit.is_zero() && idle > limit
    }

    /// The client has spoken: whatever was asked because it had not is settled.
    pub fn has_spoken(&self) {
        self.withdraw(Ask::IdleTransaction);
        self.withdraw(Ask::GiveUpKept);
        self.withdraw(Ask::IdleTimeout);
        self.withdraw(Ask::WaitTimeout);
    }

    /// Whether it has been idle for longer than that.
    pub fn has_waited_too_long(&self, second: u32) -> bool {
        let limit = self.wait_timeout.get();
        limit > 0 && self.idle_seconds(second) > limit
    }

    /// The same for a server's clock, which ours may be a little behind.
    pub fn is_about_to_wait_too_long(&self, second: u32) -> bool {
        self.has_waited_too_long(second.saturating_add(2))
    }

    /// Its client has closed its side of the connection, and may still take its reply.
    pub fn client_closes(&self, second: u32) {
        if self.movement.half_closed.get().is_none() {
            self.movement.half_closed.set(Some(second));
        }
    }

    /// For how many seconds nothing has moved since its client closed its side of the connection.
    pub fn half_closed_seconds(&self, second: u32) -> Option<u32> {
        let closed = self.movement.half_closed.get()?;
        Some(second.saturating_sub(closed.max(self.movement.active.get())))
    }

    /// The backend for which an exchange waits, and for how many seconds nothing has moved.
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

    /// Forgets a wish whose reason is gone.
    pub fn withdraw(&self, ask: Ask) {
        self.asked.set(Requests(self.asked.get().0 & !(ask as u16)));
    }

    /// Whether the session is asked this.
    pub fn is_asked(&self, ask: Ask) -> bool {
        self.asked.get().contains(ask)
    }

    /// Whether a statement that has come at `came` is to be killed; that is heeded then.
    #[inline]
    pub fn takes_kill(&self, came: Duration) -> bool {
        let is_asked = self.asked.get().contains(Ask::KillStatement);
        if is_asked {
            self.withdraw(Ask::KillStatement);
        }
        is_asked && self.killed.get() >= came
    }

    /// What the session is asked, and who to wake when that changes.
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

    /// Waits until it is asked to end, while it logs in; why it ends. A login runs no statement, so that a kill of one
    /// does nothing to it, as in the servers.
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
    fn a_withdrawn_wish_leaves_the_others() {
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
    fn a_command_that_comes_is_no_sign_of_the_backend() {
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
    fn only_a_session_between_exchanges_is_idle_and_only_one_within_waits() {
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
