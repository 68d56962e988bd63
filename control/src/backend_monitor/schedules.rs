//! When a backend is probed, resolved and asked.

use route::Moment;

use crate::backoff::Backoff;
use crate::task::TaskSchedule;

/// The tasks of one backend.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    /// Whether the backend answers.
    pub(super) probes: TaskSchedule,
    /// What the backend's name resolves to.
    pub(super) lookups: TaskSchedule,
    /// The state of the backend's replication.
    pub(super) questions: TaskSchedule,
    /// The wait before the next probe of a backend that is down.
    pub(super) backoff: Backoff,
}

impl Schedules {
    /// When the first of the three tasks is due.
    pub(super) fn next(&self) -> Option<Moment> {
        self.probes
            .next()
            .into_iter()
            .chain(self.lookups.next())
            .chain(self.questions.next())
            .min()
    }
}
