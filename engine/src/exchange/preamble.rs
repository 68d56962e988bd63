//! What is said on a connection in front of a client's command: questions of the session before, what
//! restores this one's state, a wait for what it must see; and what came of it.

use std::rc::Rc;
use std::sync::Arc;

use route::Written;
use session::Outcome;
use session::state::{ANOTHER_SCHEMA, Changes, Needs, Restoration, restoration, restored};
use wire::Command;

use crate::session::PooledSession;
use backend::ask::text;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Cut;
use backend::exchange_outcome::ExchangeError;
use backend::exchange_outcome::{Lack, RestoreFailed};
use backend::own_reply::{OwnReply, own_command};
use backend::pending_answers::Question;
use backend::settle_answers;

/// Statements in front of the client's, in one write with it where that is safe.
#[derive(Default)]
pub(crate) struct Preamble {
    pub asks: Vec<Ask>,
    /// What tells these assignments apart from others, and whether they have worked before.
    pub proof: Option<Proof>,
    pub has_schema: bool,
    /// A wait may be in vain, and then nothing may have happened.
    pub has_wait: bool,
    /// The last statement is a BEGIN. What writes must not run without it.
    pub has_begin: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Proof {
    key: u64,
    pub is_proven: bool,
}

pub(crate) struct Ask {
    what: PreamblePurpose,
    command: Command,
    pub packets: Vec<u8>,
}

/// What a statement of the preamble is for.
pub(crate) enum PreamblePurpose {
    /// What the session before may still ask for.
    Save(Question),
    /// State that is restored.
    Restore,
    /// An empty list of warnings, or another thing of which no answer is wanted.
    Clear,
    /// What a read must see.
    Await,
    /// How far the primary is, and what had to be seen before it was asked.
    Position(Arc<Written>),
    /// The session's transaction.
    Begin,
}

/// How a connection stands to a session.
pub(crate) enum Ready {
    /// It is like the session.
    Equal,
    /// It will be, behind these.
    Behind(Preamble),
    /// It has to begin anew.
    Reset,
}

impl PooledSession {
    /// The statements that go to the backend before the client's command.
    pub(crate) fn preamble(&mut self, conn: &mut BackendConn, needs: &Needs) -> Ready {
        let mut prefix = Preamble::default();
        let restoration = restoration(self.sql_state.session(), &conn.state, needs);
        if matches!(restoration, Restoration::Reset | Restoration::Unfit) {
            return Ready::Reset;
        }
        for question in settle_answers::claim(conn, self.sql_state.pending_answers()) {
            let statement = text(conn, question.pending.question());
            prefix.add(PreamblePurpose::Save(question), Command::QUERY, &statement);
        }
        if let Some(track_settings) = self.tracking.take_shown() {
            let show = track_settings.as_set(self.hide_gtids(conn));
            prefix.add(PreamblePurpose::Clear, Command::QUERY, &text(conn, show));
        } else if self.wants_gtids(conn) {
            conn.tells_gtids = true;
            let tell = text(conn, "SET session_track_gtids=OWN_GTID");
            prefix.add(PreamblePurpose::Clear, Command::QUERY, &tell);
        }
        if let Some((before, question)) = self.position_to_ask(conn) {
            let question = text(conn, question);
            prefix.add(PreamblePurpose::Position(before), Command::QUERY, &question);
        }
        if let Some(position) = self.routing.state().awaited() {
            let limit = self.settings.config.balance.timeout_consistency;
            let wait = text(conn, position.wait_statement(limit));
            prefix.add(PreamblePurpose::Await, Command::QUERY, &wait);
            prefix.has_wait = true;
        }
        match restoration {
            Restoration::Nothing => {}
            Restoration::Assign {
                schema,
                leaves_first,
                set,
                key,
            } => {
                if let Some(schema) = schema {
                    if leaves_first {
                        prefix.add(PreamblePurpose::Restore, Command::INIT_DB, ANOTHER_SCHEMA);
                    }
                    prefix.add(PreamblePurpose::Restore, Command::INIT_DB, &schema);
                    prefix.has_schema = true;
                }
                if let Some(set) = set {
                    prefix.add(PreamblePurpose::Restore, Command::QUERY, &text(conn, set));
                }
                let is_proven = self.env.pool_env.store.is_proven(key);
                prefix.proof = Some(Proof { key, is_proven });
            }
            Restoration::Reset | Restoration::Unfit => return Ready::Reset,
        }
        // Behind what restores: MySQL warns of some character sets.
        if self.command.wants_clear && !self.sql_state.pending_answers().still_answers_on(conn) {
            let clear = empty_list(conn.state.server());
            prefix.add(PreamblePurpose::Clear, Command::QUERY, &text(conn, clear));
        }
        match prefix.asks.is_empty() && prefix.proof.is_none() {
            true => Ready::Equal,
            false => Ready::Behind(prefix),
        }
    }

