//! What happens when the process keeps as many bytes as it may: the session of the worker that keeps most ends, or what
//! is new is refused.

use registry::memory_bound;
use registry::session_control::SessionControl;

use super::Worker;

impl Worker {
    /// See [`memory_bound::makes_room`], among the sessions of this worker.
    pub(crate) fn makes_room(&self, asking: &SessionControl) -> bool {
        let watches = self.watches.borrow();
        let sessions = watches.iter().map(|(_, watch)| watch);
        memory_bound::makes_room(&self.shared.people.memory, sessions, asking)
    }

    /// Once a second: a worker in which no session wants more may have the session that keeps most.
    pub(super) fn keep_memory_bounded(&self) {
        if self.shared.people.memory.is_over() {
            self.makes_room(&SessionControl::default());
        }
    }
}
