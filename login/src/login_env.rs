//! The environment of logins: the parts of one worker, and the parts that all workers share.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use auth::{Accounts, HostErrors, OwnKey, SharedThrottle};
use backend::pool_env::PoolEnv;
use net::watch;
use registry::session_registry::SessionRegistry;
use route::Dice;
use tokio::sync::Notify;

use crate::known_host_names::HostNames;

/// The environment of the logins of one worker.
pub struct LoginEnv {
    /// The number of the worker, from 0.
    pub worker: usize,
    /// Settings, backends, the clock, and the reports to the control plane.
    pub pool: Rc<PoolEnv>,
    /// The current accounts.
    pub accounts: watch::Receiver<Arc<Accounts>>,
    /// Random choice between backends that are equally good.
    pub dice: Rc<RefCell<Dice>>,
    /// Whether backends name clients' hosts by names.
    pub host_names: HostNames,
    /// The sessions by the ids that clients see.
    pub session_registry: Arc<SessionRegistry>,
    /// The state that all workers share.
    pub shared: Arc<SharedLogins>,
}

/// State that the logins of all workers share.
#[derive(Default)]
pub struct SharedLogins {
    sessions: AtomicUsize,
    /// Notified when a session has ended: a waiting client may take its place.
    pub left: Notify,
    /// The key with which clients encrypt passwords without TLS.
    pub own_key: Arc<OwnKey>,
    /// Failed logins, by host and user.
    pub throttle: SharedThrottle,
    /// Failed logins in a row, by host.
    pub host_errors: HostErrors,
}

impl SharedLogins {
    /// Takes a place among `max` sessions. `None` if all places are taken.
    pub fn enter(self: &Arc<Self>, max: usize) -> Option<SessionPermit> {
        self.sessions
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < max).then_some(count + 1)
            })
            .ok()
            .map(|_| SessionPermit(Arc::clone(self)))
    }
}

/// The permit of one session, given back when it is dropped.
pub struct SessionPermit(Arc<SharedLogins>);

impl Drop for SessionPermit {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
        self.0.left.notify_one();
    }
}
