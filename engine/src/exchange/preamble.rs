//! The preamble: statements that go to the backend before a client's command. They ask for the answers of the session
//! before, restore this session's state, or wait for writes that must be seen. The results are checked here, too.

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

/// The statements before the client's command, in one write with it if that is safe.
#[derive(Default)]
pub(crate) struct Preamble {
    pub asks: Vec<Ask>,
    /// The key of these assignments, and whether they have worked before.
    pub proof: Option<Proof>,
    pub has_schema: bool,
    /// A statement waits for a position. If the wait ends in vain, the client's statement must not have had an effect.
    pub has_wait: bool,
    /// The last statement is a BEGIN. A write must not run without it.
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

/// The purpose of a statement of the preamble.
pub(crate) enum PreamblePurpose {
    /// An answer that the session before may still ask for.
    Save(Question),
    /// Restores the session's state.
    Restore,
    /// Empties the warning list, or does something else whose reply is not wanted.
    Clear,
    /// Waits for the writes that a read must see.
    Await,
    /// Asks for the primary's position. The value: the writes that had to be seen before.
    Position(Arc<Written>),
    /// Begins the session's transaction.
    Begin,
}

/// How a connection's state compares to a session's.
pub(crate) enum Ready {
    /// The states are equal.
    Equal,
    /// The states are equal after these statements.
    Behind(Preamble),
    /// The connection has to be reset.
    Reset,
}

impl PooledSession {
    /// The statements that go to the backend before the client's command.
    pub(crate) fn preamble(&mut self, conn: &mut BackendConn, needs: &Needs) -> Ready {
        let mut preamble = Preamble::default();
        let restoration = restoration(self.sql_state.session(), &conn.state, needs);
        if matches!(restoration, Restoration::Reset | Restoration::Unfit) {
            return Ready::Reset;
        }
        for question in settle_answers::claim(conn, self.sql_state.pending_answers()) {
            let statement = text(conn, question.pending.question());
            preamble.add(PreamblePurpose::Save(question), Command::QUERY, &statement);
        }
        if let Some(track_settings) = self.tracking.take_shown() {
            let show = track_settings.as_set(self.hide_gtids(conn));
            preamble.add(PreamblePurpose::Clear, Command::QUERY, &text(conn, show));
        } else if self.wants_gtids(conn) {
            conn.tells_gtids = true;
            let tell = text(conn, "SET session_track_gtids=OWN_GTID");
            preamble.add(PreamblePurpose::Clear, Command::QUERY, &tell);
        }
        if let Some((before, question)) = self.position_to_ask(conn) {
            let question = text(conn, question);
            preamble.add(PreamblePurpose::Position(before), Command::QUERY, &question);
        }
        if let Some(position) = self.routing.state().awaited() {
            let limit = self.settings.config.balance.timeout_consistency;
            let wait = text(conn, position.wait_statement(limit));
            preamble.add(PreamblePurpose::Await, Command::QUERY, &wait);
            preamble.has_wait = true;
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
                        preamble.add(PreamblePurpose::Restore, Command::INIT_DB, ANOTHER_SCHEMA);
                    }
                    preamble.add(PreamblePurpose::Restore, Command::INIT_DB, &schema);
                    preamble.has_schema = true;
                }
                if let Some(set) = set {
                    preamble.add(PreamblePurpose::Restore, Command::QUERY, &text(conn, set));
                }
                let is_proven = self.env.pool_env.store.is_proven(key);
                preamble.proof = Some(Proof { key, is_proven });
            }
            Restoration::Reset | Restoration::Unfit => return Ready::Reset,
        }
        // This comes after the statements that restore state, because MySQL warns of some character sets.
        if self.command.wants_clear && !self.sql_state.pending_answers().still_answers_on(conn) {
            let clear = empty_list(conn.state.server());
            preamble.add(PreamblePurpose::Clear, Command::QUERY, &text(conn, clear));
        }
        match preamble.asks.is_empty() && preamble.proof.is_none() {
            true => Ready::Equal,
            false => Ready::Behind(preamble),
        }
    }

    /// Resets the session's connection now, if the session cannot use it otherwise: a later reset would remove the
    /// statements that are prepared there.
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

    /// Resets a connection whose state is not known, or which has state that the session does not have. If only a new
    /// login leaves no schema, logs in again instead.
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
            Ready::Behind(preamble) => Ok(preamble),
            Ready::Reset => {
                // The schema after the reset is not the session's either, so only a new login is left.
                backend::open::log_in_again(&self.env.pool_env, conn)
                    .await
                    .map_err(broken)?;
                match self.preamble(conn, needs) {
                    Ready::Equal => Ok(Preamble::default()),
                    Ready::Behind(preamble) => Ok(preamble),
                    Ready::Reset => Err(broken(ConnectionError::Unexpected("it cannot be reset"))),
                }
            }
        }
    }

    /// Forgets that these assignments, and the session's schema, have worked before.
    fn disprove(&self, proof: Option<Proof>) {
        if let Some(proof) = proof {
            self.env.pool_env.store.disprove(proof.key);
        }
        if let Some(schema) = self.sql_state.session().values().schema() {
            let key = (self.identity.key().account.clone(), schema.to_vec());
            self.env.pool_env.store.forget_schema(&key);
        }
    }

    /// Reads the reply to each statement of the preamble, after sending it if that is not done yet, and checks the
    /// result.
    pub(crate) async fn restore_state(
        &mut self,
        conn: &mut BackendConn,
        preamble: Preamble,
        needs: &Needs,
        is_sent: bool,
    ) -> Result<Result<(), RestoreFailed>, Cut> {
        let mut result = Ok(());
        let mut changes = Changes::default();
        let mut is_behind = false;
        let mut begun = None;
        for ask in preamble.asks {
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
                        self.note_refused_restore(conn, preamble.proof, &own);
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
        let result = match preamble.proof.filter(|_| conn.state.values().is_some()) {
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

    /// Notes that the server has refused a statement that restores the session's state.
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

    /// Compares the restored state, as the server reports it, with the session's.
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

/// Whether the wait for a position has succeeded.
fn has_come(own: &OwnReply, conn: &BackendConn) -> bool {
    let row = backend::own_reply::table(own, conn.capabilities).map(|table| table.row);
    row.is_ok_and(|row| matches!(row.first(), Some(Some(value)) if value == b"0"))
}

/// A statement that makes a server empty its warning list. MariaDB empties it only for a statement that reads a table.
pub(crate) fn empty_list(server: sql::Server) -> &'static str {
    match server {
        sql::Server::MySql(_) => "DO 0",
        sql::Server::MariaDb(_) | sql::Server::Unknown => {
            "DO (SELECT COUNT(*) FROM information_schema.ENABLED_ROLES)"
        }
    }
}
