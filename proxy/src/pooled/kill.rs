//! KILL: the ids that clients see lead to the right backend thread, and nothing else is hit.
//!
//! A session that is killed sees to it itself: it knows which connection runs its statement, and it
//! does not give that connection back before the kill has arrived.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pool::CloseReason;
use route::{BackendId, KillScope};
use session::state::Needs;
use sql::{Facts, Kill as How, Kind, Role};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wire::query::Query;
use wire::{Command, ErrorCode};

use super::aim::Aim;
use super::broken::{Effect, Repeat};
use super::conn::{BackendConn, Broken, OwnReply};
use super::exchange::{Haste, Job, TIMEOUT_KILL};
use super::incoming::Incoming;
use super::open::{open, text};
use super::people::{Found, Kill};
use super::query::Answered;
use super::session::{After, CutOff, Pooled, Running};
use super::shelf::Shelf;
use crate::worker::Worker;

/// What a client wants killed.
struct Target {
    id: u32,
    scope: KillScope,
}

impl Pooled {
    /// KILL as a statement.
    pub(crate) async fn kill_statement(
        &mut self,
        incoming: Incoming,
        facts: &mut Facts,
    ) -> Result<Answered, CutOff> {
        let target = {
            let argument = incoming.argument();
            let query = Query::decode(&argument, self.capabilities).map(|query| query.text);
            target_of(facts, query.unwrap_or_default(), self.person.id())
        };
        match target {
            // By an account or an expression: the server knows.
            None => Ok(Answered::Left(incoming)),
            Some(target) => self.kill_target(incoming, target).await,
        }
    }

    /// COM_PROCESS_KILL.
    pub(crate) async fn process_kill(&mut self, incoming: Incoming) -> Result<After, CutOff> {
        let id = incoming
            .argument()
            .first_chunk::<4>()
            .map(|it| u32::from_le_bytes(*it));
        let Some(id) = id else {
            return self.malformed(incoming.sequence);
        };
        // MySQL 9 knows it no more: it says so itself.
        if matches!(self.state.flags().server, sql::Server::MySql(version) if version >= 90_000) {
            return self.plain(incoming).await;
        }
        let scope = KillScope::Connection;
        match self.kill_target(incoming, Target { id, scope }).await? {
            Answered::Whole(after) => Ok(after),
            Answered::Left(incoming) => self.plain(incoming).await,
        }
    }

    async fn kill_target(
        &mut self,
        incoming: Incoming,
        target: Target,
    ) -> Result<Answered, CutOff> {
        if target.id == self.person.id() {
            return self.kill_self(incoming, target.scope).await;
        }
        let found = self.worker.shared.people.find(target.id);
        match found {
            // The id of a backend's own thread, or nobody's.
            Found::Nobody => Ok(Answered::Left(incoming)),
            Found::Session(account) => {
                let is_own = account.user() == self.account.id().user();
                if !is_own && !self.may_kill_others().await {
                    let text = format!("You are not owner of thread {}", target.id);
                    self.say_error(incoming.sequence, ErrorCode::KILL_DENIED, &text);
                    return Ok(Answered::Whole(After::Next));
                }
                let Target { id, scope } = target;
                self.worker.shared.people.kill(Kill {
                    id,
                    scope,
                    at: None,
                });
                self.say_ok(incoming.sequence);
                Ok(Answered::Whole(After::Next))
            }
            Found::Passed(backend, thread_id) => {
                self.kill_passed(incoming, backend, thread_id, target.scope)
                    .await
            }
        }
    }

