//! Finds the sub-pool for a session's connections to a backend, or makes a new one with its limits.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::PoolConfig;
use pool::{Limits, RateLimit, Supply};
use route::{Backend, BackendId};

use crate::running_limit::RunningLimit;
use crate::sub_pool::{BackendLogin, KnownSubPool, PoolKey, SubPool, SubPoolId};
use crate::worker_pool::WorkerPool;

/// How many sub-pools a worker remembers while they have no connections.
const EMPTY_SUB_POOLS_MAX: usize = 256;

impl WorkerPool {
    /// Returns the same as [`sub_pool`](Self::sub_pool), but looks it up only if `known` does not fit.
    pub fn known_sub_pool(
        &self,
        known: &mut Option<KnownSubPool>,
        backend: &Arc<Backend>,
        kind: &Rc<PoolKey>,
        login: &Rc<BackendLogin>,
    ) -> SubPoolId {
        let sweeps = self.sweeps.get();
        if let Some(KnownSubPool {
            sub_pool,
            sweeps: then,
        }) = known
            && *then == sweeps
            && sub_pool.is_of(backend, kind, login)
        {
            return sub_pool.id;
        }
        let sub_pool = self.sub_pool(backend, kind, login);
        let id = sub_pool.id;
        *known = Some(KnownSubPool { sub_pool, sweeps });
        id
    }

    /// The sub-pool for connections of `kind` to `backend`; the credential is the latest one known.
    pub fn sub_pool(
        &self,
        backend: &Arc<Backend>,
        kind: &Rc<PoolKey>,
        login: &Rc<BackendLogin>,
    ) -> Rc<SubPool> {
        let key = (backend.id, Rc::clone(kind));
        let known = self.numbers.borrow().get(&key).copied();
        if let Some(id) = known
            && let Some(sub_pool) = self.sub_pools.borrow().get(&id)
            && sub_pool.is_of(backend, kind, login)
        {
            return Rc::clone(sub_pool);
        }
        let id = known.unwrap_or_else(|| {
            let id = self.next.get();
            self.next.set(id + 1);
            self.numbers.borrow_mut().insert(key, id);
            let supply = self.supply(backend, kind);
            self.pool.borrow_mut().supply(id, supply);
            id
        });
        let sub_pool = Rc::new(SubPool {
            id,
            kind: Rc::clone(kind),
            backend: Arc::clone(backend),
            login: Rc::clone(login),
            running: self.running_limit(backend.id),
        });
        self.sub_pools.borrow_mut().insert(id, Rc::clone(&sub_pool));
        sub_pool
    }

    /// The limit of a backend, with the bounds of the latest configuration.
    fn running_limit(&self, backend: BackendId) -> Arc<RunningLimit> {
        let config = &self.env.settings.borrow().config.pool;
        self.env.shared.connection_limits.running(config, backend)
    }

    /// Returns the limits of a sub-pool by the latest configuration, and what it shares with other sub-pools.
    /// A session from before a reload may be the caller, so the session's own configuration is not used.
    pub fn supply(&self, backend: &Arc<Backend>, kind: &PoolKey) -> Supply {
        let config = &self.env.settings.borrow().config.pool;
        let rate_limit = Rc::clone(
            self.rate_limits
                .borrow_mut()
                .entry(backend.id)
                .or_insert_with(|| {
                    // Each worker has an even share, at least one.
                    let workers = u32::try_from(self.env.workers).unwrap_or(1).max(1);
                    Rc::new(RateLimit::new(
                        (config.opens_per_second / workers).max(1),
                        (config.opens_burst / workers).max(1),
                        Duration::ZERO,
                    ))
                }),
        );
        let connection_limits = &self.env.shared.connection_limits;
        Supply {
            limits: limits(config),
            rate_limit,
            holdings: connection_limits.holdings(config, backend.id, &kind.account),
        }
    }

    /// Forgets sub-pools without connections, if there are many.
    pub fn sweep(&self) {
        if self.sub_pools.borrow().len() <= EMPTY_SUB_POOLS_MAX {
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
        // These sub-pools are empty, so the returned actions need not be done.
        drop(self.pool.borrow_mut().remove(|id| empty.contains(id)));
        self.sub_pools
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
