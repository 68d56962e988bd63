//! What a worker's pool works with: the settings and backends in use, what all workers share, and the memory of
//! the worker.

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

/// One worker's connections to backends, and all that opening, lending and keeping them needs.
pub struct PoolEnv {
    /// How many workers there are.
    pub workers: usize,
    /// Tells the time.
    pub clock: Box<dyn Fn() -> Moment>,
    /// The time of day, and random bytes.
    pub system: System,
    /// The current configuration.
    pub settings: watch::Receiver<Arc<Settings>>,
    /// The current backends, as they come.
    pub topologies: watch::Receiver<Arc<Topology>>,
    /// The current backends, as this worker knows them.
    pub topology: RefCell<Arc<Topology>>,
    /// What the control plane should know.
    pub reports: mpsc::UnboundedSender<Report>,
    /// What all workers share.
    pub shared: Arc<SharedPools>,
    /// Where bytes are read to; borrowed between two polls of sockets, never across one.
    pub scratch: RefCell<Box<[u8]>>,
    /// How backends have greeted.
    pub greeting: OwnGreeting,
    /// What pooled sessions share besides.
    pub store: Store,
}

impl PoolEnv {
    /// The time.
    pub fn now(&self) -> Moment {
        (self.clock)()
    }

    /// Whether what uses the backend has to leave it at once.
    pub fn is_disabled(&self, backend: BackendId) -> bool {
        let topology = self.topology.borrow();
        let known = topology.backend(backend);
        known.is_some_and(|it| it.duty == Duty::Disabled)
    }

    /// Tells the control plane; it may be gone while the process stops.
    pub fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }
}

/// What all workers share of pooled connections.
#[derive(Default)]
pub struct SharedPools {
    /// What clients have proven.
    pub keyring: SharedKeyring,
    /// Limits of pooled connections.
    pub connection_limits: ConnectionLimits,
    /// Changes of accounts and privileges, as far as was seen.
    pub privileges: PrivilegeChanges,
    /// Global variables of backends, as far as was seen.
    pub globals: GlobalVariables,
    /// What was ended so that others can go on.
    pub forced_ends: ForcedEnds,
    definitions: AtomicU64,
    /// How often kept statements were to be closed.
    kept: AtomicU64,
}

impl SharedPools {
    /// How often definitions of tables have changed, as far as was seen.
    pub fn definitions_epoch(&self) -> u64 {
        self.definitions.load(Ordering::Relaxed)
    }

    /// What was prepared before may be prepared as something else now.
    pub fn definitions_changed(&self) {
        self.definitions.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the statements that connections keep prepared were to be closed.
    pub fn kept_epoch(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// The statements that connections keep prepared hinder somebody: all workers close them.
    pub fn close_kept(&self) {
        self.kept.fetch_add(1, Ordering::AcqRel);
        self.connection_limits.notify_all();
    }

    /// Connections that logged in before serve nobody any more, in any worker.
    pub fn privileges_changed(&self, concerned: AffectedUsers) {
        self.privileges.change(concerned);
        self.connection_limits.notify_all();
    }
}
