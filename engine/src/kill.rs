//! KILL: the ids that clients see lead to the right backend thread, and no other thread is hit.
//! A killed session carries out the kill itself: it knows which connection runs its statement, and it does not give
//! that connection back before the kill has arrived.

mod source;
mod text;
mod user;
mod value;

use backend::kill_thread::{
    TIMEOUT_KILL, ask_apart, kill, kill_in_time, let_kill_others, statement,
};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pool::CloseReason;
use route::{BackendId, KillScope};
use session::state::{Answered, List, Needs};
use sql::Facts;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wire::Command;
use wire::errors::{self, ProxyError};
use wire::reply::OK;

use super::session::PooledSession;
use backend::ask;
use backend::kill_thread::Running;
use backend::own_reply::own_command;
use command::ending::Ending;
use command::job::{Haste, Job};
use command::kill::kill_target::KillTarget;
use command::repeat::Repeat;
use command::target::CommandTarget;
use link::client_command::Incoming;
use link::query_command::CommandPart;
use registry::session_registry::{IdOwner, Kill, is_session_id};
use relay::outcome::{After, SessionError};
use session::effect::Effect;

/// The result of a KILL.
pub(crate) enum Killing {
    /// The client has its reply.
    Told(Ending),
    /// The KILL names one of the server's own threads, so it goes to the server.
    Left,
}

impl PooledSession {
    /// COM_PROCESS_KILL.
    pub(crate) async fn process_kill(&mut self, incoming: Incoming) -> Result<After, SessionError> {
        let id = incoming
            .argument()
            .first_chunk::<4>()
            .map(|it| u32::from_le_bytes(*it));
        let Some(id) = id else {
            return self.malformed(incoming.sequence);
        };
        // MySQL 9 does not know this command any more, and says so itself.
        if matches!(self.sql_state.session().flags().server, sql::Server::MySql(version) if version >= 90_000)
        {
            return self.plain(incoming).await;
        }
        let scope = KillScope::Connection;
        let target = KillTarget { id, scope };
        let killing = self.kill_target(incoming.sequence, target, CommandPart::Whole);
        match killing.await? {
            Killing::Told(told) => Ok(told.after),
            Killing::Left => self.plain(incoming).await,
        }
    }

    /// Kills the session or thread that an id names. An id of the proxy never goes to a server, because one of the
    /// server's own threads may have the same id.
    async fn kill_target(
        &mut self,
        sequence: u8,
        target: KillTarget,
        part: CommandPart,
    ) -> Result<Killing, SessionError> {
        if target.id == self.identity.id() {
            return self.kill_self(sequence, target.scope, part).await;
        }
        let found = self.env.relay.login.session_registry.find(target.id);
        match found {
            IdOwner::Nobody if is_session_id(target.id) => {
                let error = errors::no_such_session(target.id);
                Ok(Killing::Told(self.refuse_kill(sequence, error).await))
            }
            // The id of a backend's own thread.
            IdOwner::Nobody => Ok(Killing::Left),
            IdOwner::Session(owner) | IdOwner::Alone(owner) => {
                let is_own = *owner == *self.user();
                self.kill_session(sequence, target, part, is_own).await
            }
            IdOwner::Passed(backend, thread_id) => {
                self.kill_passed(sequence, backend, thread_id, (target.scope, part))
                    .await
            }
        }
    }

    /// Tells a session to carry out a kill of itself.
    async fn kill_session(
        &mut self,
        sequence: u8,
        target: KillTarget,
        part: CommandPart,
        is_own: bool,
    ) -> Result<Killing, SessionError> {
        if !is_own && !self.may_kill_others().await {
            let error = errors::not_owner(target.id);
            let told = self.refuse_kill(sequence, error).await;
            return Ok(Killing::Told(told));
        }
        self.env.relay.login.session_registry.kill(Kill {
            id: target.id,
            scope: target.scope,
            at: None,
            requested_at: self.env.now().0,
        });
        Ok(Killing::Told(self.reply_killed(sequence, part, 0)))
    }

    /// The OK of a KILL that the proxy has carried out.
    fn reply_killed(&mut self, sequence: u8, part: CommandPart, count: u64) -> Ending {
        let [low, high] = self.status_of(part).0.to_le_bytes();
        let mut payload = vec![OK];
        wire::write::put_lenenc(&mut payload, count);
        payload.extend_from_slice(&[0, low, high, 0, 0]);
        let mut packets = Vec::new();
        wire::write::put_packets(&mut packets, 0, &payload);
        let next = self.reply_renumbered(sequence, packets);
        self.forget_past();
        Ending::more(next)
    }

    /// Makes a statement that the proxy has answered the last statement. Answers that others have saved for the session
    /// stay.
    pub(crate) fn forget_past(&mut self) {
        self.sql_state.session_mut().answered(Answered::Statement);
        if self.sql_state.session().diagnostics().list == List::Empty {
            self.sql_state.pending_answers().forget_list();
        }
    }

    /// The error of a KILL that the proxy does not carry out.
    async fn refuse_kill(&mut self, sequence: u8, error: ProxyError) -> Ending {
        self.forget_past();
        Box::pin(self.put_down_error(&error)).await;
        self.reply_error(sequence, &error);
        Ending::last(After::Next)
    }

