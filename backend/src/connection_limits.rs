//! The limits of pooled connections that span workers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use auth::AccountId;
use config::PoolConfig;
use pool::{ConnectionLimit, Holding, LimitFigures, excess};
use route::BackendId;
use tokio::sync::Notify;

use crate::kept_connections::{KeptConnections, Uses};
use crate::running_limit::{self, RunningLimit};

/// One limit for each backend and, if `pool.account_connections_max` is set, one for each account on it.
#[derive(Default)]
pub struct ConnectionLimits {
    known: Mutex<Limits>,
}

#[derive(Default)]
struct Limits {
    backends: BTreeMap<BackendId, Arc<ConnectionLimit>>,
    accounts: HashMap<(BackendId, AccountId), Arc<ConnectionLimit>>,
    running: HashMap<BackendId, Arc<RunningLimit>>,
    kept: KeptConnections,
    subscribers: Arc<Mutex<Vec<Arc<Notify>>>>,
}

impl ConnectionLimits {
    /// Returns a handle that is notified when a connection may be opened or given back, so that the worker checks its
    /// pool.
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

    /// Returns the parts of the limits for an account's connections to a backend, with the values of this
    /// configuration.
    pub fn holdings(
        &self,
        config: &PoolConfig,
        backend: BackendId,
        account: &AccountId,
    ) -> Vec<Holding> {
        let known = &mut *self.known();
        let subscribers = Arc::clone(&known.subscribers);
        let connection_limit = |limit| {
            let subscribers = Arc::clone(&subscribers);
            ConnectionLimit::new(limit, move || notify(&subscribers))
        };
        if let Some(running) = known.running.get(&backend) {
            running_limit::configure(running, config);
        }
        let limit = config.backend_connections_max;
        let of_backend = known
            .backends
            .entry(backend)
            .or_insert_with(|| connection_limit(limit));
        of_backend.set_limit(limit);
        let share = known.kept.share_of(account);
        let mut all = vec![Holding::of_account(of_backend, share)];
        if let Some(limit) = config.account_connections_max {
            let of_account = known
                .accounts
                .entry((backend, account.clone()))
                .or_insert_with(|| connection_limit(limit));
            of_account.set_limit(limit);
            all.push(Holding::new(of_account));
        }
        all
    }

    /// The limit of statements that run on a backend, with the bounds of this configuration.
    pub fn running(&self, config: &PoolConfig, backend: BackendId) -> Arc<RunningLimit> {
        let known = &mut *self.known();
        let of_backend = known.running.entry(backend);
        let limit = of_backend.or_insert_with(|| Arc::new(running_limit::new(config)));
        running_limit::configure(limit, config);
        Arc::clone(limit)
    }

    /// Returns the figures of the limits of running statements, by backend.
    pub fn running_figures(&self) -> Vec<(BackendId, LimitFigures)> {
        let known = self.known();
        let all = known.running.iter();
        let mut all: Vec<_> = all
            .map(|(backend, limit)| (*backend, limit.figures()))
            .collect();
        all.sort_unstable_by_key(|(backend, _)| *backend);
        all
    }

    /// Stores what a worker's sessions do. Returns how many of its idle sessions have to give up
    /// their connections, by account and backend.
    pub fn take_uses(
        &self,
        worker: usize,
        uses: Uses,
        config: &PoolConfig,
        now: Duration,
    ) -> BTreeMap<(AccountId, BackendId), u32> {
        let percent = config.account_kept_percent_max;
        let Limits { backends, kept, .. } = &mut *self.known();
        kept.by_worker.insert(worker, uses);
        let mut given_up = BTreeMap::new();
        for (backend, limit) in backends {
            let found = kept.at(*backend);
            kept.bind((*backend, limit), &found, percent, now);
            for (account, found) in found {
                let above = excess(found, (limit.limit(), percent));
                if above == 0 || !limit.is_waited_for_by_others(kept.share_of(&account)) {
                    continue;
                }
                let key = (account.clone(), Some(*backend));
                let count = kept.give_up(worker, key, above);
                if count > 0 {
                    given_up.insert((account, *backend), count);
                }
            }
        }
        given_up
    }

