//! Connections in the pools of scripts: idle and logged in. Each is watched until a session takes it
//! or the backend closes it. The script knows the pool of a connection; here the connection has an id.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use route::{Backend, BackendId};
use script::Scripts;
use tokio::sync::oneshot;
use wire::Capabilities;

use crate::server::Server;
use link::dialogue::LOGIN_ONLY;

/// A request for a parked connection: the sender over which the connection is handed over.
type HandoverRequest = oneshot::Sender<oneshot::Sender<Server>>;

/// The capabilities that a client and a connection must both have agreed on, so that the client can use it.
pub fn kind_of(agreed: Capabilities) -> u64 {
    agreed.with(LOGIN_ONLY, false).0
}

/// One worker's parked connections.
#[derive(Default)]
pub struct Parked {
    connections: RefCell<HashMap<u64, (BackendId, HandoverRequest)>>,
}

impl Parked {
    /// Takes a connection; the script's pools know it by its id.
    pub fn park(self: &Rc<Self>, scripts: &Scripts, mut server: Server) {
        let (want, wanted) = oneshot::channel::<oneshot::Sender<Server>>();
        let id = server.id;
        let entry = (server.backend.id, want);
        self.connections.borrow_mut().insert(id, entry);
        let (parked, scripts) = (Rc::clone(self), scripts.clone());
        tokio::task::spawn_local(async move {
            let wanted = tokio::select! {
                biased;
                () = server.ended() => None,
                wanted = wanted => Some(wanted),
            };
            match wanted {
                // The session that wanted it may have gone.
                Some(Ok(bring)) => drop(bring.send(server)),
                // The connection is not needed any more, or the worker ends.
                Some(Err(_)) => server.quit().await,
                None => {
                    parked.connections.borrow_mut().remove(&id);
                    scripts.unpark(id);
                }
            }
        });
    }

    /// Takes a connection back; `None` if it has ended meanwhile.
    pub async fn take(&self, id: u64) -> Option<Server> {
        let (_, want) = self.connections.borrow_mut().remove(&id)?;
        let (bring, brought) = oneshot::channel();
        want.send(bring).ok()?;
        brought.await.ok()
    }

    /// Closes a connection.
    pub fn close(&self, id: u64) {
        self.connections.borrow_mut().remove(&id);
    }

    /// Closes the connections to other backends: scripts no longer know their pools.
    pub fn keep(&self, backends: &[Arc<Backend>]) {
        let is_known = |id: BackendId| backends.iter().any(|backend| backend.id == id);
        let mut connections = self.connections.borrow_mut();
        connections.retain(|_, (backend, _)| is_known(*backend));
    }

    /// Closes the connections to backends that may no longer be used. Returns their ids.
    pub fn close_to(&self, backends: &[BackendId]) -> Vec<u64> {
        let mut connections = self.connections.borrow_mut();
        let gone = connections.extract_if(|_, (backend, _)| backends.contains(backend));
        gone.map(|(id, _)| id).collect()
    }

    /// Closes all connections: the worker drains.
    pub fn close_all(&self) {
        self.connections.borrow_mut().clear();
    }
}
