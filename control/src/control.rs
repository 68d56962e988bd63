//! The handle on the control plane's thread.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use auth::{Accounts, FaultyAccount};
use config::Config;
use net::watch;
use route::{Definitions, Moment, Policy, ReadPolicy, Report, Roles, Topology};
use system::{Entropy, System};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

use crate::backend_set::BackendSet;
use crate::control_loop::{ControlLoop, Order};
use crate::plan::{Plan, ResolvedAddresses};
use crate::resolve::{Resolver, SystemResolver};
use crate::snapshot_publisher::SnapshotPublisher;

/// The most look-ups at once, because a resolver that hangs keeps its thread.
const RESOLVING_THREADS_MAX: usize = 16;

/// The control plane. Dropping it ends its thread too, but does not wait for the thread.
#[derive(Debug)]
pub struct Control {
    /// `None` if the control plane is a task on the thread that started it.
    thread: Option<JoinHandle<()>>,
    orders: mpsc::UnboundedSender<Order>,
    reports: mpsc::UnboundedSender<Report>,
    topology: watch::Receiver<Arc<Topology>>,
    publisher: SnapshotPublisher,
}

impl Control {
    /// Starts the thread and returns when the first snapshot is there: at once, or when the backends' names are
    /// resolved or the connect time-out is over. The first probe of each backend is then under way. All
    /// [`route::Moment`]s count from `started`.
    ///
    /// # Errors
    /// The system has no thread, no reactor or no randomness to give, or a configured account cannot
    /// be used.
    pub fn start(config: &Config, started: Instant, system: &System) -> io::Result<Control> {
        Control::start_with(config, started, system, Arc::new(SystemResolver))
    }

    /// As [`Control::start`], with another way to resolve names.
    ///
    /// # Errors
    /// As of [`Control::start`].
    pub fn start_with(
        config: &Config,
        started: Instant,
        system: &System,
        resolver: Arc<dyn Resolver>,
    ) -> io::Result<Control> {
        let entropy = system.entropy.clone();
        let publisher = SnapshotPublisher::new(config, &entropy)?;
        let runtime = runtime()?;
        let (orders, ordered) = mpsc::unbounded_channel();
        let (reports, reported) = mpsc::unbounded_channel();
        let (snapshots, mut topology) = watch::channel(Arc::new(nothing_yet()));
        let (begun, has_started) = std::sync::mpsc::sync_channel(1);
        let config = Arc::new(config.clone());
        let seed = entropy.bytes().map_err(io::Error::other)?;
        let seed = u64::from_le_bytes(seed);
        let posted = publisher.clone();
        let thread = system.threads.start("control", move || {
            let mut control_loop =
                ControlLoop::new(started, seed, entropy, resolver, snapshots, posted);
            runtime.block_on(async {
                control_loop.begin(config).await;
                // The thread that started this one waits for the signal.
                let _ = begun.send(());
                control_loop.run(ordered, reported).await;
            });
            // A resolver that hangs is not waited for.
            runtime.shutdown_background();
        })?;
        has_started
            .recv()
            .map_err(|_| io::Error::other("the control plane failed at its start"))?;
        topology.mark_unchanged();
        Ok(Control {
            thread: Some(thread),
            orders,
            reports,
            topology,
            publisher,
        })
    }

    /// As [`Control::start_with`], but on the current thread and its local runtime: for simulations, and for tests
    /// in one process. `seed` decides when backends are probed.
    ///
    /// # Errors
    /// A configured account cannot be used, or the system has no randomness to give.
    pub async fn start_here(
        config: &Config,
        started: Instant,
        resolver: Arc<dyn Resolver>,
        seed: u64,
        entropy: &Entropy,
    ) -> io::Result<Control> {
        let publisher = SnapshotPublisher::new(config, entropy)?;
        let (orders, ordered) = mpsc::unbounded_channel();
        let (reports, reported) = mpsc::unbounded_channel();
        let (snapshots, mut topology) = watch::channel(Arc::new(nothing_yet()));
        let mut control_loop = ControlLoop::new(
            started,
            seed,
            entropy.clone(),
            resolver,
            snapshots,
            publisher.clone(),
        );
        control_loop.begin(Arc::new(config.clone())).await;
        tokio::task::spawn_local(control_loop.run(ordered, reported));
        topology.mark_unchanged();
        Ok(Control {
            thread: None,
            orders,
            reports,
            topology,
            publisher,
        })
    }