    /// One's own statement, or connection: the backend does to the connection in use what it would do
    /// to a client's.
    async fn kill_self(
        &mut self,
        mut incoming: Incoming,
        scope: KillScope,
    ) -> Result<Answered, CutOff> {
        if let Err(failure) = self.hold(Aim::Same).await {
            return self
                .refuse(&failure, incoming.sequence)
                .map(Answered::Whole);
        }
        if let Some(lent) = &self.lent {
            let statement = statement(scope, lent.conn.thread_id);
            let argument = text(&lent.conn, statement);
            incoming.packets = super::conn::own_command(Command::QUERY, &argument);
            incoming.command = Command::QUERY;
        }
        let job = Job::of(&incoming, Needs::NONE, Haste::Write);
        match self.exchange(&job).await {
            Ok(done) => {
                self.observe(Command::QUERY, &Facts::default(), b"", &done);
                if scope == KillScope::Connection {
                    self.drop_lent(CloseReason::Ended);
                    let failure = crate::failure::Failure::new(
                        crate::failure::Kind::Killed,
                        "Connection was killed",
                    );
                    return Err(CutOff::new(failure, None));
                }
                Ok(Answered::Whole(After::Next))
            }
            Err(cut) => {
                let repeat = Repeat::of(Effect::Any, Aim::Same);
                self.cut_short(cut, incoming.sequence, Command::QUERY, repeat)
                    .map(Answered::Whole)
            }
        }
    }

    /// A session that has a connection of its own: its backend is told, which knows who may.
    async fn kill_passed(
        &mut self,
        incoming: Incoming,
        backend: BackendId,
        thread_id: u32,
        scope: KillScope,
    ) -> Result<Answered, CutOff> {
        let topology = Arc::clone(&self.worker.topology.borrow());
        let Some(backend) = topology.backend(backend) else {
            let text = format!("Unknown thread id: {thread_id}");
            self.say_error(incoming.sequence, ErrorCode::NO_SUCH_THREAD, &text);
            return Ok(Answered::Whole(After::Next));
        };
        let pool = &self.settings.config.pool;
        let shelf = self
            .worker
            .desk
            .shelf(&self.worker, pool, backend, &self.kind, &self.login);
        let said = kill(&self.worker, &shelf, thread_id, scope).await;
        match said {
            Some(payload) => self.say(incoming.sequence, &payload),
            None => self.say_ok(incoming.sequence),
        }
        Ok(Answered::Whole(After::Next))
    }

    /// Whether the account may kill sessions of others, by its grants.
    async fn may_kill_others(&mut self) -> bool {
        if self.hold(Aim::Same).await.is_err() {
            return false;
        }
        let Some(lent) = &mut self.lent else {
            return false;
        };
        // What it asks is not its client's, and may make the server forget what sessions may ask.
        let Ok(own) = ask_beside(&self.worker, &mut lent.conn, "SHOW GRANTS").await else {
            self.drop_lent(CloseReason::Broken);
            return false;
        };
        self.take_up_saved();
        let grants = String::from_utf8_lossy(&own.bytes).to_uppercase();
        [
            "ALL PRIVILEGES ON *.*",
            "SUPER",
            "CONNECTION_ADMIN",
            "CONNECTION ADMIN",
        ]
        .iter()
        .any(|privilege| grants.contains(privilege))
    }

    /// A kill of this session's own statement has come: it is on its way from here on. One before, if it has
    /// arrived, was too early: the server had not begun.
    pub(crate) fn kill_own_statement(&mut self) {
        let Some(running) = &self.running else {
            return;
        };
        if self.kill.as_ref().is_none_or(JoinHandle::is_finished) {
            self.kill = Some(self.kill_thread(running, KillScope::Statement));
        }
    }

    /// Has a thread killed, over another connection of the same account.
    pub(crate) fn kill_thread(&self, running: &Running, scope: KillScope) -> JoinHandle<()> {
        let pool = &self.settings.config.pool;
        let desk = &self.worker.desk;
        let backend = &running.backend;
        let shelf = desk.shelf(&self.worker, pool, backend, &self.kind, &self.login);
        let worker = Rc::clone(&self.worker);
        let thread_id = running.thread_id;
        tokio::task::spawn_local(async move {
            let _ = timeout(TIMEOUT_KILL, kill(&worker, &shelf, thread_id, scope)).await;
        })
    }

    /// Waits until a kill has arrived, and takes it where it came too late: the next statement on
    /// this connection may be another session's.
    pub(crate) async fn outlive(&mut self, kill: JoinHandle<()>) -> Result<(), CutOff> {
        let _ = timeout(TIMEOUT_KILL, kill).await;
        let Some(lent) = &mut self.lent else {
            return Ok(());
        };
        let nothing = text(&lent.conn, "DO 0");
        let answered = timeout(
            TIMEOUT_ABSORB,
            lent.conn.ask(&self.worker, Command::QUERY, &nothing),
        );
        if !matches!(answered.await, Ok(Ok(_))) {
            self.drop_lent(CloseReason::Broken);
        }
        Ok(())
    }
}

