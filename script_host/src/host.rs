//! The script of one worker: the interpreter, the backends by the numbers that scripts use, and the
//! connections that scripts have parked.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use route::{Backend, BackendId, Topology};
use script::Scripts;

use crate::facts::facts_of;
use crate::parked::Parked;
use crate::script_route::Out;
use backend::settings::Settings;

/// The state that the scripted sessions of one worker share.
pub struct Host {
    /// The interpreter.
    pub scripts: Scripts,
    /// The idle connections of the scripts' pools.
    pub parked: Rc<Parked>,
    /// The backends in the order of `proxy.global.backends`.
    backends: RefCell<Vec<Arc<Backend>>>,
    /// The snapshot of the backends, and how many connections each may have.
    known: Cell<Option<(u64, u32)>>,
    /// The last id of a session or of a connection.
    last_id: Cell<u64>,
}

impl Host {
    /// A host for an interpreter; it knows no backend yet.
    pub fn new(scripts: Scripts) -> Self {
        Self {
            scripts,
            parked: Rc::default(),
            backends: RefCell::default(),
            known: Cell::new(None),
            last_id: Cell::new(0),
        }
    }

    /// Returns an id that no other session and no other connection of the worker has.
    pub fn next_id(&self) -> u64 {
        self.last_id.set(self.last_id.get() + 1);
        self.last_id.get()
    }

    /// Makes the current backends known to the scripts.
    pub fn follow(&self, topology: &Topology, settings: &Settings) {
        let connections_max = settings.config.pool.backend_connections_max;
        let now = Some((topology.generation, connections_max));
        if self.known.replace(now) == now {
            return;
        }
        let (backends, mut facts) = facts_of(topology, connections_max);
        // Scripts count the sessions that have a connection there.
        facts.iter_mut().for_each(|it| it.sessions = None);
        self.scripts.take_up(&facts);
        self.parked.keep(&backends);
        *self.backends.borrow_mut() = backends;
    }

    /// The backends that scripts have marked as down.
    pub fn out(&self) -> Out {
        let out = self.scripts.backends_out();
        if out.is_empty() {
            return Out::default();
        }
        let backends = self.backends.borrow();
        let ids = out.iter().filter_map(|index| {
            let backend = backends.get(index.checked_sub(1)?)?;
            Some(backend.id)
        });
        let ids: Vec<_> = ids.collect();
        Out {
            are_all: ids.len() == backends.len(),
            ids,
        }
    }

    /// The number that scripts use for a backend.
    pub fn index_of(&self, id: BackendId) -> Option<usize> {
        let backends = self.backends.borrow();
        let at = backends.iter().position(|backend| backend.id == id)?;
        Some(at + 1)
    }

    /// The backend for which scripts use this number, from 1.
    pub fn backend(&self, index: usize) -> Option<Arc<Backend>> {
        let backends = self.backends.borrow();
        backends.get(index.checked_sub(1)?).cloned()
    }
}
