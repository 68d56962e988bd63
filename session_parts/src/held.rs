//! The part of a session that holds a backend connection of its worker's pool.
//!
//! ```text
//!   find_sub_pool ──► check_out ──► put ──► take ──► a command uses the connection ──► put ──► release
//!                                            ▲                                          │
//!                                            └──────────── pin: the session keeps it ◄──┘
//! ```

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use backend::ask::text;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::kill_thread::Running;
use backend::own_reply::OwnReply;
use backend::pool_env::PoolEnv;
use backend::prepared_statement::StatementKey;
use backend::sub_pool::{BackendLogin, KnownSubPool, PoolKey, SubPool, SubPoolId};
use backend::wait_slot::WaitSlot;
use backend::worker_pool::{CheckoutStep, HeldConnection, WorkerPool};
use pool::{BackendStatementId, Lookup};
use registry::session_control::SessionControl;
use route::Backend;
use session::state::Pins;
use wire::Command;

/// The backend connection that one session holds, and the state that belongs to it.
#[derive(Default)]
pub struct Held {
    /// The connection, unless a command has taken it.
    lease: Option<HeldConnection>,
    /// The sub-pool of the connection that the session asked for last.
    sub_pool: Option<KnownSubPool>,
    /// The session's slot in the queue for connections, from its first wait on.
    wait_slot: Option<Rc<WaitSlot>>,
    /// The connection where the session's statement runs.
    running: Option<Running>,
    /// A KILL of that statement that may not have arrived yet.
    kill: Option<JoinHandle<()>>,
}

impl Held {
    /// Whether the session holds a connection that no command has taken.
    #[inline]
    pub fn has_connection(&self) -> bool {
        self.lease.is_some()
    }

    /// The connection, unless a command has taken it.
    #[inline]
    pub fn connection(&self) -> Option<&BackendConn> {
        self.lease.as_ref().map(|lease| &*lease.conn)
    }

    /// The same, to be changed or read from.
    #[inline]
    pub fn connection_mut(&mut self) -> Option<&mut BackendConn> {
        self.lease.as_mut().map(|lease| &mut *lease.conn)
    }

    /// The backend of the connection.
    #[inline]
    pub fn backend(&self) -> Option<&Arc<Backend>> {
        self.lease.as_ref().map(|lease| &lease.conn.backend)
    }

    /// Takes the connection, so that a command can use it together with the session. [`put`](Self::put) brings it back.
    #[inline]
    pub fn take(&mut self) -> Option<HeldConnection> {
        self.lease.take()
    }

    /// Makes the session hold this connection. The session must not hold another one.
    #[inline]
    pub fn put(&mut self, lease: HeldConnection) {
        debug_assert!(self.lease.is_none(), "a session holds one connection");
        self.lease = Some(lease);
    }

    /// Makes the session hold this connection. Returns the connection that it held before.
    pub fn replace(&mut self, lease: HeldConnection) -> Option<HeldConnection> {
        self.lease.replace(lease)
    }

    /// Keeps the connection between two commands. The pool counts that, and the admin views show the reasons.
    pub fn pin(&mut self, pool: &WorkerPool, control: &SessionControl, pins: Pins) {
        control.hold(Some(pins));
        if let Some(lease) = &mut self.lease {
            pool.hold(lease);
        }
    }

    /// Gives up the connection. A KILL of the session's last statement would hit the connection's next session.
    #[inline]
    pub fn release(&mut self, control: &SessionControl) -> Option<HeldConnection> {
        let lease = self.lease.take()?;
        self.running = None;
        control.hold(None);
        Some(lease)
    }

    /// Sends a statement of the proxy over the connection, and waits for the reply.
    ///
    /// # Errors
    /// The connection breaks, or the session has none.
    pub async fn ask(
        &mut self,
        env: &PoolEnv,
        statement: impl AsRef<[u8]>,
    ) -> Result<OwnReply, ConnectionError> {
        let conn = self.connection_mut().ok_or(ConnectionError::Closed)?;
        let argument = text(conn, statement);
        conn.ask(env, Command::QUERY, &argument).await
    }