    /// Resets the session's connection now, if it has to be before the session may use it: what is
    /// prepared there is gone then.
    pub(crate) async fn reset_if_unlike(&mut self, needs: &Needs) -> Result<(), ExchangeError> {
        let Some(conn) = self.held.connection() else {
            return Ok(());
        };
        let restoration = restoration(self.sql_state.session(), &conn.state, needs);
        if !matches!(restoration, Restoration::Reset | Restoration::Unfit) {
            return Ok(());
        }
        let Some(mut lease) = self.held.take() else {
            return Ok(());
        };
        let outcome = Box::pin(self.reset_backend(&mut lease.conn, needs)).await;
        self.held.put(lease);
        outcome
    }

    /// Resets a connection of which nothing is known or too much: or logs in again, where only that
    /// leaves no schema.
    async fn reset_backend(
        &self,
        conn: &mut BackendConn,
        needs: &Needs,
    ) -> Result<(), ExchangeError> {
        let unsent = |broken: ConnectionError| ExchangeError::unsent(broken.into());
        let settled =
            settle_answers::settle(&self.env.pool_env, conn, self.sql_state.pending_answers())
                .await;
        settled.map_err(unsent)?;
        let outcome = match restoration(self.sql_state.session(), &conn.state, needs) {
            Restoration::Unfit => backend::open::log_in_again(&self.env.pool_env, conn).await,
            _ => conn.reset(&self.env.pool_env).await,
        };
        outcome.map_err(unsent)
    }

    /// The statements that go to the backend before the client's command, on a connection that is reset first.
    pub(crate) async fn reset_preamble(
        &mut self,
        conn: &mut BackendConn,
        needs: &Needs,
    ) -> Result<Preamble, ExchangeError> {
        let broken = |broken: ConnectionError| ExchangeError::unsent(broken.into());
        self.reset_backend(conn, needs).await?;
        match self.preamble(conn, needs) {
            Ready::Equal => Ok(Preamble::default()),
            Ready::Behind(prefix) => Ok(prefix),
            Ready::Reset => {
                // Now it has the schema of nobody: a login of its own is left.
                backend::open::log_in_again(&self.env.pool_env, conn)
                    .await
                    .map_err(broken)?;
                match self.preamble(conn, needs) {
                    Ready::Equal => Ok(Preamble::default()),
                    Ready::Behind(prefix) => Ok(prefix),
                    Ready::Reset => Err(broken(ConnectionError::Unexpected("it cannot be reset"))),
                }
            }
        }
    }

    /// What worked before does not any more.
    fn disprove(&self, proof: Option<Proof>) {
        if let Some(proof) = proof {
            self.env.pool_env.store.disprove(proof.key);
        }
        if let Some(schema) = self.sql_state.session().values().schema() {
            let key = (self.identity.key().account.clone(), schema.to_vec());
            self.env.pool_env.store.forget_schema(&key);
        }
    }