/// How long a connection has to answer after a kill.
const TIMEOUT_ABSORB: Duration = Duration::from_secs(2);

/// Has the statement killed that a connection is at, over another one of its kind.
pub(crate) fn kill_on(worker: &Rc<Worker>, conn: &BackendConn) {
    let (worker, shelf, thread_id) = (Rc::clone(worker), Rc::clone(&conn.shelf), conn.thread_id);
    tokio::task::spawn_local(async move {
        let killing = kill(&worker, &shelf, thread_id, KillScope::Statement);
        let _ = timeout(TIMEOUT_KILL, killing).await;
    });
}

/// Kills a thread over a connection of `shelf`, one that lies idle or a new one. Returns the server's
/// ERR, if it said one.
async fn kill(
    worker: &Rc<Worker>,
    shelf: &Rc<Shelf>,
    thread_id: u32,
    scope: KillScope,
) -> Option<Vec<u8>> {
    let statement = statement(scope, thread_id);
    let nearness = BackendConn::answers_owed;
    if let Some(mut lent) = worker.desk.take_idle(worker, shelf.id, nearness) {
        let said = ask_beside(worker, &mut lent.conn, &statement).await;
        return match said {
            Ok(own) => {
                let said = own.error().map(|_| own.first_payload().to_vec());
                worker.desk.give_back(worker, lent);
                said
            }
            Err(_) => {
                worker.desk.forget(worker, lent, CloseReason::Broken);
                None
            }
        };
    }
    // A place in the pool may be just what the statement holds: this one is beside it, and short.
    let mut conn = Box::pin(open(worker, shelf)).await.ok()?;
    let argument = text(&conn, &statement);
    let own = conn.ask(worker, Command::QUERY, &argument).await.ok()?;
    let said = own.error().map(|_| own.first_payload().to_vec());
    conn.say_goodbye().await;
    said
}

/// Asks over a connection on which a session has left what it may ask.
async fn ask_beside(
    worker: &Worker,
    conn: &mut BackendConn,
    statement: &str,
) -> Result<OwnReply, Broken> {
    super::aftermath::settle(worker, conn, &Rc::default()).await?;
    let argument = text(conn, statement);
    conn.ask(worker, Command::QUERY, &argument).await
}

fn statement(scope: KillScope, thread_id: u32) -> String {
    match scope {
        KillScope::Statement => format!("KILL QUERY {thread_id}"),
        KillScope::Connection => format!("KILL {thread_id}"),
    }
}

/// Whose statement a KILL QUERY of a session with a connection of its own names, by the backend's id.
pub(crate) fn statement_killed(text: &[u8], own: u32) -> Option<u32> {
    const KILL: &[u8] = b"KILL";
    let begin = text.trim_ascii_start().get(..KILL.len())?;
    if !begin.eq_ignore_ascii_case(KILL) {
        return None;
    }
    let target = target_of(&sql::facts(text, sql::Flags::default()), text, own)?;
    (target.scope == KillScope::Statement).then_some(target.id)
}

/// Whom a KILL names, when it names an id.
fn target_of(facts: &Facts, text: &[u8], own: u32) -> Option<Target> {
    let Kind::Kill(how) = facts.kind else {
        return None;
    };
    let scope = match how {
        How::Connection => KillScope::Connection,
        How::Query => KillScope::Statement,
        How::QueryId | How::User | How::QueryOfUser => return None,
    };
    let killed = facts.mentions_of(Role::Killed).next()?;
    let killed = std::str::from_utf8(killed.name.of(text)).ok()?;
    let is_own = killed.to_ascii_uppercase().replace(' ', "") == "CONNECTION_ID()";
    let id = match is_own {
        true => own,
        false => killed.trim().parse().ok()?,
    };
    Some(Target { id, scope })
}
