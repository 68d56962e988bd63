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
    pub kind: Rc<Kind>,
    pub backend: Arc<Backend>,
    pub login: Rc<BackendLogin>,
}

/// Whom a backend is told that we are.
#[derive(Debug)]
pub(crate) struct BackendLogin {
    pub user: Vec<u8>,
    pub credential: Credential,
}

/// A shelf's number in its worker.
pub(crate) type ShelfId = usize;
