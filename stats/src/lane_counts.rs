//! What has become of statements that might use shared lanes: counted by each worker for itself, and
//! summed when somebody asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use route::lane_check::NotLaneable;

/// One worker's counts. Only that worker writes.
#[derive(Default)]
pub struct LaneCounts {
    /// Had their reply over a lane.
    used: Count,
    /// Were on a lane, and were sent again on a connection of their own.
    moved: Count,
    /// Lanes whose first statement kept the others waiting for too long.
    stalled: Count,
    /// Those that used no lane, by reason, as in [`NotLaneable::ALL`].
    unused: [Count; NotLaneable::ALL.len()],
}

/// One number.
#[derive(Default)]
struct Count(AtomicU64);

impl Count {
    /// Nobody else writes it: no locked instruction is needed.
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
    /// Begins from nothing; for the worker that counts here.
    pub fn reset(&self) {
        let all = [&self.used, &self.moved, &self.stalled].into_iter();
        all.chain(&self.unused).for_each(Count::reset);
    }

    /// A statement went over a lane.
    pub fn note_used(&self) {
        self.used.add();
    }

    /// A statement was sent again over a connection of its own.
    pub fn note_moved(&self) {
        self.moved.add();
    }

    /// A lane stalled.
    pub fn note_stalled(&self) {
        self.stalled.add();
    }

    /// A statement did not go over a lane, for this reason.
    pub fn note_unused(&self, why: NotLaneable) {
        self.unused[why as usize].add();
    }
}

/// All workers' counts.
#[derive(Default)]
pub struct AllLaneCounts {
    workers: Mutex<Vec<Arc<LaneCounts>>>,
}

impl AllLaneCounts {
    /// A worker that counts for itself.
    pub fn enter(&self) -> Arc<LaneCounts> {
        let counts = Arc::new(LaneCounts::default());
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(Arc::clone(&counts));
        counts
    }

    /// What became of statements, and how many of them: those on a lane first.
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
