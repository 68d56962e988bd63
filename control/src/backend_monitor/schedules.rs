//! When a backend is probed, looked up and asked.

use route::Moment;

use crate::backoff::Backoff;
use crate::task::TaskSchedule;

/// The tasks of one backend.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    /// Is it well?
    pub(super) probes: TaskSchedule,
    /// Where is it?
    pub(super) lookups: TaskSchedule,
    /// How is its replication?
    pub(super) questions: TaskSchedule,
    /// The wait before the next look at a backend that is down.
    pub(super) backoff: Backoff,
}

impl Schedules {
    /// When the first of them is due.
    pub(super) fn next(&self) -> Option<Moment> {
        self.probes
            .next()
            .into_iter()
            .chain(self.lookups.next())
            .chain(self.questions.next())
            .min()
    }
}
