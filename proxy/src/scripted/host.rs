//! A worker's script: the interpreter, the backends as scripts number them, the connections they have
//! parked.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use route::{Backend, Topology};
use script::Scripts;

use super::facts::backend_facts;
use super::parked::Parked;

/// What the scripted sessions of one worker share.
pub(crate) struct Host {
    pub scripts: Scripts,
    pub parked: Parked,
    /// The backends in the order of `proxy.global.backends`.
    backends: RefCell<Vec<Arc<Backend>>>,
    /// The snapshot they are of.
    generation: Cell<Option<u64>>,
    /// The last id of a session or of a connection.
    last_id: Cell<u64>,
}

impl Host {
    pub(crate) fn new(scripts: Scripts) -> Self {
        Self {
            scripts,
            parked: Parked::default(),
            backends: RefCell::default(),
            generation: Cell::new(None),
            last_id: Cell::new(0),
        }
    }

    /// An id that no other session and no other connection of the worker's has.
    pub(crate) fn next_id(&self) -> u64 {
        self.last_id.set(self.last_id.get() + 1);
        self.last_id.get()
    }

    /// Sees to it that scripts know the backends of the moment.
    pub(crate) fn follow(&self, topology: &Topology) {
        if self.generation.get() == Some(topology.generation) {
            return;
        }
        self.generation.set(Some(topology.generation));
        let cluster = topology.first_cluster();
        let backends = topology.backends.iter();
        let backends: Vec<_> = backends
            .filter(|backend| backend.cluster == cluster)
            .cloned()
            .collect();
        let facts: Vec<_> = backends.iter().map(|it| backend_facts(it)).collect();
        self.scripts.take_up(&facts);
        *self.backends.borrow_mut() = backends;
    }

    /// The backend that scripts call by this number, from 1.
    pub(crate) fn backend(&self, index: usize) -> Option<Arc<Backend>> {
        let backends = self.backends.borrow();
        backends.get(index.checked_sub(1)?).cloned()
    }
}
