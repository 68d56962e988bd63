//! What a worker's pool depends on: the current settings and backends, the state that all workers
//! share, and the worker's memory.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use auth::SharedKeyring;
use net::watch;
use route::{BackendId, Duty, Moment, Report, Topology};
use system::System;
use tokio::sync::mpsc;

use crate::connection_limits::ConnectionLimits;
use crate::forced_ends::ForcedEnds;
use crate::global_variables::GlobalVariables;
use crate::greeting::OwnGreeting;
use crate::privilege_changes::{AffectedUsers, PrivilegeChanges};
use crate::settings::Settings;
use crate::shared_store::Store;

/// What opening, leasing and keeping one worker's backend connections needs.
pub struct PoolEnv {
    /// How many workers there are.
    pub workers: usize,
    /// Returns the time.
    pub clock: Box<dyn Fn() -> Moment>,
    /// The time of day, and random bytes.
    pub system: System,
    /// The current configuration.
    pub settings: watch::Receiver<Arc<Settings>>,
    /// Receives each new topology.
    pub topologies: watch::Receiver<Arc<Topology>>,
    /// The topology that this worker uses now.
    pub topology: RefCell<Arc<Topology>>,
    /// Sends reports to the control plane.
    pub reports: mpsc::UnboundedSender<Report>,
    /// The state that all workers share.
    pub shared: Arc<SharedPools>,
    /// The buffer for reading; borrowed between two polls of sockets, never across one.
    pub scratch: RefCell<Box<[u8]>>,
    /// The greetings of the backends.
    pub greeting: OwnGreeting,
    /// What pooled sessions share besides connections.
    pub store: Store,
}

impl PoolEnv {
    /// Returns the time.
    pub fn now(&self) -> Moment {
        (self.clock)()
    }

    /// Whether an administrator has disabled the backend, so that its connections have to close at once.
    pub fn is_disabled(&self, backend: BackendId) -> bool {
        let topology = self.topology.borrow();
        let known = topology.backend(backend);
        known.is_some_and(|it| it.duty == Duty::Disabled)
    }

    /// Sends a report to the control plane, which may be gone while the process stops.
    pub fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }
}

/// The state of pooled connections that all workers share.
#[derive(Default)]
pub struct SharedPools {
    /// Credentials that clients have proven.
    pub keyring: SharedKeyring,
    /// Limits of pooled connections.
    pub connection_limits: ConnectionLimits,
    /// Changes of accounts and privileges, as far as the proxy has seen them.
    pub privileges: PrivilegeChanges,
    /// Global variables of backends, as far as the proxy has seen them.
    pub globals: GlobalVariables,
    /// Counts of what the proxy has ended so that other sessions can go on.
    pub forced_ends: ForcedEnds,
    definitions: AtomicU64,
    /// How often workers have been asked to close kept statements.
    kept: AtomicU64,
}

impl SharedPools {
    /// How many changes of table definitions the proxy has seen.
    pub fn definitions_epoch(&self) -> u64 {
        self.definitions.load(Ordering::Relaxed)
    }

    /// Counts a change of definitions: statements prepared before may mean something else now.
    pub fn definitions_changed(&self) {
        self.definitions.fetch_add(1, Ordering::Relaxed);
    }

    /// How often workers have been asked to close the statements that connections keep prepared.
    pub fn kept_epoch(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// Asks all workers to close the statements that connections keep prepared, because they hinder a client.
    pub fn close_kept(&self) {
        self.kept.fetch_add(1, Ordering::AcqRel);
        self.connection_limits.notify_all();
    }

    /// Records a change of privileges: in all workers, connections that logged in before serve no session any more.
    pub fn privileges_changed(&self, concerned: AffectedUsers) {
        self.privileges.change(concerned);
        self.connection_limits.notify_all();
    }
}