    /// Hears, or first sends, each statement in front, and checks what came of it.
    pub(crate) async fn restore_state(
        &mut self,
        conn: &mut BackendConn,
        prefix: Preamble,
        needs: &Needs,
        is_sent: bool,
    ) -> Result<Result<(), RestoreFailed>, Cut> {
        let mut result = Ok(());
        let mut changes = Changes::default();
        let mut is_behind = false;
        let mut begun = None;
        for ask in prefix.asks {
            if !is_sent {
                self.send(conn, &ask.packets).await;
            }
            let own = match ask.what {
                PreamblePurpose::Await => {
                    let wait = self.settings.config.balance.timeout_consistency;
                    let env = Rc::clone(&self.env);
                    let heard = conn.read_reply_within(&env.pool_env, ask.command, wait);
                    self.unless_it_ends(heard).await??
                }
                _ => conn.read_reply(&self.env.pool_env, ask.command).await?,
            };
            match ask.what {
                PreamblePurpose::Save(question) => question.answered(&own, conn.capabilities),
                PreamblePurpose::Clear => conn.tells_gtids &= own.outcome == Outcome::Ok,
                PreamblePurpose::Position(before) => self.observe_position(conn, &before, &own),
                PreamblePurpose::Begin if own.outcome == Outcome::Ok => begun = Some(own),
                PreamblePurpose::Begin => {
                    result = result.and(Err(RestoreFailed::begin_refused(&own)))
                }
                PreamblePurpose::Await => {
                    is_behind = !has_come(&own, conn);
                    if !is_behind {
                        self.note_arrival(conn);
                    } else if !is_sent {
                        return Ok(Err(RestoreFailed::behind()));
                    }
                }
                PreamblePurpose::Restore => {
                    changes.merge(&own.changes);
                    if own.outcome != Outcome::Ok && !is_sent && ask.command == Command::INIT_DB {
                        conn.state.is_astray();
                        return Ok(Err(RestoreFailed::without_schema(&own)));
                    }
                    if own.outcome != Outcome::Ok && result.is_ok() {
                        self.note_refused_restore(conn, prefix.proof, &own);
                        result = Err(RestoreFailed::refused(&own));
                    }
                }
            }
            if result.is_err() && !is_sent {
                return Ok(result);
            }
        }
        let result = result.and_then(|()| match is_behind {
            true => Err(RestoreFailed::behind()),
            false => Ok(()),
        });
        let result = match prefix.proof.filter(|_| conn.state.values().is_some()) {
            Some(proof) => self
                .compare_restored(conn, needs, &changes, proof)
                .and(result),
            None => result,
        };
        if let (Ok(()), Some(own)) = (&result, &begun) {
            self.has_started(own);
        }
        Ok(result)
    }

    /// A statement that restores the session's state was refused.
    fn note_refused_restore(
        &mut self,
        conn: &mut BackendConn,
        proof: Option<Proof>,
        own: &OwnReply,
    ) {
        conn.state.forget();
        self.disprove(proof);
        let error = own.error().map(|error| error.number);
        let values = &self.env.pool_env.store.values;
        self.sql_state.session_mut().give_up_refused(values, error);
    }

    /// Compares what the server has told of the restored state with the session's.
    fn compare_restored(
        &mut self,
        conn: &mut BackendConn,
        needs: &Needs,
        changes: &Changes,
        proof: Proof,
    ) -> Result<(), RestoreFailed> {
        match restored(
            self.sql_state.session_mut(),
            &mut conn.state,
            needs,
            changes,
        ) {
            Ok(()) => {
                if !proof.is_proven {
                    self.env.pool_env.store.prove(proof.key);
                }
                Ok(())
            }
            Err(mismatch) => Err(RestoreFailed {
                cause: mismatch.to_string(),
                error: None,
                lack: Lack::State,
            }),
        }
    }
}

impl Preamble {
    pub(crate) fn add(&mut self, what: PreamblePurpose, command: Command, argument: &[u8]) {
        self.asks.push(Ask {
            what,
            command,
            packets: own_command(command, argument),
        });
    }
}

/// Whether a wait for a position was not in vain.
fn has_come(own: &OwnReply, conn: &BackendConn) -> bool {
    let row = backend::own_reply::table(own, conn.capabilities).map(|table| table.row);
    row.is_ok_and(|row| matches!(row.first(), Some(Some(value)) if value == b"0"))
}

/// What makes a server forget its list of warnings: to MariaDB only what reads a table.
pub(crate) fn empty_list(server: sql::Server) -> &'static str {
    match server {
        sql::Server::MySql(_) => "DO 0",
        sql::Server::MariaDb(_) | sql::Server::Unknown => {
            "DO (SELECT COUNT(*) FROM information_schema.ENABLED_ROLES)"
        }
    }
}