    /// The snapshots: a receiver has the newest, is woken by later ones, and may miss some in
    /// between.
    pub fn topology(&self) -> watch::Receiver<Arc<Topology>> {
        self.topology.clone()
    }

    /// The accounts: a receiver has the newest snapshot, is woken by later ones, and may miss some in
    /// between.
    pub fn accounts(&self) -> watch::Receiver<Arc<Accounts>> {
        self.publisher.receiver()
    }

    /// What is known of views, routines and triggers: a receiver has the newest snapshot, is woken by later
    /// ones, and may miss some in between.
    pub fn definitions(&self) -> watch::Receiver<Arc<Definitions>> {
        self.publisher.definitions()
    }

    /// The channel for workers' reports.
    pub fn reports(&self) -> mpsc::UnboundedSender<Report> {
        self.reports.clone()
    }

    /// Applies another configuration: its accounts at once, the rest as a whole and soon, when the new names in it are
    /// resolved. If several configurations are pending, only the last one takes effect.
    ///
    /// # Errors
    /// All accounts that cannot be used; then nothing of the configuration takes effect.
    pub fn reconfigure(&self, config: Arc<Config>) -> Result<(), Vec<FaultyAccount>> {
        self.publisher.configure(&config)?;
        // It fails only when the thread has ended, which `stop` reports.
        let _ = self.orders.send(Order::Reconfigure(config));
        Ok(())
    }

    /// Whether the accounts of a configuration can be used.
    ///
    /// # Errors
    /// The accounts that cannot be used.
    pub fn check(&self, config: &Config) -> Result<(), Vec<FaultyAccount>> {
        self.publisher.check(config)
    }

    /// Resolves when the last configuration has taken effect, also in the snapshots.
    pub fn settled(&self) -> oneshot::Receiver<()> {
        let (told, settled) = oneshot::channel();
        // As in `reconfigure`.
        let _ = self.orders.send(Order::TellWhenSettled(told));
        settled
    }

    /// Ends the thread when the kills that were reported up to now are done or out of time.
    pub fn stop(self) {
        let _ = self.orders.send(Order::Stop);
        if self.thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!(
                "the control plane has failed before the proxy stopped; please report this line"
            );
        }
    }
}

/// The backends as configured, before any probe.
pub fn as_configured(config: &Config) -> Topology {
    let plan = Plan {
        config: Arc::new(config.clone()),
        resolved: ResolvedAddresses::default(),
    };
    let mut backend_set = BackendSet::new(0);
    backend_set.apply(&plan, Moment::START);
    backend_set.snapshot().unwrap_or_else(nothing_yet)
}

/// The current state of a configuration's backends. Each backend is probed once and, if there is a monitor account,
/// asked once about replication. The call takes as long as the slowest backend, within the time limits.
///
/// # Errors
/// As of [`Control::start`].
pub fn survey(config: &Config, entropy: &Entropy) -> io::Result<Arc<Topology>> {
    let mut config = config.clone();
    config.accounts.learn = false;
    config.balance.learn_definitions = false;
    let publisher = SnapshotPublisher::new(&config, entropy)?;
    let (snapshots, _topology) = watch::channel(Arc::new(nothing_yet()));
    let started = net::clock::now().into_std();
    let control_loop = ControlLoop::new(
        started,
        0,
        entropy.clone(),
        Arc::new(SystemResolver),
        snapshots,
        publisher,
    );
    let runtime = runtime()?;
    let seen = runtime.block_on(control_loop.survey(Arc::new(config)));
    // A resolver that hangs is not waited for.
    runtime.shutdown_background();
    Ok(seen)
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RESOLVING_THREADS_MAX)
        .build()
}

/// The channel's content before the first configuration; no receiver sees it.
pub(crate) fn nothing_yet() -> Topology {
    Topology {
        generation: 0,
        backends: Vec::new(),
        clusters: Vec::new(),
        default_cluster: None,
        policy: Policy::default(),
        reads: ReadPolicy::default(),
        roles: Roles::default(),
        slow_start: Duration::ZERO,
    }
}