    /// Kills the session's own statement, or its connection: the backend does to the connection in use what it would do
    /// to a client's.
    async fn kill_self(
        &mut self,
        sequence: u8,
        scope: KillScope,
        part: CommandPart,
    ) -> Result<Killing, SessionError> {
        let told = |after| Killing::Told(Ending::last(after));
        if let Err(failure) = self.hold(CommandTarget::Same).await {
            return self.refuse(&failure, sequence).map(told);
        }
        let argument = self.held.connection().map(|conn| {
            let statement = statement(scope, conn.thread_id);
            ask::text(conn, statement)
        });
        let incoming = Incoming {
            command: Command::QUERY,
            packets: own_command(Command::QUERY, &argument.unwrap_or_default()),
            sequence,
            is_cut: false,
        };
        let job = Job {
            command_part: part,
            ..Job::of(&incoming, Needs::NONE, Haste::Write)
        };
        match self.exchange(&job).await {
            Ok(done) => {
                self.observe(Command::QUERY, &Facts::default(), b"", &done);
                if scope == KillScope::Connection {
                    self.drop_lease(CloseReason::Ended);
                    let failure = link::failure::Failure::new(
                        link::failure::FailureKind::Killed,
                        "Connection was killed",
                    );
                    return Err(SessionError::new(failure, None));
                }
                Ok(Killing::Told(Ending::of(&done)))
            }
            Err(cut) => {
                let repeat = Repeat::of(Effect::Any, CommandTarget::Same);
                self.cut_short(cut, sequence, Command::QUERY, repeat)
                    .map(told)
            }
        }
    }

    /// Kills a session that has a connection of its own. Its backend carries that out, and checks the privilege.
    async fn kill_passed(
        &mut self,
        sequence: u8,
        backend: BackendId,
        thread_id: u32,
        (scope, part): (KillScope, CommandPart),
    ) -> Result<Killing, SessionError> {
        let topology = Arc::clone(&self.env.pool_env.topology.borrow());
        let Some(backend) = topology.backend(backend) else {
            let error = errors::no_such_session(thread_id);
            let told = self.refuse_kill(sequence, error).await;
            return Ok(Killing::Told(told));
        };
        let workers = &self.env.pool;
        let sub_pool = workers.sub_pool(backend, self.identity.key(), self.identity.login());
        let said = kill(&self.env.pool, &sub_pool, thread_id, scope).await;
        Ok(Killing::Told(match said {
            Some(payload) => {
                self.note_failed(&payload, Some(sub_pool.backend.id));
                self.reply(sequence, &payload);
                Ending::last(After::Next)
            }
            None => {
                if scope == KillScope::Statement {
                    // The session may be running a script's hook, which the backend does not know.
                    let session_registry = &self.env.relay.login.session_registry;
                    session_registry.end_hook_at(sub_pool.backend.id, thread_id);
                }
                self.reply_killed(sequence, part, 0)
            }
        }))
    }

    /// Whether the account may kill sessions of others, by its grants.
    async fn may_kill_others(&mut self) -> bool {
        if self.hold(CommandTarget::Same).await.is_err() {
            return false;
        }
        let Some(conn) = self.held.connection_mut() else {
            return false;
        };
        // This question is not the client's, and may overwrite the answers that sessions can still ask for.
        let Ok(own) = ask_apart(&self.env.pool_env, conn, "SHOW GRANTS").await else {
            self.drop_lease(CloseReason::Broken);
            return false;
        };
        self.take_up_saved();
        let_kill_others(&own.bytes)
    }

    /// Sends a kill of this session's own statement to its server. An earlier kill came too early: the server had not
    /// begun.
    pub(crate) fn kill_own_statement(&mut self) {
        if let Some(running) = self.held.statement_to_kill() {
            let kill = self.kill_thread(running, KillScope::Statement);
            self.held.note_kill(kill);
        }
    }

    /// Starts a kill of a thread, over another connection of the same account.
    pub fn kill_thread(&self, running: &Running, scope: KillScope) -> JoinHandle<()> {
        let worker_pool = &self.env.pool;
        let backend = &running.backend;
        let sub_pool = worker_pool.sub_pool(backend, self.identity.key(), self.identity.login());
        let pool = Rc::clone(&self.env.pool);
        let thread_id = running.thread_id;
        tokio::task::spawn_local(async move {
            kill_in_time(&pool, &sub_pool, thread_id, scope).await;
        })
    }

    /// Waits until a kill has arrived. A kill that came too late is absorbed by a statement, because the next statement
    /// on this connection may be another session's.
    pub async fn wait_for_kill(&mut self, kill: JoinHandle<()>) -> Result<(), SessionError> {
        let _ = timeout(TIMEOUT_KILL, kill).await;
        // The statement that absorbs the kill empties the warning list, so the list is saved first.
        let keeping = timeout(TIMEOUT_ABSORB, Box::pin(self.keep_past())).await;
        if keeping.is_err() {
            self.drop_lease(CloseReason::Broken);
        }
        let asked = self.held.ask(&self.env.pool_env, "DO 0");
        if !matches!(timeout(TIMEOUT_ABSORB, asked).await, Ok(Ok(_))) {
            self.drop_lease(CloseReason::Broken);
        }
        Ok(())
    }
}

/// How long a connection has to answer after a kill.
const TIMEOUT_ABSORB: Duration = Duration::from_secs(2);