    /// Whether an account has a limit at a backend.
    pub fn is_bounded(&self, backend: BackendId, account: &AccountId) -> bool {
        let Limits { backends, kept, .. } = &mut *self.known();
        let limit = backends.get(&backend);
        limit.is_some_and(|limit| limit.share(kept.share_of(account)).1)
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

/// No panic leaves the data under these locks half changed, so a panic in another thread is no reason to stop.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pool::AccountUse;

    fn accounts() -> [AccountId; 2] {
        let config = ["app", "other"].map(|user| config::AccountConfig {
            user: user.to_owned(),
            ..config::AccountConfig::default()
        });
        let known = auth::configured(&config, [0; 32]).unwrap();
        let origin = auth::Origin::tcp([10, 1, 2, 3].into(), None);
        [&b"app"[..], b"other"].map(|user| known.find(user, &origin).unwrap().id().clone())
    }

    fn keep(count: u32) -> AccountUse {
        AccountUse {
            idle_transactions: count,
            kept: count,
            kept_idle: count,
            ..AccountUse::default()
        }
    }

    #[test]
    fn connections_above_the_bound_are_released_once_over_all_workers_while_others_wait() {
        let config = PoolConfig {
            backend_connections_max: 10,
            ..PoolConfig::default()
        };
        let [app, other] = accounts();
        let backend = BackendId(1);
        let limits = ConnectionLimits::default();
        let all = limits.holdings(&config, backend, &app);
        let none = limits.holdings(&config, backend, &other);
        let mut pool = pool::Pool::<u8, u8, u8>::new(1);
        for (key, holdings) in [(1, all), (2, none)] {
            let rate_limit = std::rc::Rc::new(pool::RateLimit::new(1000, 1000, Duration::ZERO));
            let supply = pool::Supply {
                limits: pool::Limits {
                    open_wait_max: Duration::ZERO,
                    ..pool::Limits::default()
                },
                rate_limit,
                holdings,
            };
            pool.supply(key, supply);
        }
        let mut check_out = |key| {
            let wish = pool::Wish {
                distance: |_: &u8| 0,
                waiter: || key,
                patience: Duration::from_secs(9),
                waiting_elsewhere: 0,
            };
            pool.check_out(&key, wish, Duration::from_secs(1))
        };
        let held: Vec<_> = (0..10).map(|_| check_out(1)).collect();
        let uses = |app_keeps, other_is_there| {
            let mut uses = Uses::from([((app.clone(), Some(backend)), keep(app_keeps))]);
            if other_is_there {
                uses.insert((other.clone(), None), AccountUse::default());
            }
            uses
        };
        let now = Duration::from_secs(1);
        assert!(limits.take_uses(0, uses(5, false), &config, now).is_empty());
        assert!(limits.take_uses(1, uses(5, false), &config, now).is_empty());
        assert!(!limits.is_bounded(backend, &app), "it is alone");
        assert!(limits.take_uses(1, uses(5, true), &config, now).is_empty());
        assert!(limits.is_bounded(backend, &app));
        let waits = check_out(2);
        let given_up = limits.take_uses(0, uses(5, true), &config, now);
        assert_eq!(given_up, BTreeMap::from([((app.clone(), backend), 2)]));
        assert!(limits.take_uses(1, uses(5, true), &config, now).is_empty());
        let generous = PoolConfig {
            account_kept_percent_max: 100,
            ..config
        };
        assert!(
            limits
                .take_uses(0, uses(5, true), &generous, now)
                .is_empty()
        );
        assert!(!limits.is_bounded(backend, &app));
        drop((held, waits));
    }
}
