//! What makes backend connections interchangeable, and the shelves of a worker's pool that have those that are.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use auth::{Account, AccountId, Credential};
use config::PoolConfig;
use pool::{Holding, Limits, Pace, Supply};
use route::Backend;
use wire::Capabilities;

use super::worker_pool::WorkerPool;
use crate::worker::Worker;

/// How many kinds of connections a worker remembers without having any of them.
const EMPTY_SHELVES_MAX: usize = 256;

/// Everything that a login fixes for a connection's life. Sessions with equal kinds may use each
/// other's connections, once their states are made equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub account: AccountId,
    /// The user that the client is: the account's, or of an anonymous account the name that the client gave.
    pub user: Box<[u8]>,
    /// What client and backend agreed on, without what belongs to one leg.
    pub capabilities: Capabilities,
    /// The collation named at login, which decides the character sets to begin with. Those beyond 255
    /// are named by COM_CHANGE_USER only.
    pub collation: u16,
}

/// One shelf of a worker's pool: connections of one kind to one backend.
#[derive(Debug)]
pub(crate) struct SubPool {
    pub id: SubPoolId,
    pub kind: Rc<Kind>,
    pub backend: Arc<Backend>,
    pub login: Rc<BackendLogin>,
}

impl SubPool {
    /// Whether it is that of a session with these, which were made once and are handed about.
    pub(crate) fn is_of(
        &self,
        backend: &Arc<Backend>,
        kind: &Rc<Kind>,
        login: &Rc<BackendLogin>,
    ) -> bool {
        Rc::ptr_eq(&self.login, login)
            && Rc::ptr_eq(&self.kind, kind)
            && Arc::ptr_eq(&self.backend, backend)
    }
}

/// Whom a backend is told that we are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BackendLogin {
    pub user: Vec<u8>,
    pub credential: Credential,
}

impl BackendLogin {
    /// For a client that is `user` by this account.
    pub(crate) fn of(account: &Account, user: &[u8], credential: Credential) -> Self {
        Self {
            user: Self::user_of(account, user).to_vec(),
            credential,
        }
    }

    /// As whom a client that is `user` by this account is logged in.
    pub(crate) fn user_of<'a>(account: &'a Account, user: &'a [u8]) -> &'a [u8] {
        match &account.backend {
            Some(login) => login.user.as_bytes(),
            None => user,
        }
    }
}

/// The shelf that a session has had its last connection from: it is looked up once, and not for each
/// command.
#[derive(Debug)]
pub(crate) struct KnownSubPool {
    pub shelf: Rc<SubPool>,
    /// How often shelves had been swept away by then.
    pub sweeps: u64,
}

/// A shelf's number in its worker.
pub(crate) type SubPoolId = usize;

impl WorkerPool {
    /// The same as [`shelf`](Self::shelf), which is asked only where `known` is not it.
    pub(crate) fn shelf_again(
        &self,
        known: &mut Option<KnownSubPool>,
        worker: &Worker,
        config: &PoolConfig,
        backend: &Arc<Backend>,
        kind: &Rc<Kind>,
        login: &Rc<BackendLogin>,
    ) -> SubPoolId {
        let sweeps = self.sweeps.get();
        if let Some(KnownSubPool {
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
        *known = Some(KnownSubPool { shelf, sweeps });
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
    ) -> Rc<SubPool> {
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
        let shelf = Rc::new(SubPool {
            id,
            kind: Rc::clone(kind),
            backend: Arc::clone(backend),
            login: Rc::clone(login),
        });
        self.shelves.borrow_mut().insert(id, Rc::clone(&shelf));
        shelf
    }

    pub(crate) fn supply(
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

    /// Forgets shelves that have nothing, when there are many.
    pub(crate) fn sweep(&self) {
        if self.shelves.borrow().len() <= EMPTY_SHELVES_MAX {
            return;
        }
        let empty: HashSet<SubPoolId> = {
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
}

fn limits(config: &PoolConfig) -> Limits {
    let ages = [config.age_max, config.login_age_max];
    let age_max = ages.into_iter().filter(|age| !age.is_zero()).min();
    Limits {
        connections_max: config.backend_connections_max,
        idle_min: config.connections_min,
        idle_max: config.backend_connections_max,
        waiters_max: config.waiters_max,
        age_max,
        age_jitter: age_max.unwrap_or_default() / 10,
        idle_time_max: Some(config.timeout_idle).filter(|time| !time.is_zero()),
        ping_interval: Some(config.ping_interval).filter(|time| !time.is_zero()),
        ..Limits::default()
    }
}
