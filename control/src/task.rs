//! The schedule of a task of the control plane that recurs and never runs twice at once.

use route::Moment;

/// When a task is due, and whether it runs.
#[derive(Debug, Default)]
pub(crate) struct TaskSchedule {
    due: Option<Moment>,
    is_running: bool,
    /// When it was begun last.
    began: Option<Moment>,
}

impl TaskSchedule {
    /// Makes the task due at `moment`, or earlier if it was to be earlier already.
    pub(crate) fn schedule(&mut self, moment: Moment) {
        self.due = Some(self.due.map_or(moment, |due| due.min(moment)));
    }

    /// Makes the task due at `moment`, or never, whatever was scheduled before.
    pub(crate) fn reschedule(&mut self, moment: Option<Moment>) {
        self.due = moment;
    }

    /// Marks the task as running, if it is due and does not run. Returns whether it did.
    pub(crate) fn begin(&mut self, now: Moment) -> bool {
        if self.is_running || self.due.is_none_or(|due| due > now) {
            return false;
        }
        *self = TaskSchedule {
            due: None,
            is_running: true,
            began: Some(now),
        };
        true
    }

    /// Notes that the task is done, or was given up.
    pub(crate) fn end(&mut self) {
        self.is_running = false;
    }

    /// When the task is due; `None` while it runs.
    pub(crate) fn next(&self) -> Option<Moment> {
        self.due.filter(|_| !self.is_running)
    }

    /// When it was begun last.
    pub(crate) fn began(&self) -> Option<Moment> {
        self.began
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn a_task_starts_at_the_earliest_scheduled_time() {
        let mut task = TaskSchedule::default();
        task.schedule(at(5));
        task.schedule(at(3));
        task.schedule(at(9));
        assert_eq!(task.next(), Some(at(3)));
        assert!(!task.begin(at(2)));
        assert!(task.begin(at(3)));
    }

    #[test]
    fn a_task_asked_for_while_it_runs_follows() {
        let mut task = TaskSchedule::default();
        task.schedule(at(1));
        assert!(task.begin(at(1)));
        task.schedule(at(2));
        assert!(!task.begin(at(3)));
        assert_eq!(task.next(), None);
        task.end();
        assert_eq!(task.next(), Some(at(2)));
        assert!(task.begin(at(3)));
    }
}
