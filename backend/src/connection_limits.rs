//! The limits of pooled connections that span workers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use auth::AccountId;
use config::PoolConfig;
use pool::ConnectionLimit;
use route::BackendId;
use tokio::sync::Notify;

/// One limit for each backend and, if `pool.account_connections_max` is set, one for each account on it.
#[derive(Default)]
pub struct ConnectionLimits {
    known: Mutex<Limits>,
}

#[derive(Default)]
struct Limits {
    backends: HashMap<BackendId, Arc<ConnectionLimit>>,
    accounts: HashMap<(BackendId, AccountId), Arc<ConnectionLimit>>,
    subscribers: Arc<Mutex<Vec<Arc<Notify>>>>,
}

impl ConnectionLimits {
    /// Notified when a connection may be opened or given back: the worker looks at its pool then.
    pub fn subscribe(&self) -> Arc<Notify> {
        let subscriber = Arc::new(Notify::new());
        let known = self.known();
        locked(&known.subscribers).push(Arc::clone(&subscriber));
        subscriber
    }

    /// Notifies every worker.
    pub fn notify_all(&self) {
        let subscribers = Arc::clone(&self.known().subscribers);
        notify(&subscribers);
    }

    /// The limits for connections of an account to a backend, with the figures of this configuration.
    pub fn of(
        &self,
        config: &PoolConfig,
        backend: BackendId,
        account: &AccountId,
    ) -> Vec<Arc<ConnectionLimit>> {
        let mut known = self.known();
        let subscribers = Arc::clone(&known.subscribers);
        let connection_limit = |limit| {
            let subscribers = Arc::clone(&subscribers);
            ConnectionLimit::new(limit, move || notify(&subscribers))
        };
        let limit = config.backend_connections_max;
        let of_backend = known
            .backends
            .entry(backend)
            .or_insert_with(|| connection_limit(limit));
        of_backend.set_limit(limit);
        let mut all = vec![Arc::clone(of_backend)];
        if let Some(limit) = config.account_connections_max {
            let of_account = known
                .accounts
                .entry((backend, account.clone()))
                .or_insert_with(|| connection_limit(limit));
            of_account.set_limit(limit);
            all.push(Arc::clone(of_account));
        }
        all
    }

    fn known(&self) -> MutexGuard<'_, Limits> {
        locked(&self.known)
    }
}

fn notify(subscribers: &Mutex<Vec<Arc<Notify>>>) {
    for subscriber in locked(subscribers).iter() {
        subscriber.notify_one();
    }
}

/// Nothing is left half done under these locks, so a panic elsewhere is no reason to stop here.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
