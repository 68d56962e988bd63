//! The limits of pooled connections that span workers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use auth::AccountId;
use config::PoolConfig;
use pool::Ceiling;
use route::BackendId;
use tokio::sync::Notify;

/// One ceiling for each backend and, where configured, for each account on it.
#[derive(Default)]
pub(crate) struct Ceilings {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    backends: HashMap<BackendId, Arc<Ceiling>>,
    accounts: HashMap<(BackendId, AccountId), Arc<Ceiling>>,
    bells: Arc<Mutex<Vec<Arc<Notify>>>>,
}

impl Ceilings {
    /// What rings when a worker should look at its pool.
    pub(crate) fn bell(&self) -> Arc<Notify> {
        let bell = Arc::new(Notify::new());
        let known = self.known();
        locked(&known.bells).push(Arc::clone(&bell));
        bell
    }

    /// Every worker is to look at its pool.
    pub(crate) fn ring(&self) {
        let bells = Arc::clone(&self.known().bells);
        ring(&bells);
    }

    /// The ceilings over connections of an account to a backend.
    pub(crate) fn of(
        &self,
        config: &PoolConfig,
        backend: BackendId,
        account: &AccountId,
    ) -> Vec<Arc<Ceiling>> {
        let mut known = self.known();
        let bells = Arc::clone(&known.bells);
        let ceiling = |limit| {
            let bells = Arc::clone(&bells);
            Ceiling::new(limit, move || ring(&bells))
        };
        let limit = config.backend_connections_max;
        let of_backend = known
            .backends
            .entry(backend)
            .or_insert_with(|| ceiling(limit));
        of_backend.set_limit(limit);
        let mut all = vec![Arc::clone(of_backend)];
        if let Some(limit) = config.account_connections_max {
            let of_account = known
                .accounts
                .entry((backend, account.clone()))
                .or_insert_with(|| ceiling(limit));
            of_account.set_limit(limit);
            all.push(Arc::clone(of_account));
        }
        all
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        locked(&self.known)
    }
}

fn ring(bells: &Mutex<Vec<Arc<Notify>>>) {
    for bell in locked(bells).iter() {
        bell.notify_one();
    }
}

/// Nothing is left half done under these locks, so a panic elsewhere is no reason to stop here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
