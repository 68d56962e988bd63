//! What makes backend connections interchangeable, and the sub-pools of a worker's pool that have those that are.

use std::rc::Rc;
use std::sync::Arc;

use auth::{Account, AccountId, Credential};
use route::Backend;
use wire::Capabilities;

use crate::running_limit::RunningLimit;

/// Everything that a login fixes for a connection's life. Sessions with equal kinds may use each
/// other's connections, once their states are made equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PoolKey {
    /// The account that the client has logged in to.
    pub account: AccountId,
    /// The user that the client is: the account's, or of an anonymous account the name that the client gave.
    pub user: Box<[u8]>,
    /// What client and backend agreed on, without what belongs to one leg.
    pub capabilities: Capabilities,
    /// The collation named at login, which decides the character sets to begin with. Those beyond 255
    /// are named by COM_CHANGE_USER only.
    pub collation: u16,
}

/// One sub-pool of a worker's pool: connections of one kind to one backend.
#[derive(Debug)]
pub struct SubPool {
    /// Its number in its worker.
    pub id: SubPoolId,
    /// What its connections have in common.
    pub kind: Rc<PoolKey>,
    /// Where they lead.
    pub backend: Arc<Backend>,
    /// As whom they log in.
    pub login: Rc<BackendLogin>,
    /// How many statements may run there at once, of all sub-pools and workers.
    pub running: Arc<RunningLimit>,
}

impl SubPool {
    /// Whether it is that of a session with these, which were made once and are handed about.
    pub fn is_of(
        &self,
        backend: &Arc<Backend>,
        kind: &Rc<PoolKey>,
        login: &Rc<BackendLogin>,
    ) -> bool {
        Rc::ptr_eq(&self.login, login)
            && Rc::ptr_eq(&self.kind, kind)
            && Arc::ptr_eq(&self.backend, backend)
    }
}

/// Whom a backend is told that we are.
#[derive(Debug, PartialEq, Eq)]
pub struct BackendLogin {
    /// The user's name there.
    pub user: Vec<u8>,
    /// What proves that.
    pub credential: Credential,
}

impl BackendLogin {
    /// For a client that is `user` by this account.
    pub fn of(account: &Account, user: &[u8], credential: Credential) -> Self {
        Self {
            user: Self::user_of(account, user).to_vec(),
            credential,
        }
    }

    /// As whom a client that is `user` by this account is logged in.
    pub fn user_of<'a>(account: &'a Account, user: &'a [u8]) -> &'a [u8] {
        match &account.backend {
            Some(login) => login.user.as_bytes(),
            None => user,
        }
    }
}

/// The sub-pool that a session has had its last connection from: it is looked up once, and not for each
/// command.
#[derive(Debug)]
pub struct KnownSubPool {
    /// The sub-pool.
    pub sub_pool: Rc<SubPool>,
    /// How often sub-pools had been swept away by then.
    pub sweeps: u64,
}

/// A sub-pool's number in its worker.
pub type SubPoolId = usize;
