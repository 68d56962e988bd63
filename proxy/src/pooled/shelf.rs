//! What makes backend connections interchangeable.

use std::rc::Rc;
use std::sync::Arc;

use auth::{AccountId, Credential};
use route::Backend;
use wire::Capabilities;

/// Everything that a login fixes for a connection's life. Sessions with equal kinds may use each
/// other's connections, once their states are made equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub account: AccountId,
    /// What client and backend agreed on, without what belongs to one leg.
    pub capabilities: Capabilities,
    /// The collation named at login, which decides the character sets to begin with. Those beyond 255
    /// are named by COM_CHANGE_USER only.
    pub collation: u16,
}

/// One shelf of a worker's pool: connections of one kind to one backend.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub id: ShelfId,
    pub kind: Rc<Kind>,
    pub backend: Arc<Backend>,
    pub login: Rc<BackendLogin>,
}

impl Shelf {
    /// Whether it is that of a session with these, which were made once and are handed about.
    pub(crate) fn is_of(
        &self,
        backend: &Arc<Backend>,
        kind: &Rc<Kind>,
        login: &Rc<BackendLogin>,
    ) -> bool {
        Rc::ptr_eq(&self.login, login)
            && Rc::ptr_eq(&self.kind, kind)
            && Arc::ptr_eq(&self.backend, backend)
    }
}

/// Whom a backend is told that we are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BackendLogin {
    pub user: Vec<u8>,
    pub credential: Credential,
}

/// The shelf that a session has had its last connection from: it is looked up once, and not for each
/// command.
#[derive(Debug)]
pub(crate) struct KnownShelf {
    pub shelf: Rc<Shelf>,
    /// How often shelves had been swept away by then.
    pub sweeps: u64,
}

/// A shelf's number in its worker.
pub(crate) type ShelfId = usize;
