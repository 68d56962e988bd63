//! The environment of the workers: immutable snapshots to read, a channel for reports, and the
//! state that spans workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use auth::Accounts;
use login::login_env::SharedLogins;
use net::{clock, watch};
use route::{Definitions, Moment, Report, Topology};
use system::System;
use tokio::sync::mpsc;

use backend::pool_env::SharedPools;
use backend::settings::Settings;
use engine::engine_env::SharedEngine;
use registry::change_origins::ChangeOrigins;
use registry::session_registry::SessionRegistry;
use relay::joined_counts::JoinCounts;
use script_host::interpreters::AllScripts;
use stats::journal::{AuditEvent, Entry, Journal};
use stats::plans::store::Plans;
use stats::process_start::ProcessStart;
use stats::traces::Traces;

/// The environment of the data plane; cheap to clone.
#[derive(Clone)]
pub struct DataPlaneContext {
    /// The current configuration.
    pub settings: watch::Receiver<Arc<Settings>>,
    /// The current backends.
    pub topology: watch::Receiver<Arc<Topology>>,
    /// The current accounts.
    pub accounts: watch::Receiver<Arc<Accounts>>,
    /// The known effects of views, routines and triggers.
    pub definitions: watch::Receiver<Arc<Definitions>>,
    /// Sends reports to the control plane.
    pub reports: mpsc::UnboundedSender<Report>,
    /// Runs the scripts of sessions.
    pub scripts: Arc<AllScripts>,
    /// The sessions that change objects, for the schema history.
    pub origins: Arc<ChangeOrigins>,
    /// The channel to the logs of statements and logins.
    pub journal: Arc<Journal>,
    /// The channel on which spans are sent.
    pub traces: Arc<Traces>,
    /// The time of day, and random bytes.
    pub system: System,
    /// When the process began; each [`Moment`] counts from here.
    pub started: Instant,
}

impl DataPlaneContext {
    pub(crate) fn now(&self) -> Moment {
        Moment::of(clock::now().into_std(), self.started)
    }

    /// Writes an event to the audit log, if there is one.
    pub(crate) fn audit(&self, event: impl FnOnce() -> AuditEvent) {
        if self.settings.borrow().config.audit_log.file.is_some() {
            self.journal.offer(Entry::Audit(Box::new(event())));
        }
    }

    /// Sends a report to the control plane, which may be gone while the process stops.
    pub(crate) fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }
}

/// The state that all workers share.
#[derive(Default)]
pub(crate) struct Shared {
    numbers: AtomicU32,
    /// Whether the proxy accepts no more clients.
    pub is_stopping: AtomicBool,
    /// The sessions, by the ids that clients see.
    pub session_registry: Arc<SessionRegistry>,
    /// The shared state of pooled connections.
    pub pools: Arc<SharedPools>,
    /// The shared state of logins.
    pub logins: Arc<SharedLogins>,
    /// The shared state of pooled sessions.
    pub engine: Arc<SharedEngine>,
    /// How servers run statements, and which indexes they have.
    pub plans: Arc<Plans>,
    /// Counts of sessions that the kernel was to join.
    pub joins: Arc<JoinCounts>,
    /// When the process began.
    pub began: ProcessStart,
}

impl Shared {
    /// Returns an id for a session whose client sees no id of the proxy's own.
    pub(crate) fn next_number(&self) -> u32 {
        const NUMBERS: u32 = registry::session_registry::FIRST_ID - 1;
        1 + self.numbers.fetch_add(1, Ordering::Relaxed) % NUMBERS
    }
}
