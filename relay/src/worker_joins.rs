//! The joined sessions of one worker: what joins them, and how many bytes each has passed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use net::joined::joiner::JoinedSockets;
use net::joined::waiter::JoinWaiter;

use crate::joined_counts::{JoinCounts, JoinFigures};

/// One worker's.
pub struct WorkerJoins {
    /// None: no listener wants it, or the kernel or a privilege is missing.
    waiter: Option<Rc<JoinWaiter>>,
    /// All workers' counts.
    pub counts: Arc<JoinCounts>,
    /// By the ids of the sessions.
    sessions: RefCell<HashMap<u32, Rc<SessionBytes>>>,
}

/// The bytes of one session.
struct SessionBytes {
    joined: Rc<JoinedSockets>,
    /// Bytes that had come before the joining.
    ahead: [u64; 2],
    /// The bytes that the figures have.
    noted: Cell<[u64; 2]>,
    figures: Arc<JoinFigures>,
}

impl SessionBytes {
    /// Bytes from the client, and from the backend.
    fn sum(&self) -> [u64; 2] {
        let [from_client, from_backend] = self.joined.bytes();
        [from_client + self.ahead[0], from_backend + self.ahead[1]]
    }

    /// Adds to the figures what they do not have yet.
    fn note(&self) -> [u64; 2] {
        let sum = self.sum();
        let before = self.noted.replace(sum);
        let more = [0, 1].map(|index: usize| sum[index].saturating_sub(before[index]));
        self.figures.add(more);
        sum
    }
}

/// A session's entry, for as long as it is joined.
pub(crate) struct CountedSession {
    id: u32,
    bytes: Rc<SessionBytes>,
    joins: Rc<WorkerJoins>,
}

impl CountedSession {
    /// Bytes from the client, and from the backend.
    pub(crate) fn bytes(&self) -> [u64; 2] {
        self.bytes.sum()
    }
}

impl Drop for CountedSession {
    fn drop(&mut self) {
        self.bytes.note();
        self.bytes.figures.end();
        self.joins.sessions.borrow_mut().remove(&self.id);
    }
}

impl WorkerJoins {
    /// Of a worker that joins sessions with this, if it can.
    pub fn new(waiter: Option<Rc<JoinWaiter>>, counts: Arc<JoinCounts>) -> Self {
        Self {
            waiter,
            counts,
            sessions: RefCell::default(),
        }
    }

    /// What joins sessions, if the kernel lets the proxy do it.
    pub fn waiter(&self) -> Option<&Rc<JoinWaiter>> {
        self.waiter.as_ref()
    }

    /// Enters a session that is joined.
    pub(crate) fn enter(
        self: &Rc<Self>,
        id: u32,
        joined: &Rc<JoinedSockets>,
        ahead: [u64; 2],
        figures: Arc<JoinFigures>,
    ) -> CountedSession {
        figures.begin();
        let bytes = Rc::new(SessionBytes {
            joined: Rc::clone(joined),
            ahead,
            noted: Cell::default(),
            figures,
        });
        let mut sessions = self.sessions.borrow_mut();
        sessions.insert(id, Rc::clone(&bytes));
        CountedSession {
            id,
            bytes,
            joins: Rc::clone(self),
        }
    }

    /// Adds to the figures what they do not have yet, and says how many bytes the session with this id has passed: from
    /// its client, and from its backend.
    pub fn note(&self, id: u32) -> Option<[u64; 2]> {
        self.sessions.borrow().get(&id).map(|it| it.note())
    }
}
