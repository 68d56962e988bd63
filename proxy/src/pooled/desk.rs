//! A worker's pool at work: sessions come for connections and bring them back.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::PoolConfig;
use pool::{
    Action, CloseReason, Grant, Holding, Lease, Limits, Next, OpeningPermit, Pace, Pool, Refusal,
    Supply, Ticket, Verdict, Wake, Wish,
};
use route::{Backend, BackendId};
use wire::Command;

use super::aftermath::Owner;
use super::conn::BackendConn;
use super::open::open;
use super::shelf::{BackendLogin, Kind, KnownShelf, Shelf, ShelfId};
use super::turn::{Granting, Waiter, WaitingPlace};
use crate::failure::{Failure, Kind as FailureKind};
use crate::view::PoolView;
use crate::worker::Worker;

/// How many kinds of connections a worker remembers without having any of them.
const EMPTY_SHELVES_MAX: usize = 256;

type Connection = Box<BackendConn>;

/// What a waiter is woken with.
pub(crate) enum Granted {
    Grant(Grant<Connection>),
    Refused(Refusal),
}

impl Default for Granted {
    /// The pool has gone.
    fn default() -> Self {
        Self::Refused(Refusal::Shut)
    }
}

/// A place in a queue, and what comes of it.
pub(crate) struct Wait {
    pub shelf: ShelfId,
    pub granting: Granting,
    pub ticket: Ticket,
}

/// What a session is to do for a connection.
pub(crate) enum Begun {
    /// Use it.
    Lent(Lent),
    /// Open one.
    Permit(ShelfId, OpeningPermit),
    /// Wait.
    Waits(Wait),
    /// Give up.
    Refused(Failure),
}

/// One worker's connections.
pub(crate) struct Desk {
    pool: RefCell<Pool<ShelfId, Connection, Waiter>>,
    shelves: RefCell<HashMap<ShelfId, Rc<Shelf>>>,
    numbers: RefCell<HashMap<(BackendId, Rc<Kind>), ShelfId>>,
    paces: RefCell<HashMap<BackendId, Rc<Pace>>>,
    next: Cell<ShelfId>,
    sweeps: Cell<u64>,
    /// When the keeper comes by itself.
    planned: Cell<Option<Duration>>,
    /// The time that the pool was told last; it never goes back.
    latest: Cell<Duration>,
    /// Something is due earlier than that.
    stir: tokio::sync::Notify,
    /// The backends are others, or are otherwise, and the pool knows.
    news: tokio::sync::Notify,
}

/// A connection lent to a session.
pub(crate) struct Lent {
    pub conn: Connection,
    lease: Lease,
    /// The pool knows that its session keeps it between commands.
    is_held: bool,
}

impl Lent {
    fn new(conn: Connection, lease: Lease) -> Self {
        Self {
            conn,
            lease,
            is_held: false,
        }
    }
}

