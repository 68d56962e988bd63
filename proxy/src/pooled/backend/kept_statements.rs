//! Statements that connections keep prepared for the next session that needs them. They count against the server's
//! `max_prepared_stmt_count`, and keep plugins loaded: where that hinders a client, they are closed.

use std::rc::Rc;
use std::time::Duration;

use pool::CloseReason;
use route::BackendId;
use session::Outcome;
use sql::{Facts, Kind, Role};
use wire::{Command, ErrorCode};

use super::connection::{BackendConn, Broken, OwnReply};
use super::worker_pool::{Connection, HeldConnection, WorkerPool};
use crate::pooled::command::sql_prepared::drop_texts;
use crate::pooled::exchange::Part;
use crate::pooled::exchange::delivery::Delivery;
use crate::pooled::failure::retry::Repeat;
use crate::pooled::session::PooledSession;
use crate::worker::Worker;

/// How often a statement is prepared again while other workers close theirs.
const TRIES_MAX: u32 = 20;

/// How long each of them has for that.
const PAUSE: Duration = Duration::from_millis(25);

/// Prepares a statement, with COM_STMT_PREPARE or with a PREPARE as text. Where the server has too many, the kept ones
/// are closed first: a PREPARE that was refused has done nothing, so it may be sent again.
pub(crate) async fn prepare(
    worker: &Rc<Worker>,
    conn: &mut BackendConn,
    command: Command,
    argument: &[u8],
) -> Result<OwnReply, Broken> {
    let mut own = conn.ask(worker, command, argument).await?;
    for attempt in 0..TRIES_MAX {
        if own.outcome != Outcome::Err(ErrorCode::MAX_PREPARED_STMT_COUNT.number) {
            break;
        }
        match attempt {
            0 => worker.desk.close_kept(worker, conn).await,
            _ if worker.workers == 1 => break,
            _ => tokio::time::sleep(PAUSE).await,
        }
        own = conn.ask(worker, command, argument).await?;
    }
    Ok(own)
}

impl BackendConn {
    /// Closes what is kept prepared here and not in use, with the next command.
    fn close_kept(&mut self, worker: &Worker) {
        self.kept_since.set(worker.shared.kept_epoch());
        for id in self.prepared.take_at_rest() {
            self.close_statement(id);
        }
    }

    /// Whether it keeps statements that are to be closed.
    pub(crate) fn is_to_close_kept(&self, worker: &Worker) -> bool {
        self.kept_since.get() != worker.shared.kept_epoch() && self.keeps_statements()
    }

    fn keeps_statements(&self) -> bool {
        !self.prepared.is_empty() || self.state.has_texts()
    }

    /// Closes them now.
    async fn close_kept_now(&mut self, worker: &Worker) -> Result<(), Broken> {
        if !self.is_alive() {
            return Err(Broken::Closed);
        }
        self.close_kept(worker);
        if self.state.has_texts() {
            crate::pooled::diagnostics::pending_answers::settle(worker, self, &Rc::default())
                .await?;
            return self.reset(worker).await;
        }
        // COM_STMT_CLOSE has no reply: behind this one they are closed.
        self.ask(worker, Command::PING, b"").await.map(drop)
    }
}

impl WorkerPool {
    /// Closes the statements that are kept on a connection and on all others to its backend, those of
    /// other workers a little later.
    pub(crate) async fn close_kept(&self, worker: &Rc<Worker>, conn: &mut BackendConn) {
        tracing::info!(
            backend = conn.backend.name,
            "statements that were kept prepared are closed"
        );
        worker.shared.close_kept();
        conn.close_kept(worker);
        let tasks = self.begin_closing_kept(worker, Some(conn.backend.id));
        for task in tasks {
            // One that failed has closed its connection.
            let _ = task.await;
        }
    }

    /// The same on idle connections, if that was asked for since the last time.
    pub(crate) fn close_kept_if_asked(&self, worker: &Rc<Worker>) {
        let epoch = worker.shared.kept_epoch();
        if self.kept_epoch.replace(epoch) != epoch {
            self.begin_closing_kept(worker, None);
        }
    }

    fn begin_closing_kept(
        &self,
        worker: &Rc<Worker>,
        of: Option<BackendId>,
    ) -> Vec<tokio::task::JoinHandle<()>> {
        let shelves = self.shelves.borrow();
        let is_of = |backend: BackendId| of.is_none_or(|of| of == backend);
        let shelves = shelves.values().filter(|it| is_of(it.backend.id));
        let ids: Vec<_> = shelves.map(|shelf| shelf.id).collect();
        let mut tasks = Vec::new();
        for id in ids {
            loop {
                let is_it = |conn: &Connection| conn.is_to_close_kept(worker);
                let taken = self.pool.borrow_mut().take_to_ask(&id, is_it);
                let Some((conn, lease)) = taken else {
                    break;
                };
                tasks.push(self.begin_closing_kept_of(worker, HeldConnection::new(conn, lease)));
            }
        }
        tasks
    }

    /// Closes what one connection keeps, and brings it back.
    pub(crate) fn begin_closing_kept_of(
        &self,
        worker: &Rc<Worker>,
        mut lent: HeldConnection,
    ) -> tokio::task::JoinHandle<()> {
        let worker = Rc::clone(worker);
        tokio::task::spawn_local(async move {
            match lent.conn.close_kept_now(&worker).await {
                Ok(()) => worker.desk.give_back(&worker, lent),
                Err(_) => worker.desk.forget(&worker, lent, CloseReason::Broken),
            }
        })
    }
}

impl PooledSession {
    /// Whether the client does not hear that the server has no room for what this statement prepares. The text must
    /// stand there: making it must not call anything.
    pub(crate) fn makes_room(&self, facts: &Facts, part: Part, repeat: &Repeat) -> bool {
        facts.kind == Kind::Prepare
            && facts.mentions_of(Role::PreparedText).next().is_some()
            && part == Part::Whole
            && !self.injects()
            && self.command.delivery != Delivery::Nobody
            && repeat.refused_for_room < TRIES_MAX
    }

    /// Closes kept statements, before a PREPARE that was refused for want of room is sent again.
    pub(crate) async fn make_room(&mut self, repeat: &mut Repeat) {
        repeat.refused_for_room += 1;
        if repeat.refused_for_room > 1 {
            return tokio::time::sleep(PAUSE).await;
        }
        if self.is_pinned() {
            self.close_kept().await;
            return self.drop_texts_of_others().await;
        }
        // The session's own connection may keep statements of others.
        self.worker.shared.close_kept();
        self.give_back();
        self.worker.desk.close_kept_if_asked(&self.worker);
    }

    /// Drops what other sessions have prepared as text on the session's connection.
    async fn drop_texts_of_others(&mut self) {
        if let Some(mut lent) = self.held.lease.take() {
            let others = self.sql_state.session.texts_of_others(&lent.conn.state);
            // A connection that breaks here is found broken by the next command.
            let _ = drop_texts(&self.worker, &mut lent.conn, others).await;
            self.held.lease = Some(lent);
        }
    }

    /// Closes the statements that are kept on connections to the backend of the session's own.
    pub(crate) async fn close_kept(&mut self) {
        if let Some(mut lent) = self.held.lease.take() {
            let desk = &self.worker.desk;
            desk.close_kept(&self.worker, &mut lent.conn).await;
            self.held.lease = Some(lent);
        }
    }
}
