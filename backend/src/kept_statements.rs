//! Statements that connections keep prepared for the next session that needs them. They count against the server's
//! `max_prepared_stmt_count` and keep plugins loaded. If that hinders a client, the proxy closes them.

use std::rc::Rc;
use std::time::Duration;

use pool::CloseReason;
use route::BackendId;
use session::Outcome;
use wire::{Command, ErrorCode};

use crate::connection::BackendConn;
use crate::connection::Connection;
use crate::connection_error::ConnectionError;
use crate::own_reply::OwnReply;
use crate::pool_env::PoolEnv;
use crate::worker_pool::{HeldConnection, WorkerPool};

/// How often a statement is prepared again while other workers close their kept statements.
pub const TRIES_MAX: u32 = 20;

/// How long the proxy waits between two tries, so that other workers can close theirs.
pub const PAUSE: Duration = Duration::from_millis(25);

/// Prepares a statement, with COM_STMT_PREPARE or with a PREPARE as text. If the server has too many
/// statements, the kept ones are closed first. A refused PREPARE has done nothing, so it may be sent again.
pub async fn prepare(
    pool: &Rc<WorkerPool>,
    conn: &mut BackendConn,
    command: Command,
    argument: &[u8],
) -> Result<OwnReply, ConnectionError> {
    let mut own = conn.ask(&pool.env, command, argument).await?;
    for attempt in 0..TRIES_MAX {
        if own.outcome != Outcome::Err(ErrorCode::MAX_PREPARED_STMT_COUNT.number) {
            break;
        }
        match attempt {
            0 => pool.close_kept(conn).await,
            _ if pool.env.workers == 1 => break,
            _ => tokio::time::sleep(PAUSE).await,
        }
        own = conn.ask(&pool.env, command, argument).await?;
    }
    Ok(own)
}

impl BackendConn {
    /// Closes the kept statements that are not in use, with the next command.
    fn close_kept(&mut self, env: &PoolEnv) {
        self.epochs.kept_since.set(env.shared.kept_epoch());
        for id in self.prepared.take_at_rest() {
            self.close_statement(id);
        }
    }

    /// Whether the connection has kept statements that should be closed.
    pub fn is_to_close_kept(&self, env: &PoolEnv) -> bool {
        self.epochs.kept_since.get() != env.shared.kept_epoch() && self.keeps_statements()
    }

    fn keeps_statements(&self) -> bool {
        !self.prepared.is_empty() || self.state.has_texts()
    }

    /// Closes the kept statements now.
    async fn close_kept_now(&mut self, env: &PoolEnv) -> Result<(), ConnectionError> {
        if !self.is_alive() {
            return Err(ConnectionError::Closed);
        }
        self.close_kept(env);
        if self.state.has_texts() {
            crate::settle_answers::settle(env, self, &Rc::default()).await?;
            return self.reset(env).await;
        }
        // COM_STMT_CLOSE has no reply. When the reply to this COM_PING arrives, the statements are closed.
        self.ask(env, Command::PING, b"").await.map(drop)
    }
}

impl WorkerPool {
    /// Closes the statements that are kept on this connection and on all others to its backend.
    /// Other workers close theirs a little later.
    pub async fn close_kept(self: &Rc<Self>, conn: &mut BackendConn) {
        tracing::info!(
            backend = conn.backend.name,
            "statements that were kept prepared are closed"
        );
        self.env.shared.close_kept();
        conn.close_kept(&self.env);
        let tasks = self.begin_closing_kept(Some(conn.backend.id));
        for task in tasks {
            // A task that failed has closed its connection.
            let _ = task.await;
        }
    }

    /// Closes the kept statements on idle connections, if a worker has asked for that since the last time.
    pub fn close_kept_if_asked(self: &Rc<Self>) {
        let epoch = self.env.shared.kept_epoch();
        if self.kept_epoch.replace(epoch) != epoch {
            self.begin_closing_kept(None);
        }
    }

    fn begin_closing_kept(
        self: &Rc<Self>,
        of: Option<BackendId>,
    ) -> Vec<tokio::task::JoinHandle<()>> {
        let sub_pools = self.sub_pools.borrow();
        let is_of = |backend: BackendId| of.is_none_or(|of| of == backend);
        let sub_pools = sub_pools.values().filter(|it| is_of(it.backend.id));
        let ids: Vec<_> = sub_pools.map(|sub_pool| sub_pool.id).collect();
        let mut tasks = Vec::new();
        for id in ids {
            loop {
                let is_it = |conn: &Connection| conn.is_to_close_kept(&self.env);
                let taken = self.pool.borrow_mut().take_to_ask(&id, is_it);
                let Some((conn, lease)) = taken else {
                    break;
                };
                tasks.push(self.begin_closing_kept_of(HeldConnection::new(conn, lease)));
            }
        }
        tasks
    }

    /// Closes the kept statements of one connection, and brings it back to the pool.
    pub fn begin_closing_kept_of(
        self: &Rc<Self>,
        mut lease: HeldConnection,
    ) -> tokio::task::JoinHandle<()> {
        let pool = Rc::clone(self);
        tokio::task::spawn_local(async move {
            match lease.conn.close_kept_now(&pool.env).await {
                Ok(()) => pool.give_back(lease),
                Err(_) => pool.forget(lease, CloseReason::Broken),
            }
        })
    }
}
