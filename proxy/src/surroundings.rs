//! What workers need from outside: immutable snapshots to read, a channel to report on, and the one
//! count that spans workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use auth::{Accounts, HostErrors, OwnKey, ServerKey, SharedKeyring, SharedThrottle};
use config::Config;
use net::tls::{ClientTls, ServerTls};
use route::rules::Compiled;
use route::{Definitions, Moment, Report, Topology};
use tokio::sync::{Notify, mpsc, watch};

use crate::book::Tallies;
use crate::pooled::exchange::times::AllTimes;
use crate::pooled::rules::statement_limits::Limits;
use crate::scripted::all::AllScripts;
use backend::connection_limits::ConnectionLimits;
use backend::global_variables::GlobalVariables;
use backend::privilege_changes::{AffectedUsers, PrivilegeChanges};
use registry::session_registry::SessionRegistry;
use stats::journal::{AuditEvent, Entry, Journal};
use stats::lane_counts::AllLaneCounts;
use stats::plans::store::Plans;
use stats::process_start::ProcessStart;
use stats::profiles::ProfilingCounts;
use stats::traces::Traces;

/// A snapshot of everything configured that sessions look at, made anew at each reload.
/// A session keeps the one it began with.
#[derive(Clone)]
pub struct Settings {
    /// The configuration.
    pub config: Arc<Config>,
    /// Its rules, and what hints mean.
    pub rules: Arc<Compiled>,
    /// TLS towards clients; `None` when it is off.
    pub client_tls: Option<Arc<ServerTls>>,
    /// TLS towards backends; `None` when it is off.
    pub backend_tls: Option<Arc<ClientTls>>,
    /// TLS for backends that ask for a full password, when it is off otherwise.
    pub password_tls: Option<Arc<ClientTls>>,
    /// The backends' public key, in PEM.
    pub backend_key: Option<Arc<[u8]>>,
}

impl Settings {
    /// By whose key a password may be encrypted on a connection in clear.
    pub(crate) fn server_key(&self) -> ServerKey<'_> {
        match &self.backend_key {
            Some(key) => ServerKey::Known(key),
            None if self.config.backend_tls.get_server_public_key => ServerKey::Asked,
            None => ServerKey::Refused,
        }
    }
}

/// Everything the data plane is given; cheap to clone.
#[derive(Clone)]
pub struct Surroundings {
    /// The configuration of the moment.
    pub settings: watch::Receiver<Arc<Settings>>,
    /// The backends of the moment.
    pub topology: watch::Receiver<Arc<Topology>>,
    /// The accounts of the moment.
    pub accounts: watch::Receiver<Arc<Accounts>>,
    /// What views, routines and triggers do, as far as that is known.
    pub definitions: watch::Receiver<Arc<Definitions>>,
    /// What the control plane should know.
    pub reports: mpsc::UnboundedSender<Report>,
    /// What runs sessions' scripts, if they run one.
    pub scripts: Arc<AllScripts>,
    /// The way to the logs of statements and logins.
    pub journal: Arc<Journal>,
    /// The way of spans to whoever sends them.
    pub traces: Arc<Traces>,
    /// When the process began; every [`Moment`] counts from here.
    pub started: Instant,
}

impl Surroundings {
    pub(crate) fn now(&self) -> Moment {
        Moment::of(Instant::now(), self.started)
    }

    /// Somebody has done something that the audit log is to have, if there is one.
    pub(crate) fn audit(&self, event: impl FnOnce() -> AuditEvent) {
        if self.settings.borrow().config.audit_log.file.is_some() {
            self.journal.offer(Entry::Audit(Box::new(event())));
        }
    }

    /// Tells the control plane; it may be gone while the process stops.
    pub(crate) fn report(&self, report: Report) {
        let _ = self.reports.send(report);
    }
}

/// What all workers share: how many sessions there are, and one key.
#[derive(Default)]
pub(crate) struct Shared {
    sessions: AtomicUsize,
    numbers: AtomicU32,
    /// The proxy takes no more clients.
    pub is_stopping: AtomicBool,
    /// Somebody may have left: a place may be free.
    pub left: Notify,
    pub own_key: OwnKey,
    /// Who is here, by the ids that clients see.
    pub people: Arc<SessionRegistry>,
    /// What clients have proven.
    pub keyring: SharedKeyring,
    /// Who failed to log in, and how often.
    pub throttle: SharedThrottle,
    /// Failed logins in a row, by host.
    pub host_errors: HostErrors,
    /// Limits of pooled connections.
    pub ceilings: ConnectionLimits,
    /// What rules have matched.
    pub tallies: Tallies,
    /// What has become of statements that might ride shared lanes.
    pub lane_counts: AllLaneCounts,
    /// How long statements have waited, and backends have taken.
    pub times: AllTimes,
    /// What was profiled, and what that has cost.
    pub profiling: ProfilingCounts,
    /// How many statements rules let through.
    pub limits: Limits,
    /// How servers run statements, and which indexes they have.
    pub plans: Plans,
    /// When the process began.
    pub began: ProcessStart,
    /// Changes of accounts and privileges, as far as was seen.
    pub privileges: PrivilegeChanges,
    /// Global variables of backends, as far as was seen.
    pub globals: GlobalVariables,
    definitions: AtomicU64,
    /// How often kept statements were to be closed.
    kept: AtomicU64,
}

impl Shared {
    /// What the proxy calls a session whose client sees no id of the proxy's own.
    pub(crate) fn next_number(&self) -> u32 {
        const NUMBERS: u32 = registry::session_registry::FIRST_ID - 1;
        1 + self.numbers.fetch_add(1, Ordering::Relaxed) % NUMBERS
    }

    /// How often definitions of tables have changed, as far as was seen.
    pub(crate) fn definitions_epoch(&self) -> u64 {
        self.definitions.load(Ordering::Relaxed)
    }

    /// What was prepared before may be prepared as something else now.
    pub(crate) fn definitions_changed(&self) {
        self.definitions.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the statements that connections keep prepared were to be closed.
    pub(crate) fn kept_epoch(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// The statements that connections keep prepared hinder somebody: all workers close them.
    pub(crate) fn close_kept(&self) {
        self.kept.fetch_add(1, Ordering::AcqRel);
        self.ceilings.notify_all();
    }

    /// Connections that logged in before serve nobody any more, in any worker.
    pub(crate) fn privileges_changed(&self, concerned: AffectedUsers) {
        self.privileges.change(concerned);
        self.ceilings.notify_all();
    }

    /// Takes a place among `max` sessions.
    pub(crate) fn enter(self: &Arc<Self>, max: usize) -> Option<Place> {
        self.sessions
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < max).then_some(count + 1)
            })
            .ok()
            .map(|_| Place(Arc::clone(self)))
    }
}

/// One session's place among all; given back when dropped.
pub(crate) struct Place(Arc<Shared>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
        self.0.left.notify_one();
    }
}
