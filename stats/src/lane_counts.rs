//! The outcomes of statements that might use shared lanes. Each worker counts its own;
//! the sums are made when an observer asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use route::lane_check::NotLaneable;

/// One worker's counts. Only that worker writes.
#[derive(Default)]
pub struct LaneCounts {
    /// Statements whose reply came over a lane.
    used: Count,
    /// Statements that were on a lane, and were sent again over a connection of their own session.
    moved: Count,
    /// Lanes whose first statement kept the statements behind it waiting for too long.
    stalled: Count,
    /// Statements that used no lane, by reason, in the order of [`NotLaneable::ALL`].
    unused: [Count; NotLaneable::ALL.len()],
}

/// One count.
#[derive(Default)]
struct Count(AtomicU64);

impl Count {
    /// Adds one. Only one thread writes, so no locked instruction is needed.
    fn add(&self) {
        let one_more = self.0.load(Ordering::Relaxed) + 1;
        self.0.store(one_more, Ordering::Relaxed);
    }

    fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl LaneCounts {
    /// Sets all counts to zero; only the worker that counts may call it.
    pub fn reset(&self) {
        let all = [&self.used, &self.moved, &self.stalled].into_iter();
        all.chain(&self.unused).for_each(Count::reset);
    }

    /// Counts a statement that went over a lane.
    pub fn note_used(&self) {
        self.used.add();
    }

    /// Counts a statement that was sent again over a connection of its own session.
    pub fn note_moved(&self) {
        self.moved.add();
    }

    /// Counts a lane that stalled.
    pub fn note_stalled(&self) {
        self.stalled.add();
    }

    /// Counts a statement that did not go over a lane, with the reason.
    pub fn note_unused(&self, why: NotLaneable) {
        self.unused[why as usize].add();
    }
}

/// The counts of all workers.
#[derive(Default)]
pub struct AllLaneCounts {
    workers: Mutex<Vec<Arc<LaneCounts>>>,
}

impl AllLaneCounts {
    /// Adds a worker; returns its counts.
    pub fn enter(&self) -> Arc<LaneCounts> {
        let counts = Arc::new(LaneCounts::default());
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(Arc::clone(&counts));
        counts
    }

    /// The number of statements by outcome; those on a lane come first.
    pub fn sums(&self) -> Vec<(&'static str, String, u64)> {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |of: &dyn Fn(&LaneCounts) -> u64| workers.iter().map(|it| of(it)).sum::<u64>();
        let mut sums = vec![
            ("on_lane", String::new(), sum(&|it| it.used.get())),
            (
                "moved",
                "sent again on a connection of its own".to_owned(),
                sum(&|it| it.moved.get()),
            ),
            (
                "stalled",
                "a lane's first statement kept the others waiting".to_owned(),
                sum(&|it| it.stalled.get()),
            ),
        ];
        for (at, why) in NotLaneable::ALL.iter().enumerate() {
            let unused = sum(&|it| it.unused[at].get());
            if unused > 0 {
                sums.push(("not_on_lane", why.to_string(), unused));
            }
        }
        sums
    }
}
