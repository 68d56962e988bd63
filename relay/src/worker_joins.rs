//! The joined sessions of one worker: the means to join them, and how many bytes each has passed on.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use net::joined::joiner::JoinedSockets;
use net::joined::waiter::JoinWaiter;

use crate::joined_counts::{JoinCounts, JoinFigures};

/// One worker's joined sessions.
pub struct WorkerJoins {
    /// `None`: no listener wants joined sessions, or the kernel or a privilege is missing.
    waiter: Option<Rc<JoinWaiter>>,
    /// The counts of all workers.
    pub counts: Arc<JoinCounts>,
    /// The joined sessions, by their ids.
    sessions: RefCell<HashMap<u32, Rc<SessionBytes>>>,
}

/// The bytes of one session.
struct SessionBytes {
    joined: Rc<JoinedSockets>,
    /// Bytes that had arrived before the sockets were joined.
    ahead: [u64; 2],
    /// The bytes that have been added to the figures.
    noted: Cell<[u64; 2]>,
    figures: Arc<JoinFigures>,
}

impl SessionBytes {
    /// Bytes from the client, and from the backend.
    fn sum(&self) -> [u64; 2] {
        let [from_client, from_backend] = self.joined.bytes();
        [from_client + self.ahead[0], from_backend + self.ahead[1]]
    }

    /// Adds the bytes since the last call to the figures.
    fn note(&self) -> [u64; 2] {
        let sum = self.sum();
        let before = self.noted.replace(sum);
        let more = [0, 1].map(|index: usize| sum[index].saturating_sub(before[index]));
        self.figures.add(more);
        sum
    }
}

/// The entry of a session, while it is joined.
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
    /// Returns the joined sessions of a worker; `waiter` joins sessions, if that is possible.
    pub fn new(waiter: Option<Rc<JoinWaiter>>, counts: Arc<JoinCounts>) -> Self {
        Self {
            waiter,
            counts,
            sessions: RefCell::default(),
        }
    }

    /// Returns the means to join sessions, if the kernel allows it.
    pub fn waiter(&self) -> Option<&Rc<JoinWaiter>> {
        self.waiter.as_ref()
    }

    /// Adds a session that is joined.
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

    /// Adds the bytes since the last call to the figures. Returns how many bytes the session with
    /// this id has passed on: from its client, and from its backend.
    pub fn note(&self, id: u32) -> Option<[u64; 2]> {
        self.sessions.borrow().get(&id).map(|it| it.note())
    }
}
