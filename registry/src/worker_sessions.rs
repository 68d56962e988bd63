//! The sessions of one worker, while they live.

use std::cell::{Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use slab::Slab;
use tokio::sync::Notify;

use crate::memory_bound;
use crate::session_control::{Ask, SessionControl};
use crate::session_registry::SessionRegistry;

/// The list of a worker's sessions.
pub struct WorkerSessions {
    controls: RefCell<Slab<Rc<SessionControl>>>,
    emptied: Notify,
    session_registry: Arc<SessionRegistry>,
}

/// A session's entry in its worker's list, while the session lives.
pub struct Registered {
    /// The session's activity, and the requests to it.
    pub control: Rc<SessionControl>,
    sessions: Rc<WorkerSessions>,
    key: usize,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut controls = self.sessions.controls.borrow_mut();
        controls.remove(self.key);
        if controls.is_empty() {
            controls.shrink_to_fit();
            self.sessions.emptied.notify_one();
        }
    }
}

impl WorkerSessions {
    /// Returns an empty list; the memory of its sessions is counted in the budget of `session_registry`.
    pub fn new(session_registry: Arc<SessionRegistry>) -> Self {
        Self {
            controls: RefCell::default(),
            emptied: Notify::new(),
            session_registry,
        }
    }

    /// Adds a new session.
    pub fn register(self: &Rc<Self>) -> Registered {
        let control = Rc::new(SessionControl::default());
        control.memory.count_in(&self.session_registry.memory);
        let key = self.controls.borrow_mut().insert(Rc::clone(&control));
        Registered {
            control,
            sessions: Rc::clone(self),
            key,
        }
    }

    /// Returns all sessions. While this is borrowed, no session may begin or end.
    pub fn borrow(&self) -> Ref<'_, Slab<Rc<SessionControl>>> {
        self.controls.borrow()
    }

    /// Waits until the last session has ended.
    pub async fn emptied(&self) {
        self.emptied.notified().await;
    }

    /// Asks the same of all sessions.
    pub fn ask_all(&self, ask: Ask) {
        for (_, control) in self.controls.borrow().iter() {
            control.ask(ask);
        }
    }

    /// Makes room when the process keeps as many bytes as it may: either the session that keeps the
    /// most ends, or the new bytes are refused; see [`memory_bound::makes_room`].
    pub fn makes_room(&self, asking: &SessionControl) -> bool {
        let controls = self.controls.borrow();
        let sessions = controls.iter().map(|(_, control)| control);
        memory_bound::makes_room(&self.session_registry.memory, sessions, asking)
    }

    /// Called once a second, because the session that keeps the most may be on a worker where no session asks for more.
    pub fn keep_memory_bounded(&self) {
        if self.session_registry.memory.is_over() {
            self.makes_room(&SessionControl::default());
        }
    }
}
