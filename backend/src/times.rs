//! How long statements have waited in the proxy, and how long backends took for them, by backend
//! and path. Each worker counts for itself; the counts are summed when they are read.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use route::BackendId;

use crate::pool_env::PoolEnv;
use registry::worker_view::{SpreadView, StepsView, TimesView};
use stats::spread::{Spread, Spreads, add};

/// How a statement gets to its backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementPath {
    /// Over a connection that only its session uses at that time.
    Own,
    /// Over a shared lane.
    Lane,
    /// Over the connection that its session has from beginning to end; measured only if that is configured.
    Relayed,
}

impl StatementPath {
    const ALL: [Self; 3] = [Self::Own, Self::Lane, Self::Relayed];

    /// The name that the admin interface shows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own connection",
            Self::Lane => "lane",
            Self::Relayed => "relayed",
        }
    }
}

/// The size of a statement and of its reply in bytes, with packet headers.
#[derive(Debug, Clone, Copy)]
pub struct Traffic {
    /// Bytes to the backend.
    pub sent: u64,
    /// Bytes from the backend.
    pub received: u64,
}

/// One worker's times.
pub struct Times {
    /// The times of each backend, by its id.
    of: RefCell<Vec<Option<Arc<BackendTimes>>>>,
    env: Rc<PoolEnv>,
    all: Arc<AllTimes>,
}

/// One worker's times of one backend. Only that worker writes.
struct BackendTimes {
    cluster: String,
    backend: String,
    /// One per path, in the order of [`StatementPath::ALL`].
    ways: [WayTimes; StatementPath::ALL.len()],
}

#[derive(Default)]
struct WayTimes {
    waited: Spread,
    taken: Spread,
    /// In bytes.
    sent: AtomicU64,
    received: AtomicU64,
}

impl Times {
    /// Returns the times of a worker, which are added to `all`.
    pub fn new(env: Rc<PoolEnv>, all: Arc<AllTimes>) -> Self {
        let of = RefCell::default();
        Self { of, env, all }
    }

    /// Records the times of a statement whose reply has ended.
    pub fn note(
        &self,
        backend: BackendId,
        way: StatementPath,
        (waited, taken): (Duration, Duration),
        traffic: Traffic,
    ) {
        let index = backend.0 as usize;
        if !matches!(self.of.borrow().get(index), Some(Some(_))) {
            self.meet(backend);
        }
        if let Some(Some(times)) = self.of.borrow().get(index) {
            let times = &times.ways[way as usize];
            times.waited.note(waited);
            times.taken.note(taken);
            add(&times.sent, traffic.sent);
            add(&times.received, traffic.received);
        }
    }

    /// Sets the times to zero.
    pub fn reset(&self) {
        let of = std::mem::take(&mut *self.of.borrow_mut());
        of.iter().flatten().for_each(|times| self.all.leave(times));
    }

    /// Adds a backend when the worker's first statement goes to it.
    #[cold]
    fn meet(&self, id: BackendId) {
        let topology = Arc::clone(&self.env.topology.borrow());
        // The backend may have been removed from the configuration meanwhile.
        let Some(backend) = topology.backend(id) else {
            return;
        };
        let mut clusters = topology.clusters.iter();
        let cluster = clusters.find(|cluster| cluster.id == backend.cluster);
        let times = Arc::new(BackendTimes {
            cluster: cluster.map(|it| it.name.clone()).unwrap_or_default(),
            backend: backend.name.clone(),
            ways: Default::default(),
        });
        self.all.enter(Arc::clone(&times));
        let mut of = self.of.borrow_mut();
        let index = id.0 as usize;
        if of.len() <= index {
            of.resize_with(index + 1, Default::default);
        }
        of[index] = Some(times);
    }
}

/// The times of all workers.
#[derive(Default)]
pub struct AllTimes {
    all: Mutex<Vec<Arc<BackendTimes>>>,
}

/// The measurements of all workers for one backend and one path.
pub struct TimesSum {
    /// The cluster's name.
    pub cluster: String,
    /// The backend's name.
    pub backend: String,
    /// The path of the statements.
    pub path: StatementPath,
    /// How long the statements waited in the proxy.
    pub waited: Spreads,
    /// How long the backend took.
    pub taken: Spreads,
    /// The size of the statements and their replies.
    pub traffic: Traffic,
}

impl AllTimes {
    fn enter(&self, times: Arc<BackendTimes>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(times);
    }

    fn leave(&self, times: &Arc<BackendTimes>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| !Arc::ptr_eq(it, times));
    }

    /// Returns the sums in the form that the admin interface reads.
    pub fn views(&self) -> Vec<TimesView> {
        views(self.sums())
    }

    /// Returns all sums so far, backend by backend, without unused paths.
    pub fn sums(&self) -> Vec<TimesSum> {
        sums(&self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn views(sums: Vec<TimesSum>) -> Vec<TimesView> {
    let view = |spreads: &Spreads| SpreadView {
        average: spreads.average(),
        p50: spreads.percentile(50),
        p99: spreads.percentile(99),
        max: spreads.max(),
    };
    let steps = |spreads: &Spreads| StepsView {
        steps: spreads.steps(),
        sum: spreads.sum(),
        count: spreads.count(),
    };
    let sums = sums.into_iter();
    sums.map(|sum| TimesView {
        statements: sum.waited.count(),
        waited: view(&sum.waited),
        taken: view(&sum.taken),
        waited_steps: steps(&sum.waited),
        taken_steps: steps(&sum.taken),
        bytes_sent: sum.traffic.sent,
        bytes_received: sum.traffic.received,
        cluster: sum.cluster,
        backend: sum.backend,
        path: sum.path.name(),
    })
    .collect()
}

fn sums(all: &[Arc<BackendTimes>]) -> Vec<TimesSum> {
    let mut sums: Vec<TimesSum> = Vec::new();
    for times in all {
        for way in StatementPath::ALL {
            let seen = &times.ways[way as usize];
            let is_it = |sum: &TimesSum| {
                (sum.path, &sum.backend, &sum.cluster) == (way, &times.backend, &times.cluster)
            };
            let at = sums.iter().position(is_it).unwrap_or_else(|| {
                sums.push(TimesSum {
                    cluster: times.cluster.clone(),
                    backend: times.backend.clone(),
                    path: way,
                    waited: Spreads::default(),
                    taken: Spreads::default(),
                    traffic: Traffic {
                        sent: 0,
                        received: 0,
                    },
                });
                sums.len() - 1
            });
            sums[at].waited.add(&seen.waited);
            sums[at].taken.add(&seen.taken);
            let traffic = &mut sums[at].traffic;
            traffic.sent += seen.sent.load(Ordering::Relaxed);
            traffic.received += seen.received.load(Ordering::Relaxed);
        }
    }
    sums.retain(|sum| sum.waited.count() > 0);
    sums.sort_by(|a, b| {
        let key = |it: &TimesSum| (it.cluster.clone(), it.backend.clone(), it.path as usize);
        key(a).cmp(&key(b))
    });
    sums
}