    /// The same for a statement that asks for one row. If the reply is too long, none of it is kept.
    ///
    /// # Errors
    /// The connection breaks, or the session has none.
    pub async fn ask_short(
        &mut self,
        env: &PoolEnv,
        statement: impl AsRef<[u8]>,
    ) -> Result<OwnReply, ConnectionError> {
        let conn = self.connection_mut().ok_or(ConnectionError::Closed)?;
        let argument = text(conn, statement);
        conn.ask_short(env, &argument).await
    }

    /// Marks the connection as useless for other sessions: it is closed when the session releases it.
    pub fn spoil(&mut self) {
        if let Some(conn) = self.connection_mut() {
            conn.is_spoiled = true;
        }
    }

    /// Begins to use a prepared statement. Returns its id, or `None` if the statement has to be prepared on the
    /// connection first. Then another statement is closed, if there is no room.
    #[inline]
    pub fn begin_prepared(&mut self, key: &StatementKey) -> Option<BackendStatementId> {
        let conn = self.connection_mut()?;
        match conn.prepared.begin(key) {
            Lookup::Prepared(id) => Some(id),
            Lookup::Missing { close } => {
                if let Some(id) = close {
                    conn.close_statement(id);
                }
                None
            }
        }
    }

    /// Closes a statement that is prepared on the connection. The next command that needs it prepares it again.
    pub fn close_prepared(&mut self, key: &StatementKey) {
        if let Some(conn) = self.connection_mut()
            && let Some(id) = conn.prepared.remove(key)
        {
            conn.close_statement(id);
        }
    }

    /// Ends a command's use of a statement that is prepared on the connection. It is closed if the connection keeps too
    /// many.
    #[inline]
    pub fn finish_prepared(&mut self, key: &StatementKey) {
        if let Some(conn) = self.connection_mut()
            && let Some(id) = conn.prepared.finish(key)
        {
            conn.close_statement(id);
        }
    }

    /// Notes that the proxy no longer knows the types that the server has for the parameters of a statement.
    pub fn unbind(&mut self, key: &StatementKey) {
        if let Some(conn) = self.connection_mut() {
            conn.prepared.unbind(key);
        }
    }

    /// Returns the sub-pool for connections to a backend. It is looked up only if the backend is not the last one's.
    #[inline]
    pub fn find_sub_pool(
        &mut self,
        pool: &WorkerPool,
        backend: &Arc<Backend>,
        key: &Rc<PoolKey>,
        login: &Rc<BackendLogin>,
    ) -> SubPoolId {
        pool.known_sub_pool(&mut self.sub_pool, backend, key, login)
    }

    /// The last sub-pool that was found.
    #[inline]
    pub fn sub_pool(&self) -> Option<&Rc<SubPool>> {
        self.sub_pool.as_ref().map(|known| &known.sub_pool)
    }

    /// Asks for a connection of a sub-pool. If the session has to wait, it waits in its own slot.
    #[inline]
    pub fn check_out(
        &mut self,
        pool: &Rc<WorkerPool>,
        sub_pool: SubPoolId,
        patience: Duration,
        distance: impl FnMut(&BackendConn) -> u32,
    ) -> CheckoutStep {
        pool.begin(sub_pool, patience, &mut self.wait_slot, distance)
    }

    /// Notes that a statement of the session is sent over this connection.
    #[inline]
    pub fn begin_statement(&mut self, conn: &BackendConn) {
        self.running = Some(Running::on(conn));
    }

    /// Notes that the statement has ended: there is nothing to kill.
    #[inline]
    pub fn end_statement(&mut self) {
        self.running = None;
    }

    /// The connection of the session's statement, if that runs and no KILL is on its way to it. A KILL that has arrived
    /// without effect was too early: the server had not begun the statement.
    pub fn statement_to_kill(&self) -> Option<&Running> {
        let has_arrived = self.kill.as_ref().is_none_or(JoinHandle::is_finished);
        self.running.as_ref().filter(|_| has_arrived)
    }

    /// Notes that a KILL is on its way to the session's statement.
    pub fn note_kill(&mut self, kill: JoinHandle<()>) {
        self.kill = Some(kill);
    }

    /// Takes the KILL that the session has sent to its own statement. The caller waits until it has arrived.
    #[inline]
    pub fn take_kill(&mut self) -> Option<JoinHandle<()>> {
        self.kill.take()
    }
}

#[cfg(test)]
mod tests;
