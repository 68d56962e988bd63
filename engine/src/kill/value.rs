//! The number that a KILL's target stands for. The server is asked for the value of an expression, in the
//! session's own state.

use session::Outcome;
use session::state::{Needs, Ran, Seen};
use sql::{Answers, Facts};
use wire::execute::Execute;
use wire::{Command, ErrPacket, ErrorCode, errors};

use crate::session::PooledSession;
use backend::ask::text;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::ExchangeError;
use backend::own_reply::OwnReply;
use command::ending::Ending;
use command::kill::kill_statement::{KillStatement, PlaceholderValues, is_refused};
use command::kill::target_number::{binary_number, prepared_id, text_number};
use command::repeat::Repeat;
use command::target::CommandTarget;
use relay::outcome::{After, SessionError};
use session::effect::Effect;

/// The result of an expression in a KILL.
enum EvaluatedValue {
    Number(u64),
    /// The server's error.
    Refused(OwnReply),
    /// The proxy cannot ask for the value.
    Unknown,
}

/// The number, or the end of a command that has none.
pub(super) enum Value {
    Number(u64),
    Told(Ending),
}

impl PooledSession {
    /// The number that the target of a KILL stands for.
    pub(super) async fn value_of_target(
        &mut self,
        said: &KillStatement<'_>,
        sequence: u8,
    ) -> Result<Value, SessionError> {
        let told = |after| Value::Told(Ending::last(after));
        if let Err(failure) = self.hold(CommandTarget::Same).await {
            return self.refuse(&failure, sequence).map(told);
        }
        Box::pin(self.settle_doubts()).await;
        self.keep_past().await;
        let answer = match self.held.take() {
            None => Err(ExchangeError::unsent(ConnectionError::Closed.into())),
            Some(mut lease) => {
                let answer = self.ask_value(&mut lease.conn, said).await;
                self.held.put(lease);
                answer
            }
        };
        match answer {
            Ok(EvaluatedValue::Number(number)) => Ok(Value::Number(number)),
            Ok(EvaluatedValue::Refused(own)) => {
                self.pass_error(sequence, &own);
                Ok(told(After::Next))
            }
            Ok(EvaluatedValue::Unknown) => {
                let error = errors::kill_unclear();
                let ending = self.refuse_kill(sequence, error).await;
                Ok(Value::Told(ending))
            }
            Err(cut) => {
                let repeat = Repeat::of(Effect::Nothing, CommandTarget::Same);
                self.cut_short(cut, sequence, Command::QUERY, repeat)
                    .map(told)
            }
        }
    }

    async fn ask_value(
        &mut self,
        conn: &mut BackendConn,
        said: &KillStatement<'_>,
    ) -> Result<EvaluatedValue, ExchangeError> {
        let flags = self.sql_state.session().flags();
        let select = said.question(flags);
        let rewritten = sql::rewrite(&select, flags, &self.own_answers());
        let select = rewritten.text.unwrap_or(select);
        let facts = sql::facts(&select, flags);
        self.restore_state_first(conn, &Needs::of(&facts, &select))
            .await?;
        if let Some(unread) = &said.unread {
            let own = self.ask_once(conn, Command::STMT_PREPARE, unread).await?;
            if own.outcome != Outcome::Ok {
                self.note_own(conn, Ran::Prepare, (&facts, unread), &own);
                return Ok(EvaluatedValue::Refused(own));
            }
            conn.close_statement(prepared_id(&own)?);
        }
        if is_refused(&facts) {
            return self.ask_refusal(conn, said, &facts).await;
        }
        let own = match &said.values {
            None => {
                let argument = text(conn, &select);
                self.ask_once(conn, Command::QUERY, &argument).await?
            }
            Some(values) => {
                let own = self.ask_once(conn, Command::STMT_PREPARE, &select).await?;
                if own.outcome != Outcome::Ok {
                    self.note_own(conn, Ran::Prepare, (&facts, &select), &own);
                    return Ok(EvaluatedValue::Refused(own));
                }
                self.execute_once(conn, &own, values).await?
            }
        };
        self.note_own(conn, Ran::Statement, (&facts, &select), &own);
        if own.outcome != Outcome::Ok {
            return Ok(EvaluatedValue::Refused(own));
        }
        let number = match said.values {
            None => text_number(&own, conn.capabilities),
            Some(_) => binary_number(&own, conn.capabilities),
        };
        Ok(number.map_or(EvaluatedValue::Unknown, EvaluatedValue::Number))
    }

