//! A worker's pool of backend connections: sessions acquire connections here and bring them back.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use pool::{
    CloseReason, Grant, Lease, Next, OpeningPermit, Pool, RateLimit, Refusal, Ticket, Verdict,
    Wake, Wish,
};
use route::{Backend, BackendId, Duty, Health};
use wire::errors;

use crate::connection::BackendConn;
use crate::connection::Connection;
use crate::connection_error::ConnectionError;
use crate::kept_connections::Uses;
use crate::open::open;
use crate::pending_answers::Owner;
use crate::pool_env::PoolEnv;
use crate::running_statements::RunningStatement;
use crate::sub_pool::{PoolKey, SubPool, SubPoolId};
use crate::wait_slot::{Granted, Granting, WaitSlot, Waiter};
use link::failure::{Failure, FailureKind};
use registry::worker_view::PoolView;

/// A session's place in the queue of a sub-pool, and the answer that the session awaits.
pub struct Wait {
    /// The sub-pool that the session waits for.
    pub sub_pool: SubPoolId,
    /// Resolves when the pool grants a connection, or refuses.
    pub granting: Granting,
    /// Its place in the queue.
    pub ticket: Ticket,
}

/// The next step of a session that needs a connection.
pub enum CheckoutStep {
    /// Use this connection.
    HeldConnection(HeldConnection),
    /// Open a connection, with this permit.
    Permit(SubPoolId, OpeningPermit),
    /// Wait in the queue.
    Waits(Wait),
    /// Give up: the pool refuses.
    Refused(Failure),
}

/// One worker's connections.
pub struct WorkerPool {
    /// Settings, topology, clock, and the state that all workers share.
    pub env: Rc<PoolEnv>,
    pub(crate) pool: RefCell<Pool<SubPoolId, Connection, Waiter>>,
    pub(crate) sub_pools: RefCell<BTreeMap<SubPoolId, Rc<SubPool>>>,
    pub(crate) numbers: RefCell<HashMap<(BackendId, Rc<PoolKey>), SubPoolId>>,
    pub(crate) rate_limits: RefCell<HashMap<BackendId, Rc<RateLimit>>>,
    pub(crate) next: Cell<SubPoolId>,
    pub(crate) sweeps: Cell<u64>,
    /// The counts of changes (of privileges, of global variables) up to which idle connections have been checked.
    pub(crate) weeded_at: Cell<(u64, u64)>,
    /// How many changes of global variables the pool has taken into account.
    pub(crate) globals_at: Cell<u64>,
    /// How many requests to close kept statements the pool has seen.
    pub(crate) kept_epoch: Cell<u64>,
    /// When the pool's maintenance runs next by itself.
    pub(crate) planned: Cell<Option<Duration>>,
    /// The latest time that the pool was given; it never goes back.
    pub(crate) latest: Cell<Duration>,
    /// Wakes the pool's maintenance: something is due earlier than `planned`.
    pub(crate) stir: tokio::sync::Notify,
    /// Signalled after the pool has taken in a new topology.
    pub(crate) news: tokio::sync::Notify,
}

/// A connection that is leased to a session.
pub struct HeldConnection {
    /// The connection.
    pub conn: Connection,
    lease: Lease,
    /// Whether the pool knows that the session keeps the connection between commands.
    is_held: bool,
    /// The session's next statement, which has been admitted and already counts as running.
    admitted: Option<RunningStatement>,
}

impl HeldConnection {
    /// Joins a connection and its lease.
    pub fn new(conn: Connection, lease: Lease) -> Self {
        Self {
            conn,
            lease,
            is_held: false,
            admitted: None,
        }
    }

    /// Stores the admission of the session's next statement, if it was admitted for this connection's backend.
    #[inline]
    pub fn admit(&mut self, admitted: Option<RunningStatement>) {
        self.admitted = admitted.filter(|it| it.is_at(&self.conn.sub_pool));
    }