impl Desk {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            pool: RefCell::new(Pool::new(seed)),
            shelves: RefCell::default(),
            numbers: RefCell::default(),
            paces: RefCell::default(),
            next: Cell::new(0),
            sweeps: Cell::new(0),
            planned: Cell::new(None),
            latest: Cell::default(),
            stir: tokio::sync::Notify::new(),
            news: tokio::sync::Notify::new(),
        }
    }

    /// The time, for the pool.
    fn now(&self, worker: &Worker) -> Duration {
        let now = worker.surroundings.now().0;
        self.latest.set(now);
        now
    }

    /// The next change of backends, from now on, whenever it is awaited.
    pub(crate) fn news(&self) -> tokio::sync::futures::Notified<'_> {
        self.news.notified()
    }

    /// The same as [`shelf`](Self::shelf), which is asked only where `known` is not it.
    pub(crate) fn shelf_again(
        &self,
        known: &mut Option<KnownShelf>,
        worker: &Worker,
        config: &PoolConfig,
        backend: &Arc<Backend>,
        kind: &Rc<Kind>,
        login: &Rc<BackendLogin>,
    ) -> ShelfId {
        let sweeps = self.sweeps.get();
        if let Some(KnownShelf {
            shelf,
            sweeps: then,
        }) = known
            && *then == sweeps
            && shelf.is_of(backend, kind, login)
        {
            return shelf.id;
        }
        let shelf = self.shelf(worker, config, backend, kind, login);
        let id = shelf.id;
        *known = Some(KnownShelf { shelf, sweeps });
        id
    }

    /// The shelf for connections of `kind` to `backend`; the credential is the latest one known.
    pub(crate) fn shelf(
        &self,
        worker: &Worker,
        config: &PoolConfig,
        backend: &Arc<Backend>,
        kind: &Rc<Kind>,
        login: &Rc<BackendLogin>,
    ) -> Rc<Shelf> {
        let key = (backend.id, Rc::clone(kind));
        let known = self.numbers.borrow().get(&key).copied();
        if let Some(id) = known
            && let Some(shelf) = self.shelves.borrow().get(&id)
            && shelf.is_of(backend, kind, login)
        {
            return Rc::clone(shelf);
        }
        let id = known.unwrap_or_else(|| {
            let id = self.next.get();
            self.next.set(id + 1);
            self.numbers.borrow_mut().insert(key, id);
            let supply = self.supply(worker, config, backend, kind);
            self.pool.borrow_mut().supply(id, supply);
            id
        });
        let shelf = Rc::new(Shelf {
            id,
            kind: Rc::clone(kind),
            backend: Arc::clone(backend),
            login: Rc::clone(login),
        });
        self.shelves.borrow_mut().insert(id, Rc::clone(&shelf));
        shelf
    }

    fn supply(
        &self,
        worker: &Worker,
        config: &PoolConfig,
        backend: &Arc<Backend>,
        kind: &Kind,
    ) -> Supply {
        let pace = Rc::clone(
            self.paces
                .borrow_mut()
                .entry(backend.id)
                .or_insert_with(|| {
                    // Each worker has an even share, at least one.
                    let workers = u32::try_from(worker.workers).unwrap_or(1).max(1);
                    Rc::new(Pace::new(
                        (config.opens_per_second / workers).max(1),
                        (config.opens_burst / workers).max(1),
                        Duration::ZERO,
                    ))
                }),
        );
        let ceilings = worker.shared.ceilings.of(config, backend.id, &kind.account);
        Supply {
            limits: limits(config),
            pace,
            holdings: ceilings.iter().map(Holding::new).collect(),
        }
    }

    /// A connection that lies idle, the one whose state is nearest.
    pub(crate) fn take_idle(
        &self,
        worker: &Rc<Worker>,
        shelf: ShelfId,
        mut distance: impl FnMut(&BackendConn) -> u32,
    ) -> Option<Lent> {
        loop {
            let taken = self
                .pool
                .borrow_mut()
                .take_idle(&shelf, |conn: &Connection| distance(conn));
            let (conn, lease) = taken?;
            if conn.is_alive() {
                return Some(Lent::new(conn, lease));
            }
            drop(conn);
            self.forget_lease(worker, lease, CloseReason::Broken);
        }
    }

    /// The same for one connection and no other, however many lie idle.
    pub(crate) fn take_idle_that(
        &self,
        worker: &Rc<Worker>,
        shelf: ShelfId,
        mut is_it: impl FnMut(&BackendConn) -> bool,
    ) -> Option<Lent> {
        let taken = self
            .pool
            .borrow_mut()
            .take_idle_that(&shelf, |conn: &Connection| is_it(conn));
        let (conn, lease) = taken?;
        if conn.is_alive() {
            return Some(Lent::new(conn, lease));
        }
        drop(conn);
        self.forget_lease(worker, lease, CloseReason::Broken);
        None
    }

    /// Begins to get a connection of a shelf.
    pub(crate) fn begin(
        &self,
        worker: &Rc<Worker>,
        shelf: ShelfId,
        patience: Duration,
        place: &mut Option<Rc<WaitingPlace>>,
        mut distance: impl FnMut(&BackendConn) -> u32,
    ) -> Begun {
        // In the usual case the clock is not read.
        if let Some(lent) = self.take_idle(worker, shelf, &mut distance) {
            return Begun::Lent(lent);
        }
        loop {
            let now = self.now(worker);
            let mut told = None;
            let wish = Wish {
                distance: |conn: &Connection| distance(conn),
                waiter: || {
                    let (tell, granting) = place.get_or_insert_default().begin();
                    told = Some(granting);
                    tell
                },
                patience,
            };
            let verdict = self.pool.borrow_mut().check_out(&shelf, wish, now);
            match (verdict, told) {
                (Verdict::Take(conn, lease), _) => {
                    if conn.is_alive() {
                        return Begun::Lent(Lent::new(conn, lease));
                    }
                    // It died while it lay idle: another one.
                    drop(conn);
                    self.forget_lease(worker, lease, CloseReason::Broken);
                }
                (Verdict::Open(permit), _) => return Begun::Permit(shelf, permit),
                (Verdict::Wait(ticket), Some(granting)) => {
                    self.stir_for(shelf, now);
                    return Begun::Waits(Wait {
                        shelf,
                        granting,
                        ticket,
                    });
                }
                (Verdict::Wait(_), None) => {
                    return Begun::Refused(self.refusal(shelf, Refusal::Shut, patience));
                }
                (Verdict::Refuse(refusal), _) => {
                    return Begun::Refused(self.refusal(shelf, refusal, patience));
                }
            }
        }
    }

    /// Takes what a waiter was granted; `None`: it was dead, begin again.
    pub(crate) fn granted(
        &self,
        worker: &Rc<Worker>,
        shelf: ShelfId,
        granted: Granted,
        patience: Duration,
    ) -> Option<Begun> {
        match granted {
            Granted::Grant(Grant::Connection(conn, lease)) => {
                if conn.is_alive() {
                    return Some(Begun::Lent(Lent::new(conn, lease)));
                }
                drop(conn);
                self.forget_lease(worker, lease, CloseReason::Broken);
                None
            }
            Granted::Grant(Grant::Permit(permit)) => Some(Begun::Permit(shelf, permit)),
            Granted::Refused(refusal) => {
                Some(Begun::Refused(self.refusal(shelf, refusal, patience)))
            }
        }
    }

    fn refusal(&self, shelf: ShelfId, refusal: Refusal, patience: Duration) -> Failure {
        let name = self
            .shelves
            .borrow()
            .get(&shelf)
            .map(|shelf| shelf.backend.name.clone())
            .unwrap_or_default();
        let text = match refusal {
            Refusal::TimedOut => format!(
                "No connection to backend {name} became free within {patience:?} (pool.timeout_wait)"
            ),
            Refusal::Crowded => format!(
                "Too many sessions wait for a connection to backend {name} (pool.waiters_max)"
            ),
            Refusal::Shut | Refusal::Unknown => {
                format!("Backend {name} is down or takes no new work")
            }
        };
        match refusal {
            Refusal::TimedOut | Refusal::Crowded => Failure::new(FailureKind::PoolExhausted, text),
            Refusal::Shut | Refusal::Unknown => Failure::new(FailureKind::NoBackend, text),
        }
    }

    pub(crate) async fn open(
        &self,
        worker: &Rc<Worker>,
        id: ShelfId,
        permit: OpeningPermit,
    ) -> Result<Lent, Failure> {
        let shelf = self.shelves.borrow().get(&id).map(Rc::clone);
        let Some(shelf) = shelf else {
            return Err(self.refusal(id, Refusal::Unknown, Duration::ZERO));
        };
        match Box::pin(open(worker, &shelf)).await {
            Ok(conn) => {
                let now = self.now(worker);
                let lease = self.pool.borrow_mut().opened(permit, now);
                // From now on there is something to look after, and another may open one.
                self.stir_for(id, now);
                Ok(Lent::new(Box::new(conn), lease))
            }
            Err(failure) => {
                let now = self.now(worker);
                let wakes = self.pool.borrow_mut().open_failed(permit, now);
                self.wake_all(worker, wakes);
                self.stir.notify_one();
                Err(failure)
            }
        }
    }

    /// Has the keeper come, if something is due on a shelf before it would.
    fn stir_for(&self, shelf: ShelfId, now: Duration) {
        let due = self.pool.borrow().next_tick_of(&shelf, now);
        let planned = self.planned.get();
        if due.is_some_and(|due| planned.is_none_or(|planned| due < planned)) {
            self.planned.set(due);
            self.stir.notify_one();
        }
    }

    /// The session keeps its connection between two commands.
    pub(crate) fn hold(&self, worker: &Worker, lent: &mut Lent) {
        if !lent.is_held {
            lent.is_held = true;
            self.pool.borrow_mut().hold(&lent.lease);
            self.stir_for(lent.conn.shelf.id, self.now(worker));
        }
    }

    /// Brings a connection back that others may use.
    pub(crate) fn give_back(&self, worker: &Rc<Worker>, lent: Lent) {
        self.put_back(worker, lent.conn, lent.lease, self.now(worker));
    }

    /// The same for whoever has just looked at the clock.
    pub(crate) fn give_back_at(&self, worker: &Rc<Worker>, lent: Lent, now: Duration) {
        let now = now.max(self.latest.get());
        self.put_back(worker, lent.conn, lent.lease, now);
    }

    fn put_back(&self, worker: &Rc<Worker>, conn: Connection, lease: Lease, now: Duration) {
        let owner = conn.owner.as_ref().and_then(Owner::owed);
        let next = self.pool.borrow_mut().give_back(lease, conn, now);
        match next {
            Next::Rest => {}
            Next::Linger => self.stir.notify_one(),
            Next::Wake(wake) => self.wake(worker, wake),
            Next::Close(conn, _, closing) => self.close(worker, conn, closing),
        }
        if let Some(owner) = owner {
            // Its session may wait for it, and whoever had it may not have asked.
            owner.news.notify_waiters();
        }
    }

    /// Gives up a connection that nobody can use any more.
    pub(crate) fn forget(&self, worker: &Rc<Worker>, lent: Lent, reason: CloseReason) {
        lent.conn.leg.transport.abort();
        self.forget_lease(worker, lent.lease, reason);
    }

    /// Takes a connection out of the pool for good: a session keeps it to its end.
    pub(crate) fn take_out(&self, worker: &Rc<Worker>, lent: Lent) -> Connection {
        self.forget_lease(worker, lent.lease, CloseReason::Ended);
        lent.conn
    }

    fn forget_lease(&self, worker: &Rc<Worker>, lease: Lease, reason: CloseReason) {
        let now = self.now(worker);
        let wakes = self.pool.borrow_mut().forget(lease, reason, now);
        self.wake_all(worker, wakes);
    }

    fn wake_all(&self, worker: &Rc<Worker>, wakes: Vec<Wake<Connection, Waiter>>) {
        for wake in wakes {
            self.wake(worker, wake);
        }
    }

    fn wake(&self, worker: &Rc<Worker>, Wake { waiter, grant }: Wake<Connection, Waiter>) {
        if let Err(Granted::Grant(grant)) = waiter.send(Granted::Grant(grant)) {
            self.take_back(worker, grant);
        }
    }

    /// Who waited has gone.
    fn take_back(&self, worker: &Rc<Worker>, grant: Grant<Connection>) {
        match grant {
            Grant::Connection(conn, lease) => {
                self.put_back(worker, conn, lease, self.now(worker));
            }
            Grant::Permit(permit) => {
                let now = self.now(worker);
                let wakes = self.pool.borrow_mut().waive(permit, now);
                self.wake_all(worker, wakes);
            }
        }
    }

    /// Says goodbye to a backend, in a task of its own. What a session may still ask is asked before.
    fn close(&self, worker: &Rc<Worker>, mut conn: Connection, closing: pool::Closing) {
        let worker = Rc::clone(worker);
        // At once: its session may go on over another connection before the task begins.
        let questions = super::aftermath::claim(&mut conn, &Rc::default());
        tokio::task::spawn_local(async move {
            if conn.is_alive() {
                // It is closed anyway.
                let _ = super::aftermath::ask(&worker, &mut conn, questions).await;
            } else {
                drop(questions);
            }
            conn.say_goodbye().await;
            drop(conn);
            let now = worker.desk.now(&worker);
            let wakes = worker.desk.pool.borrow_mut().closed(closing, now);
            worker.desk.wake_all(&worker, wakes);
        });
    }

    /// Does what is due, as long as the worker lives.
    pub(crate) async fn keep(worker: Rc<Worker>) {
        let desk = &worker.desk;
        let bell = worker.shared.ceilings.bell();
        let mut topologies = worker.surroundings.topology.clone();
        let mut settings = worker.surroundings.settings.clone();
        let mut accounts = worker.surroundings.accounts.clone();
        loop {
            let now = desk.now(&worker);
            let due = desk.pool.borrow().next_tick(now);
            desk.planned.set(due);
            let wait = async {
                match due {
                    Some(due) => tokio::time::sleep(due.saturating_sub(now)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = accounts.changed() => match changed {
                    Ok(()) => {
                        let accounts = Arc::clone(&accounts.borrow_and_update());
                        worker.shared.keyring.keep_only(&accounts);
                    }
                    Err(_) => return,
                },
                () = wait => {}
                () = desk.stir.notified() => {}
                () = bell.notified() => {}
                changed = topologies.changed() => match changed {
                    Ok(()) => {
                        let topology = Arc::clone(&topologies.borrow_and_update());
                        desk.follow(&worker, topology);
                    }
                    Err(_) => return,
                },
                changed = settings.changed() => match changed {
                    Ok(()) => {
                        let settings = Arc::clone(&settings.borrow_and_update());
                        desk.resupply(&worker, &settings.config.pool);
                    }
                    Err(_) => return,
                },
            }
            let now = desk.now(&worker);
            let actions = desk.pool.borrow_mut().tick(now);
            desk.act(&worker, actions);
            desk.sweep();
        }
    }

    fn act(&self, worker: &Rc<Worker>, actions: Vec<Action<ShelfId, Connection, Waiter>>) {
        for action in actions {
            match action {
                Action::Wake(wake) => self.wake(worker, wake),
                Action::Refuse(waiter, refusal) => {
                    let _ = waiter.send(Granted::Refused(refusal));
                }
                Action::Open(shelf, permit) => {
                    let worker = Rc::clone(worker);
                    tokio::task::spawn_local(async move {
                        let opened = worker.desk.open(&worker, shelf, permit).await;
                        if let Ok(lent) = opened {
                            worker.desk.give_back(&worker, lent);
                        }
                    });
                }
                Action::Ping(conn, lease) => self.ping(worker, conn, lease),
                Action::Close(conn, _, closing) => self.close(worker, conn, closing),
            }
        }
    }

    fn ping(&self, worker: &Rc<Worker>, mut conn: Connection, lease: Lease) {
        let worker = Rc::clone(worker);
        tokio::task::spawn_local(async move {
            let limit = worker
                .surroundings
                .settings
                .borrow()
                .config
                .health
                .timeout_connect;
            let answered = tokio::time::timeout(limit, async {
                match conn.is_alive() {
                    true => conn.ask(&worker, Command::PING, b"").await.is_ok(),
                    false => false,
                }
            });
            let is_well = answered.await.unwrap_or(false);
            let lent = Lent::new(conn, lease);
            match is_well {
                true => worker.desk.give_back(&worker, lent),
                false => worker.desk.forget(&worker, lent, CloseReason::Broken),
            }
        });
    }

    /// Shuts what leads to backends that are down or gone, and opens it again.
    fn follow(&self, worker: &Rc<Worker>, topology: Arc<route::Topology>) {
        let now = self.now(worker);
        let backend_of = |id: &ShelfId| {
            let shelves = self.shelves.borrow();
            let id = shelves.get(id).map(|shelf| shelf.backend.id)?;
            topology.backend(id).map(Arc::clone)
        };
        let is_usable = |id: &ShelfId| backend_of(id).is_some_and(|backend| backend.is_usable());
        let actions = self.pool.borrow_mut().shut(|id| !is_usable(id));
        self.act(worker, actions);
        self.pool.borrow_mut().reopen(is_usable, now);
        *worker.topology.borrow_mut() = topology;
        self.news.notify_waiters();
    }

    /// Applies changed limits.
    fn resupply(&self, worker: &Worker, config: &PoolConfig) {
        self.paces.borrow_mut().clear();
        let shelves: Vec<_> = self
            .shelves
            .borrow()
            .iter()
            .map(|(id, shelf)| (*id, Rc::clone(shelf)))
            .collect();
        for (id, shelf) in shelves {
            let supply = self.supply(worker, config, &shelf.backend, &shelf.kind);
            self.pool.borrow_mut().supply(id, supply);
        }
    }

    /// Forgets shelves that have nothing, when there are many.
    fn sweep(&self) {
        if self.shelves.borrow().len() <= EMPTY_SHELVES_MAX {
            return;
        }
        let empty: std::collections::HashSet<ShelfId> = {
            let pool = self.pool.borrow();
            pool.all_figures(Duration::ZERO)
                .filter(|(_, figures)| figures.connections() == 0 && figures.waiting == 0)
                .map(|(id, _)| *id)
                .collect()
        };
        self.sweeps.set(self.sweeps.get() + 1);
        // Nothing is there, so nothing is to be done for it.
        drop(self.pool.borrow_mut().remove(|id| empty.contains(id)));
        self.shelves
            .borrow_mut()
            .retain(|id, _| !empty.contains(id));
        self.numbers
            .borrow_mut()
            .retain(|_, id| !empty.contains(id));
    }

    /// Its connections, by backend and account.
    pub(crate) fn views(&self, worker: &Worker) -> Vec<PoolView> {
        let now = self.now(worker);
        let pool = self.pool.borrow();
        let shelves = self.shelves.borrow();
        let mut views: Vec<PoolView> = Vec::new();
        for (id, figures) in pool.all_figures(now) {
            let Some(shelf) = shelves.get(id) else {
                continue;
            };
            let account = shelf.kind.account.to_string();
            let is_it =
                |view: &PoolView| view.backend == shelf.backend.id && view.account == account;
            match views.iter_mut().find(|view| is_it(view)) {
                Some(view) => view.figures += &figures,
                None => views.push(PoolView {
                    backend: shelf.backend.id,
                    name: shelf.backend.name.clone(),
                    account,
                    user: String::from_utf8_lossy(&shelf.login.user).into_owned(),
                    figures,
                }),
            }
        }
        views
    }

    /// Ends all that lies idle: the worker drains.
    pub(crate) fn shut_idle(&self, worker: &Rc<Worker>) {
        let actions = self
            .pool
            .borrow_mut()
            .weed(|_| true, |_| true, CloseReason::Shut);
        self.act(worker, actions);
    }
}

fn limits(config: &PoolConfig) -> Limits {
    Limits {
        connections_max: config.backend_connections_max,
        idle_min: config.connections_min,
        idle_max: config.backend_connections_max,
        waiters_max: config.waiters_max,
        age_max: Some(config.age_max).filter(|age| !age.is_zero()),
        age_jitter: config.age_max / 10,
        idle_time_max: Some(config.timeout_idle).filter(|time| !time.is_zero()),
        ping_interval: Some(config.ping_interval).filter(|time| !time.is_zero()),
        ..Limits::default()
    }
}
