//! The key of interchangeable backend connections, and the sub-pools that hold them.

use std::rc::Rc;
use std::sync::Arc;

use auth::{Account, AccountId, Credential};
use route::Backend;
use wire::Capabilities;

use crate::running_limit::RunningLimit;

/// Everything that a login fixes for a connection's life. Sessions with equal keys may use each
/// other's connections, once the connection's state equals the session's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PoolKey {
    /// The account that the client has logged in to.
    pub account: AccountId,
    /// The client's user: the account's, or the name that the client of an anonymous account gave.
    pub user: Box<[u8]>,
    /// The capabilities that client and backend agreed on, without those that concern only one of the two connections.
    pub capabilities: Capabilities,
    /// The collation named at login, which sets the first character sets. Collations above 255 can
    /// only be named by COM_CHANGE_USER.
    pub collation: u16,
}

/// One sub-pool of a worker's pool: connections with one pool key to one backend.
#[derive(Debug)]
pub struct SubPool {
    /// Its number within the worker.
    pub id: SubPoolId,
    /// The key that its connections have in common.
    pub kind: Rc<PoolKey>,
    /// The backend of its connections.
    pub backend: Arc<Backend>,
    /// The login of its connections.
    pub login: Rc<BackendLogin>,
    /// The limit of running statements at the backend, over all sub-pools and workers.
    pub running: Arc<RunningLimit>,
}

impl SubPool {
    /// Whether it belongs to a session with these values. Each exists once and is shared, so pointers are compared.
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

/// The user and the credential with which the proxy logs in to a backend.
#[derive(Debug, PartialEq, Eq)]
pub struct BackendLogin {
    /// The user's name at the backend.
    pub user: Vec<u8>,
    /// The credential that proves the user.
    pub credential: Credential,
}

impl BackendLogin {
    /// The login for a client that is `user` by this account.
    pub fn of(account: &Account, user: &[u8], credential: Credential) -> Self {
        Self {
            user: Self::user_of(account, user).to_vec(),
            credential,
        }
    }

    /// The user name with which a client that is `user` by this account logs in to the backend.
    pub fn user_of<'a>(account: &'a Account, user: &'a [u8]) -> &'a [u8] {
        match &account.backend {
            Some(login) => login.user.as_bytes(),
            None => user,
        }
    }
}

/// The sub-pool of a session's last connection, so that the session does not look it up for each command.
#[derive(Debug)]
pub struct KnownSubPool {
    /// The sub-pool.
    pub sub_pool: Rc<SubPool>,
    /// How often empty sub-pools had been swept away by then.
    pub sweeps: u64,
}

/// A sub-pool's number in its worker.
pub type SubPoolId = usize;