    /// Marks the beginning of a statement on this connection.
    #[inline]
    pub fn begin_statement(&mut self) -> RunningStatement {
        let go_on = || RunningStatement::go_on(&self.conn.sub_pool);
        self.admitted.take().unwrap_or_else(go_on)
    }
}

impl WorkerPool {
    /// Returns a pool without connections. `seed` decides between connections that are equally good.
    pub fn new(env: Rc<PoolEnv>, seed: u64) -> Self {
        Self {
            env,
            pool: RefCell::new(Pool::new(seed)),
            sub_pools: RefCell::default(),
            numbers: RefCell::default(),
            rate_limits: RefCell::default(),
            next: Cell::new(0),
            sweeps: Cell::new(0),
            weeded_at: Cell::default(),
            globals_at: Cell::new(0),
            kept_epoch: Cell::new(0),
            planned: Cell::new(None),
            latest: Cell::default(),
            stir: tokio::sync::Notify::new(),
            news: tokio::sync::Notify::new(),
        }
    }

    /// Returns the time, and remembers it as the latest time of the pool.
    pub fn now(&self) -> Duration {
        let now = self.env.now().0;
        self.latest.set(now);
        now
    }

    /// Resolves at the next change of the backends after this call, even if it is awaited later.
    pub fn news(&self) -> tokio::sync::futures::Notified<'_> {
        self.news.notified()
    }

    /// Takes the idle connection whose state is nearest to the session's.
    pub fn take_idle(
        self: &Rc<Self>,
        sub_pool: SubPoolId,
        mut distance: impl FnMut(&BackendConn) -> u32,
    ) -> Option<HeldConnection> {
        loop {
            let taken = self
                .pool
                .borrow_mut()
                .take_idle(&sub_pool, |conn: &Connection| distance(conn));
            let (conn, lease) = taken?;
            if conn.is_fit(&self.env) {
                return Some(HeldConnection::new(conn, lease));
            }
            self.discard(conn, lease);
        }
    }

    /// Takes one certain idle connection, the one for which `is_it` is true.
    pub fn take_idle_that(
        self: &Rc<Self>,
        sub_pool: SubPoolId,
        mut is_it: impl FnMut(&BackendConn) -> bool,
    ) -> Option<HeldConnection> {
        let taken = self
            .pool
            .borrow_mut()
            .take_idle_that(&sub_pool, |conn: &Connection| is_it(conn));
        let (conn, lease) = taken?;
        if conn.is_fit(&self.env) {
            return Some(HeldConnection::new(conn, lease));
        }
        self.discard(conn, lease);
        None
    }

    /// Begins to acquire a connection of a sub-pool.
    pub fn begin(
        self: &Rc<Self>,
        sub_pool: SubPoolId,
        patience: Duration,
        place: &mut Option<Rc<WaitSlot>>,
        mut distance: impl FnMut(&BackendConn) -> u32,
    ) -> CheckoutStep {
        // If a connection is idle, the clock need not be read.
        if let Some(lease) = self.take_idle(sub_pool, &mut distance) {
            return CheckoutStep::HeldConnection(lease);
        }
        loop {
            let now = self.now();
            let mut told = None;
            let wish = Wish {
                distance: |conn: &Connection| distance(conn),
                waiter: || {
                    let (tell, granting) = place.get_or_insert_default().begin();
                    told = Some(granting);
                    tell
                },
                patience,
                waiting_elsewhere: self.waiting_for_other_keys(sub_pool),
            };
            let verdict = self.pool.borrow_mut().check_out(&sub_pool, wish, now);
            match (verdict, told) {
                (Verdict::Take(conn, lease), _) => {
                    if conn.is_fit(&self.env) {
                        return CheckoutStep::HeldConnection(HeldConnection::new(conn, lease));
                    }
                    // The connection died while it was idle, or has old privileges: look for another connection.
                    self.discard(conn, lease);
                }
                (Verdict::Open(permit), _) => return CheckoutStep::Permit(sub_pool, permit),
                (Verdict::Wait(ticket), Some(granting)) => {
                    self.stir_for(sub_pool, now);
                    return CheckoutStep::Waits(Wait {
                        sub_pool,
                        granting,
                        ticket,
                    });
                }
                (Verdict::Wait(_), None) => {
                    return CheckoutStep::Refused(self.refusal(sub_pool, Refusal::Shut, patience));
                }
                (Verdict::Refuse(refusal), _) => {
                    return CheckoutStep::Refused(self.refusal(sub_pool, refusal, patience));
                }
            }
        }
    }

    /// How many sessions of the same account wait for connections to the same backend with another pool key.
    fn waiting_for_other_keys(&self, id: SubPoolId) -> usize {
        let (pool, sub_pools) = (self.pool.borrow(), self.sub_pools.borrow());
        let Some(own) = sub_pools.get(&id) else {
            return 0;
        };
        let is_beside = |it: &&Rc<SubPool>| {
            it.id != id && it.backend.id == own.backend.id && it.kind.account == own.kind.account
        };
        let beside = sub_pools.values().filter(is_beside);
        beside.map(|it| pool.waiting_for(&it.id)).sum()
    }

    /// Takes what the pool granted to a waiting session; `None` if that connection was dead: begin again.
    pub fn granted(
        self: &Rc<Self>,
        sub_pool: SubPoolId,
        granted: Granted,
        patience: Duration,
    ) -> Option<CheckoutStep> {
        match granted {
            Granted::Grant(Grant::Connection(conn, lease)) => {
                if conn.is_fit(&self.env) {
                    return Some(CheckoutStep::HeldConnection(HeldConnection::new(
                        conn, lease,
                    )));
                }
                self.discard(conn, lease);
                None
            }
            Granted::Grant(Grant::Permit(permit)) => Some(CheckoutStep::Permit(sub_pool, permit)),
            Granted::Refused(refusal) => Some(CheckoutStep::Refused(
                self.refusal(sub_pool, refusal, patience),
            )),
        }
    }

    /// Returns why a backend takes no sessions.
    fn shut_because(&self, sub_pool: SubPoolId) -> &'static str {
        let sub_pools = self.sub_pools.borrow();
        let id = sub_pools.get(&sub_pool).map(|sub_pool| sub_pool.backend.id);
        let topology = self.env.topology.borrow();
        let backend = id.and_then(|id| topology.backend(id));
        let Some(backend) = backend else {
            return REMOVED;
        };
        match (backend.duty, &backend.health) {
            (Duty::Disabled, _) => "is disabled by an administrator",
            (Duty::Draining, _) => "is draining: it takes no new statements",
            (Duty::Serving, Health::Down { .. }) => "is down",
            (Duty::Serving, _) => "was down or drained a moment ago",
        }
    }

    fn refusal(&self, sub_pool: SubPoolId, refusal: Refusal, patience: Duration) -> Failure {
        let name = self
            .sub_pools
            .borrow()
            .get(&sub_pool)
            .map(|sub_pool| sub_pool.backend.name.clone())
            .unwrap_or_default();
        let error = match refusal {
            Refusal::TimedOut => errors::no_connection_in_time(name, format_args!("{patience:?}")),
            Refusal::Crowded => errors::too_many_waiters(name),
            Refusal::Shut => errors::backend_not_usable(name, self.shut_because(sub_pool)),
            Refusal::Unknown => errors::backend_not_usable(name, REMOVED),
        };
        match refusal {
            Refusal::TimedOut | Refusal::Crowded => {
                Failure::saying(FailureKind::PoolExhausted, error)
            }
            Refusal::Shut | Refusal::Unknown => Failure::saying(FailureKind::NoBackend, error),
        }
    }

    /// Opens a connection, with a permit of the pool.
    pub async fn open(
        self: &Rc<Self>,
        id: SubPoolId,
        permit: OpeningPermit,
    ) -> Result<HeldConnection, Failure> {
        let sub_pool = self.sub_pools.borrow().get(&id).map(Rc::clone);
        let Some(sub_pool) = sub_pool else {
            return Err(self.refusal(id, Refusal::Unknown, Duration::ZERO));
        };
        let opened = Box::pin(open(&self.env, &sub_pool)).await;
        let opened = match self.env.is_disabled(sub_pool.backend.id) {
            true => opened.and_then(|_| Err(disabled(&sub_pool.backend))),
            false => opened,
        };
        match opened {
            Ok(conn) => {
                let now = self.now();
                let lease = self.pool.borrow_mut().opened(permit, now);
                // The new connection needs maintenance from now on, and another opening may begin.
                self.stir_for(id, now);
                Ok(HeldConnection::new(Box::new(conn), lease))
            }
            Err(failure) => {
                let now = self.now();
                let wakes = self.pool.borrow_mut().open_failed(permit, now);
                self.wake_all(wakes);
                self.stir.notify_one();
                Err(failure)
            }
        }
    }

    /// Wakes the pool's maintenance if something is due on a sub-pool before the maintenance would run.
    pub fn stir_for(&self, sub_pool: SubPoolId, now: Duration) {
        let due = self.pool.borrow().next_tick_of(&sub_pool, now);
        let planned = self.planned.get();
        if due.is_some_and(|due| planned.is_none_or(|planned| due < planned)) {
            self.planned.set(due);
            self.stir.notify_one();
        }
    }

    /// Tells the pool that the session keeps its connection between two commands.
    pub fn hold(&self, lease: &mut HeldConnection) {
        if !lease.is_held {
            lease.is_held = true;
            self.pool.borrow_mut().hold(&lease.lease);
            self.stir_for(lease.conn.sub_pool.id, self.now());
        }
    }

    /// Brings back a connection that other sessions may use.
    pub fn give_back(self: &Rc<Self>, lease: HeldConnection) {
        self.put_back(lease.conn, lease.lease, self.now());
    }

    /// Does the same as [`Self::give_back`], for a caller that has just read the clock.
    pub fn give_back_at(self: &Rc<Self>, lease: HeldConnection, now: Duration) {
        let now = now.max(self.latest.get());
        self.put_back(lease.conn, lease.lease, now);
    }

    /// Brings a connection back, at the time `now`.
    pub fn put_back(self: &Rc<Self>, conn: Connection, lease: Lease, now: Duration) {
        let owner = conn.owner.as_ref().and_then(Owner::if_pending);
        if conn.is_outdated(&self.env) {
            self.retire(HeldConnection::new(conn, lease), CloseReason::TooOld);
        } else if conn.is_to_close_kept(&self.env) {
            // The connection comes back after its kept statements are closed.
            drop(self.begin_closing_kept_of(HeldConnection::new(conn, lease)));
        } else {
            let next = self.pool.borrow_mut().give_back(lease, conn, now);
            match next {
                Next::Rest => {}
                Next::Linger => self.stir.notify_one(),
                Next::Wake(wake) => self.wake(wake),
                Next::Close(conn, _, closing) => self.close(conn, closing),
            }
        }
        if let Some(owner) = owner {
            // The session that ran its last statement here may be waiting for this connection. The
            // session that had it may not have asked for the answers.
            owner.news.notify_waiters();
        }
    }

    /// Gives up a connection that cannot be used any more.
    pub fn forget(self: &Rc<Self>, lease: HeldConnection, reason: CloseReason) {
        lease.conn.leg.transport.abort();
        self.forget_lease(lease.lease, reason);
    }

    /// Gives up a connection that works but is not fit for other sessions. First it asks for the
    /// answers that the last session may still want, then it sends COM_QUIT.
    pub fn retire(self: &Rc<Self>, lease: HeldConnection, reason: CloseReason) {
        let mut conn = lease.conn;
        let questions = crate::settle_answers::claim(&mut conn, &Rc::default());
        self.forget_lease(lease.lease, reason);
        let pool = Rc::clone(self);
        tokio::task::spawn_local(async move {
            // An error changes nothing: the connection is closed anyway.
            let _ = crate::settle_answers::ask(&pool.env, &mut conn, questions).await;
            conn.send_quit().await;
        });
    }

    /// Gives up an idle connection that is not fit for a session.
    fn discard(self: &Rc<Self>, conn: Connection, lease: Lease) {
        if conn.is_alive() {
            let lease = HeldConnection::new(conn, lease);
            return self.retire(lease, CloseReason::TooOld);
        }
        drop(conn);
        self.forget_lease(lease, CloseReason::Broken);
    }

    /// Takes a connection out of the pool for good: a session keeps the connection until the session ends.
    pub fn take_out(self: &Rc<Self>, lease: HeldConnection) -> Connection {
        self.forget_lease(lease.lease, CloseReason::Ended);
        lease.conn
    }

    fn forget_lease(self: &Rc<Self>, lease: Lease, reason: CloseReason) {
        let now = self.now();
        let wakes = self.pool.borrow_mut().forget(lease, reason, now);
        self.wake_all(wakes);
    }

    /// Gives these grants to the sessions that wait for them.
    pub fn wake_all(self: &Rc<Self>, wakes: Vec<Wake<Connection, Waiter>>) {
        for wake in wakes {
            self.wake(wake);
        }
    }

    /// Gives a grant to the session that waits for it.
    pub fn wake(self: &Rc<Self>, Wake { waiter, grant }: Wake<Connection, Waiter>) {
        if let Err(Granted::Grant(grant)) = waiter.send(Granted::Grant(grant)) {
            self.take_back(grant);
        }
    }

    /// Takes a grant back, because the session that waited has gone.
    fn take_back(self: &Rc<Self>, grant: Grant<Connection>) {
        match grant {
            Grant::Connection(conn, lease) => {
                self.put_back(conn, lease, self.now());
            }
            Grant::Permit(permit) => {
                let now = self.now();
                let wakes = self.pool.borrow_mut().waive(permit, now);
                self.wake_all(wakes);
            }
        }
    }

    /// Sets the counts of the pool's events to zero.
    pub fn reset_counts(&self) {
        self.pool.borrow_mut().reset_counts();
    }

    /// Returns figures of the pool's connections, by backend and account. `uses`: what the worker's
    /// sessions do with the connections.
    pub fn views(&self, uses: &Uses) -> Vec<PoolView> {
        let limits = &self.env.shared.connection_limits;
        let now = self.now();
        let pool = self.pool.borrow();
        let sub_pools = self.sub_pools.borrow();
        let mut views: Vec<PoolView> = Vec::new();
        for (id, figures) in pool.all_figures(now) {
            let Some(sub_pool) = sub_pools.get(id) else {
                continue;
            };
            let account = sub_pool.kind.account.to_string();
            let is_it =
                |view: &PoolView| view.backend == sub_pool.backend.id && view.account == account;
            match views.iter_mut().find(|view| is_it(view)) {
                Some(view) => view.figures += &figures,
                None => views.push(PoolView {
                    uses: uses
                        .get(&(sub_pool.kind.account.clone(), Some(sub_pool.backend.id)))
                        .copied()
                        .unwrap_or_default(),
                    is_bounded: limits.is_bounded(sub_pool.backend.id, &sub_pool.kind.account),
                    backend: sub_pool.backend.id,
                    name: sub_pool.backend.name.clone(),
                    account,
                    user: String::from_utf8_lossy(&sub_pool.login.user).into_owned(),
                    figures,
                }),
            }
        }
        views
    }
}

/// The state of a backend that the pool does not know, for error messages.
const REMOVED: &str = "was removed from the configuration";

/// The error if the backend was disabled while a connection to it was being opened.
fn disabled(backend: &Backend) -> Failure {
    let error = errors::cannot_open(&backend.name, ConnectionError::Disabled);
    Failure::saying(FailureKind::NoBackend, error)
}