    /// Asks for the server's error about a KILL with a subquery or a stored function, which the servers refuse.
    async fn ask_refusal(
        &mut self,
        conn: &mut BackendConn,
        said: &KillStatement<'_>,
        facts: &Facts,
    ) -> Result<EvaluatedValue, ExchangeError> {
        if said.values.is_some() {
            return Ok(EvaluatedValue::Unknown);
        }
        let nothing = said.kill.of_nothing();
        let argument = text(conn, &nothing);
        let own = self.ask_once(conn, Command::QUERY, &argument).await?;
        self.note_own(conn, Ran::Statement, (facts, &nothing), &own);
        let error = ErrPacket::decode(own.payloads().last().unwrap_or_default());
        let is_refused = error.is_ok_and(|error| error.number != ErrorCode::NO_SUCH_THREAD.number);
        Ok(match own.outcome != Outcome::Ok && is_refused {
            true => EvaluatedValue::Refused(own),
            false => EvaluatedValue::Unknown,
        })
    }

    pub(super) async fn ask_once(
        &mut self,
        conn: &mut BackendConn,
        command: Command,
        argument: &[u8],
    ) -> Result<OwnReply, ExchangeError> {
        let asked = conn.ask(&self.env.pool_env, command, argument).await;
        asked.map_err(|broken| ExchangeError::unanswered(broken.into()))
    }

    /// Executes a prepared statement once, with the client's values.
    async fn execute_once(
        &mut self,
        conn: &mut BackendConn,
        prepared: &OwnReply,
        values: &PlaceholderValues<'_>,
    ) -> Result<OwnReply, ExchangeError> {
        let id = prepared_id(prepared)?;
        let mut payload = Vec::new();
        Execute {
            statement_id: id.0,
            types: values.types.as_deref(),
            ..*values.execute
        }
        .encode(self.client.capabilities(), &mut payload);
        let argument = payload.get(1..).unwrap_or_default();
        let own = self.ask_once(conn, Command::STMT_EXECUTE, argument).await?;
        conn.close_statement(id);
        Ok(own)
    }

    /// Notes what a statement of the proxy has changed: it may assign to variables.
    pub(super) fn note_own(
        &mut self,
        conn: &mut BackendConn,
        ran: Ran,
        (facts, text): (&Facts, &[u8]),
        own: &OwnReply,
    ) {
        let seen = Seen {
            ran,
            facts,
            text,
            changes: &own.changes,
            tally: &own.tally,
            error: match own.outcome {
                Outcome::Ok => None,
                Outcome::Err(number) => Some(number),
            },
        };
        let values = &self.env.pool_env.store.values;
        self.sql_state
            .session_mut()
            .observe(&mut conn.state, values, &seen);
    }

    /// The answers about its connection that the session's client expects.
    fn own_answers(&self) -> Answers {
        let id = u64::from(self.identity.id());
        let is_set = self
            .sql_state
            .session()
            .values()
            .variable(b"pseudo_thread_id")
            .is_some();
        let pending_answers = self.sql_state.session().diagnostics();
        Answers {
            connection_id: Some(id),
            pseudo_thread_id: (!is_set).then_some(id),
            row_count: Some(pending_answers.row_count),
            found_rows: pending_answers.found_rows,
            ..Answers::default()
        }
    }
}
