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

/// A session's entry in its worker's list, for as long as it lives.
pub struct Registered {
    /// What the session does, and what it is asked.
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
    /// An empty list; what its sessions keep is counted in the memory of `session_registry`.
    pub fn new(session_registry: Arc<SessionRegistry>) -> Self {
        Self {
            controls: RefCell::default(),
            emptied: Notify::new(),
            session_registry,
        }
    }

    /// Enters a new session.
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

    /// All of them. No session begins or ends while this is borrowed.
    pub fn borrow(&self) -> Ref<'_, Slab<Rc<SessionControl>>> {
        self.controls.borrow()
    }

    /// Waits until the last session has ended.
    pub async fn emptied(&self) {
        self.emptied.notified().await;
    }

    /// Asks the same of all.
    pub fn ask_all(&self, ask: Ask) {
        for (_, control) in self.controls.borrow().iter() {
            control.ask(ask);
        }
    }

    /// What happens when the process keeps as many bytes as it may: the session that keeps most ends, or what is new is
    /// refused; see [`memory_bound::makes_room`].
    pub fn makes_room(&self, asking: &SessionControl) -> bool {
        let controls = self.controls.borrow();
        let sessions = controls.iter().map(|(_, control)| control);
        memory_bound::makes_room(&self.session_registry.memory, sessions, asking)
    }

    /// Once a second: a worker in which no session wants more may have the session that keeps most.
    pub fn keep_memory_bounded(&self) {
        if self.session_registry.memory.is_over() {
            self.makes_room(&SessionControl::default());
        }
    }
}
