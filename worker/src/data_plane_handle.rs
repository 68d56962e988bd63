//! The handle by which other parts of the process read the data plane and make a few requests. It keeps
//! nothing running.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use auth::{Accounts, HostErrors};
use net::clock;
use net::worker::Mailboxes;
use pool::LimitFigures;
use route::rules::Tally;
use route::{BackendId, KillScope, Moment, Topology};
use system::System;
use tokio::sync::mpsc;
use tokio::time::timeout_at;

use crate::context::{DataPlaneContext, Shared};
use crate::worker::Message;
use backend::forced_ends::ForcedEnds;
use backend::settings::Settings;
use link::memory::MemoryView;
use login::reception::{AdminClient, Reception};
use registry::session_registry::{Kill, Killed};
use registry::worker_view::{TimesView, WorkerView};
use relay::joined_counts::JoinView;
use script_hooks::admin_script::AdminScript;
use stats::journal::{AuditEvent, Journal};
use stats::plans::store::PlansView;
use stats::profiles::ProfilingCounts;
use stats::snapshot::{StatementStatsView, StatsRequest, StatsTable};
use stats::traces::Traces;

/// How long workers may take to report: a worker that a script keeps busy is left out.
const TIMEOUT_LOOK: Duration = Duration::from_secs(5);

/// A handle on the data plane; see the module.
#[derive(Clone)]
pub struct DataPlaneHandle {
    workers: Mailboxes<Message>,
    shared: Arc<Shared>,
    plane_context: DataPlaneContext,
}

impl DataPlaneHandle {
    pub(crate) fn new(
        workers: Mailboxes<Message>,
        shared: Arc<Shared>,
        plane_context: DataPlaneContext,
    ) -> Self {
        Self {
            workers,
            shared,
            plane_context,
        }
    }

    /// Whether the proxy accepts no more clients, because it ends.
    pub fn is_stopping(&self) -> bool {
        self.shared.is_stopping.load(Ordering::Relaxed)
    }

    /// Stops accepting clients.
    pub fn stops(&self) {
        self.shared.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> usize {
        self.workers.count()
    }

    /// Returns the reports of the workers, in their order; a worker that does not answer in time is left out.
    pub async fn views(&self) -> Vec<WorkerView> {
        let (to, mut told) = mpsc::unbounded_channel();
        self.workers.send_all(|| Message::View(to.clone()));
        drop(to);
        let mut views = Vec::new();
        let deadline = clock::now() + TIMEOUT_LOOK;
        while let Ok(Some(view)) = timeout_at(deadline, told.recv()).await {
            views.push(view);
        }
        views.sort_by_key(|view| view.worker);
        views
    }

    /// Returns the statement statistics of the workers; a worker that does not answer in time is left out.
    pub async fn statement_stats(&self, wish: StatsRequest) -> StatementStatsView {
        let (to, mut told) = mpsc::unbounded_channel();
        self.workers
            .send_all(|| Message::StatementStats(wish, to.clone()));
        drop(to);
        let mut view = StatementStatsView::default();
        let deadline = clock::now() + TIMEOUT_LOOK;
        while let Ok(Some(part)) = timeout_at(deadline, told.recv()).await {
            view.take(part);
        }
        let began = &self.shared.began;
        view.began = Some(began.by(self.system().clock.wall(), self.now().0));
        if wish == StatsRequest::Take(StatsTable::Digests) {
            self.keep_counts(&view);
        }
        view
    }

    /// Keeps the counts of plans when the digests start from zero.
    fn keep_counts(&self, view: &StatementStatsView) {
        let topology = self.topology();
        let rows = view.digests.iter().map(|(_, row)| row);
        self.shared.plans.keep_counts(rows, |row| {
            let backend = topology.backend(row.backend.as_ref()?.backend)?;
            let cluster = topology
                .clusters
                .iter()
                .find(|it| it.id == backend.cluster)?;
            Some(cluster.name.as_str().into())
        });
    }

    /// Returns how servers run statements and which indexes they have, as far as the proxy has asked.
    pub fn plans(&self) -> PlansView {
        self.shared.plans.view()
    }

    /// Forgets all plans.
    pub fn forget_plans(&self) {
        self.shared.plans.forget(self.now().0);
    }

    /// Returns the channel to the logs of statements and logins.
    pub fn journal(&self) -> &Journal {
        &self.plane_context.journal
    }

    /// Returns the channel on which spans are sent.
    pub fn traces(&self) -> &Traces {
        &self.plane_context.traces
    }

    /// Writes an event to the audit log, if there is one.
    pub fn audit(&self, event: impl FnOnce() -> AuditEvent) {
        self.plane_context.audit(event);
    }

    /// Ends a session, or its statement.
    pub async fn kill(&self, id: u32, scope: KillScope) -> Killed {
        let (to, mut told) = mpsc::unbounded_channel();
        let kill = Kill {
            id,
            scope,
            at: None,
            requested_at: self.plane_context.now().0,
        };
        self.workers.send_all(|| Message::Kill(kill, to.clone()));
        drop(to);
        let deadline = clock::now() + TIMEOUT_LOOK;
        match timeout_at(deadline, told.recv()).await {
            Ok(Some(killed)) => killed,
            Ok(None) => Killed::Nobody,
            Err(_) => Killed::Impossible("A worker is too busy to answer"),
        }
    }

    /// Sets the counts of times, pools, lanes and rules to zero. Returns how many workers have done so in time.
    pub async fn reset_counts(&self) -> usize {
        let (to, mut told) = mpsc::unbounded_channel();
        self.workers.send_all(|| Message::Reset(to.clone()));
        drop(to);
        let mut count = 0;
        let deadline = clock::now() + TIMEOUT_LOOK;
        while let Ok(Some(())) = timeout_at(deadline, told.recv()).await {
            count += 1;
        }
        count
    }

    /// Returns the place where admin clients log in.
    pub fn reception(&self) -> Reception {
        Reception::new(
            Arc::clone(&self.shared.logins.own_key),
            self.plane_context.started,
            self.system().entropy.clone(),
        )
    }

    /// The clock, the randomness and the threads of the process.
    pub fn system(&self) -> &System {
        &self.plane_context.system
    }

    /// The current configuration.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.plane_context.settings.borrow())
    }

