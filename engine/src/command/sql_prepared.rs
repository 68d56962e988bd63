//! Statements prepared from SQL text. Before an EXECUTE they are prepared on the connection where it runs, and other
//! sessions' statements with the same name are dropped there.

use std::rc::Rc;

use session::Outcome;
use session::state::{Needs, Restoration, TextStatement, drop_text, restoration};
use sql::Facts;
use wire::Command;

use crate::engine_env::EngineEnv;
use crate::session::PooledSession;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::ExchangeError;
use backend::own_reply::OwnReply;

/// Drops statements with these names on a connection. They need not exist.
pub(crate) async fn drop_texts(
    env: &EngineEnv,
    conn: &mut BackendConn,
    names: Vec<Rc<[u8]>>,
) -> Result<(), ConnectionError> {
    for name in names {
        let drop = backend::ask::text(conn, drop_text(&name));
        conn.ask(&env.pool_env, Command::QUERY, &drop).await?;
        conn.state.text_is_gone(&name);
    }
    Ok(())
}

impl PooledSession {
    /// Makes sure that the session's connection has the prepared statements that a command may run, and no other
    /// sessions' statements under names that it may use. Returns the server's error about one of them.
    pub(crate) async fn make_texts(
        &mut self,
        needs: &Needs,
    ) -> Result<Option<OwnReply>, ExchangeError> {
        if !self.may_make_texts(needs) {
            return Ok(None);
        }
        Box::pin(self.settle_doubts()).await;
        Box::pin(self.keep_past()).await;
        let Some(mut lease) = self.held.take() else {
            return Ok(None);
        };
        let outcome = Box::pin(self.make_texts_on(&mut lease.conn, needs)).await;
        self.held.put(lease);
        outcome
    }

    /// Whether statements may have to be prepared or hidden on the session's connection.
    pub(crate) fn may_make_texts(&self, needs: &Needs) -> bool {
        let is_concerned = |conn: &BackendConn| {
            conn.state.has_texts() || self.sql_state.session().held().prepared().next().is_some()
        };
        let conn = self.held.connection();
        needs.wants_texts() && conn.is_some_and(is_concerned)
    }

    /// Switches to the schema of the statement that an EXECUTE runs.
    pub(crate) async fn visit_text(&mut self, facts: &Facts, text: &[u8]) -> Option<Rc<[u8]>> {
        if facts.kind != sql::StatementKind::Execute {
            return None;
        }
        Box::pin(self.settle_doubts()).await;
        let table = &self.env.pool_env.store.values;
        self.sql_state.session_mut().visit_text(table, facts, text)
    }

    async fn make_texts_on(
        &mut self,
        conn: &mut BackendConn,
        needs: &Needs,
    ) -> Result<Option<OwnReply>, ExchangeError> {
        // A reset would remove these statements again, so it comes first.
        let restoration = restoration(self.sql_state.session(), &conn.state, needs);
        if matches!(restoration, Restoration::Reset | Restoration::Unfit) {
            self.restore_state_first(conn, needs).await?;
        }
        let hidden = self.sql_state.session().texts_to_hide(&conn.state, needs);
        let missing = self.sql_state.session().texts_to_make(&conn.state, needs);
        if hidden.is_empty() && missing.is_empty() {
            return Ok(None);
        }
        self.restore_state_first(conn, &Needs::NONE).await?;
        let hiding = drop_texts(&self.env, conn, hidden).await;
        hiding.map_err(|broken| ExchangeError::unsent(broken.into()))?;
        let mut refused = None;
        for text in missing {
            let own = self.make_text(conn, &text).await?;
            refused = own.filter(|_| needs.names_text(&text)).or(refused);
        }
        Ok(refused)
    }

    /// Prepares one statement, in the state that the client has prepared it in.
    async fn make_text(
        &mut self,
        conn: &mut BackendConn,
        text: &Rc<TextStatement>,
    ) -> Result<Option<OwnReply>, ExchangeError> {
        let env = Rc::clone(&self.env);
        let then = self
            .sql_state
            .session()
            .values_to_prepare(&env.pool_env.store.values, text.values());
        let now = self.sql_state.session_mut().swap_values(then);
        let equal = self.restore_state_first(conn, &Needs::NONE).await;
        self.sql_state.session_mut().swap_values(now);
        equal?;
        let make = backend::ask::text(conn, text.make());
        let made = backend::kept_statements::prepare(&env.pool, conn, Command::QUERY, &make).await;
        let made = made.map_err(|broken| ExchangeError::unsent(broken.into()))?;
        match made.outcome {
            Outcome::Ok => {
                conn.state.text_is_made(text);
                Ok(None)
            }
            Outcome::Err(_) => {
                conn.state.text_is_gone(text.name());
                Ok(Some(made))
            }
        }
    }

    /// Does this before a command of SQL text. Only an EXECUTE gets the server's error about its statement.
    pub(crate) async fn make_texts_for(
        &mut self,
        facts: &Facts,
        needs: &Needs,
    ) -> Result<Option<OwnReply>, ExchangeError> {
        let refused = self.make_texts(needs).await?;
        Ok(refused.filter(|_| facts.kind == sql::StatementKind::Execute))
    }
}
