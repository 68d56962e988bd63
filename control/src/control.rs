//! The handle on the control plane's thread.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use config::Config;
use route::{Policy, Report, Roles, Topology};
use tokio::sync::{mpsc, watch};

use crate::keeper::{Keeper, Order};
use crate::resolve::{Resolver, SystemResolver};

/// Look-ups at once at most; a resolver that hangs holds its thread.
const RESOLVING_THREADS_MAX: usize = 16;

/// The control plane. Dropping it ends its thread too, but waits for nothing.
#[derive(Debug)]
pub struct Control {
    thread: JoinHandle<()>,
    orders: mpsc::UnboundedSender<Order>,
    reports: mpsc::UnboundedSender<Report>,
    topology: watch::Receiver<Arc<Topology>>,
}

impl Control {
    /// Starts the thread and returns when the first snapshot is there: at once, or when the
    /// backends' names are resolved (or have failed to be, within the connect time-out). A first
    /// look at each backend is then under way. `started` is what all [`route::Moment`]s count from.
    ///
    /// # Errors
    /// The system has no thread or no reactor to give.
    pub fn start(config: &Config, started: Instant) -> io::Result<Control> {
        Control::start_with(config, started, Arc::new(SystemResolver))
    }

    /// As [`Control::start`], with another way to resolve names.
    ///
    /// # Errors
    /// As there.
    pub fn start_with(
        config: &Config,
        started: Instant,
        resolver: Arc<dyn Resolver>,
    ) -> io::Result<Control> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(RESOLVING_THREADS_MAX)
            .build()?;
        let (orders, ordered) = mpsc::unbounded_channel();
        let (reports, reported) = mpsc::unbounded_channel();
        let (snapshots, mut topology) = watch::channel(Arc::new(nothing_yet()));
        let (begun, has_begun) = std::sync::mpsc::sync_channel(1);
        let config = Arc::new(config.clone());
        let seed = RandomState::new().hash_one(std::process::id());
        let thread = std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || {
                let mut keeper = Keeper::new(started, seed, resolver, snapshots);
                runtime.block_on(async {
                    keeper.begin(config).await;
                    // Whoever started this waits for it.
                    let _ = begun.send(());
                    keeper.run(ordered, reported).await;
                });
                // A resolver that hangs is left to itself.
                runtime.shutdown_background();
            })?;
        has_begun
            .recv()
            .map_err(|_| io::Error::other("the control plane failed at its start"))?;
        topology.mark_unchanged();
        Ok(Control {
            thread,
            orders,
            reports,
            topology,
        })
    }

    /// The snapshots: a receiver has the newest, is woken by later ones, and may miss some in
    /// between.
    pub fn topology(&self) -> watch::Receiver<Arc<Topology>> {
        self.topology.clone()
    }

    /// Where workers report to.
    pub fn reports(&self) -> mpsc::UnboundedSender<Report> {
        self.reports.clone()
    }

    /// Has another configuration take effect: as a whole and soon, when the names that are new in
    /// it are resolved. Of several only the last takes effect.
    pub fn reconfigure(&self, config: Arc<Config>) {
        // It fails only when the thread has ended, which `stop` reports.
        let _ = self.orders.send(Order::Reconfigure(config));
    }

    /// Ends the thread, when the kills reported up to now are done or have run out of time.
    pub fn stop(self) {
        let _ = self.orders.send(Order::Stop);
        if self.thread.join().is_err() {
            tracing::error!("the control plane had failed");
        }
    }
}

/// What stands in the channel before the first configuration; nobody sees it.
pub(crate) fn nothing_yet() -> Topology {
    Topology {
        generation: 0,
        backends: Vec::new(),
        policy: Policy::default(),
        roles: Roles::default(),
        slow_start: Duration::ZERO,
    }
}
