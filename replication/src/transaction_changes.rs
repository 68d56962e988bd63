//! The changes of a transaction, each with the user who made it: from the server's log, or from the proxy's own
//! record of the statement.

use std::sync::Arc;

use binlog::{EventHeader, Query};
use net::watch;
use route::{Backend, BackendId, Topology};

use crate::change::Change;
use crate::follow::Statements;

/// The maximum number of changes in one transaction. Servers write each statement that changes objects as a
/// transaction.
const CHANGES_MAX: usize = 1000;

/// A statement of a log, for which the proxy looks up the session.
#[derive(Debug, Clone, Copy)]
pub struct LoggedStatement<'a> {
    /// The backends on which it may have been executed first.
    pub backends: &'a [BackendId],
    /// The server's id of the connection that executed it.
    pub thread_id: u32,
    /// When it began, in microseconds since 1970, by the proxy's clock.
    pub time: i64,
    /// The statement's text, as the server has written it.
    pub text: &'a [u8],
}

/// Returns the user and the client's host of a statement, if it went through the proxy.
pub type Origins = Arc<dyn Fn(LoggedStatement<'_>) -> Option<(String, String)> + Send + Sync>;

/// The changes of one connection's current transaction.
pub struct Changes {
    all: Vec<Change>,
    origins: Origins,
    topology: watch::Receiver<Arc<Topology>>,
    followed: Arc<Backend>,
    /// The `server_id` of the followed server, as its artificial events have it.
    server_id: Option<u32>,
    /// How far the server's clock is ahead, in seconds.
    clock_ahead: i64,
}

impl Changes {
    /// Starts without changes, for this server.
    pub fn new(
        origins: Origins,
        topology: watch::Receiver<Arc<Topology>>,
        followed: &Arc<Backend>,
        clock_ahead: i64,
    ) -> Self {
        Self {
            all: Vec::new(),
            origins,
            topology,
            followed: Arc::clone(followed),
            server_id: None,
            clock_ahead,
        }
    }

    /// Takes the server's id from an event that the server has created itself.
    pub fn is_made_up(&mut self, header: &EventHeader) {
        self.server_id = Some(header.server_id);
    }

    /// Returns the changes, and forgets them.
    pub fn take(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.all)
    }

    fn sender_of(&self, change: &Change, text: &[u8]) -> Option<(String, String)> {
        let own = [self.followed.id];
        let other_servers;
        let backends = match self.server_id {
            Some(id) if id != change.server_id => {
                other_servers = self.other_servers();
                &other_servers[..]
            }
            _ => &own[..],
        };
        (self.origins)(LoggedStatement {
            backends,
            thread_id: change.thread_id,
            time: change.time - self.clock_ahead * 1_000_000,
            text,
        })
    }

    /// Returns the cluster's other servers. If the followed server is a replica, one of them has executed the
    /// statement first.
    fn other_servers(&self) -> Vec<BackendId> {
        let topology = self.topology.borrow();
        let backends = topology.backends.iter();
        let other_servers =
            backends.filter(|it| it.cluster == self.followed.cluster && it.id != self.followed.id);
        other_servers.map(|it| it.id).collect()
    }
}

impl Statements for Changes {
    fn statement(&mut self, header: &EventHeader, query: &Query<'_>) {
        if self.all.len() >= CHANGES_MAX {
            return;
        }
        let Some(mut change) = Change::of(header, query) else {
            return;
        };
        if change.invoker.is_none() {
            change.invoker = self.sender_of(&change, &query.text);
        }
        self.all.push(change);
    }
}