    /// The current backends.
    pub fn topology(&self) -> Arc<Topology> {
        Arc::clone(&self.plane_context.topology.borrow())
    }

    /// Returns what is known of views, routines and triggers.
    pub fn definitions(&self) -> Arc<route::Definitions> {
        Arc::clone(&self.plane_context.definitions.borrow())
    }

    /// The current accounts.
    pub fn accounts(&self) -> Arc<Accounts> {
        Arc::clone(&self.plane_context.accounts.borrow())
    }

    /// Returns how long the process has run.
    pub fn now(&self) -> Moment {
        self.plane_context.now()
    }

    /// Returns how often rules have matched since the start, by all workers.
    pub fn rules(&self) -> Vec<Tally> {
        self.shared.engine.tallies.sum()
    }

    /// Returns what happened to statements that might use shared lanes: result, reason, count.
    pub fn lanes(&self) -> Vec<(&'static str, String, u64)> {
        self.shared.engine.lane_counts.sums()
    }

    /// Failed logins in a row, by host.
    pub fn host_errors(&self) -> &HostErrors {
        &self.shared.logins.host_errors
    }

    /// Returns the memory that all sessions keep.
    pub fn memory(&self) -> MemoryView {
        self.shared.session_registry.memory.view()
    }

    /// The limits of statements that run at once, by backend.
    pub fn running_figures(&self) -> Vec<(BackendId, LimitFigures)> {
        self.shared.pools.connection_limits.running_figures()
    }

    /// Returns counts of what the proxy has ended so that other sessions can go on.
    pub fn forced_ends(&self) -> &ForcedEnds {
        &self.shared.pools.forced_ends
    }

    /// Returns what happened to sessions that the kernel was to join. Bytes of current sessions are
    /// included if the workers were asked before, see [`DataPlaneHandle::views`].
    pub fn joins(&self) -> Vec<JoinView> {
        self.shared.joins.views()
    }

    /// Returns how much was profiled, and what that has cost.
    pub fn profiling(&self) -> &ProfilingCounts {
        &self.shared.engine.profiling
    }

    /// Returns what scripts share; `None` if no session runs a script.
    pub fn scripts(&self) -> Option<&script::Commons> {
        self.plane_context.scripts.commons().map(|it| &**it)
    }

    /// Returns a function that makes the script for this administrator, if there is a script. The
    /// function may take long, because it runs the script's body; if it fails, it returns the reason.
    pub fn admin_script(
        &self,
        admin_client: &AdminClient,
        id: u32,
    ) -> Option<impl FnOnce() -> Result<AdminScript, String> + Send + 'static> {
        let all = self.plane_context.scripts.of_admin()?.clone();
        let file = self.settings().config.admin.script.clone()?;
        let facts = AdminScript::facts(admin_client);
        Some(move || AdminScript::new(all, file, &facts, id).map_err(|fault| fault.to_string()))
    }

    /// Returns how long statements have waited, and how long backends took.
    pub fn times(&self) -> Vec<TimesView> {
        self.shared.engine.times.views()
    }
}
