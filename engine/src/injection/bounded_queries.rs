//! Injected statements, bounded in time and bytes.

use std::pin::pin;
use std::rc::Rc;

use config::InjectedResults;
use route::rules::Injection;
use session::Outcome;
use tokio::time::timeout;
use wire::StatusFlags;

use crate::session::PooledSession;
use backend::ask::text;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::Cut;
use backend::injected_results::{Finding, ResultTable};
use backend::kill_thread::TIMEOUT_KILL;
use backend::own_reply::OwnReply;
use command::injecting::Injecting;
use registry::session_control::Ask;

/// The most bytes of a reply whose result is not wanted. No error is longer.
const ERROR_BYTES_MAX: usize = 4 << 10;

/// On which side of the client's statement an injected statement runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The client waits.
    Before,
    /// The client has its reply.
    After,
}

impl PooledSession {
    pub(super) async fn ask_own(&mut self, statement: &[u8]) -> Result<OwnReply, Cut> {
        let asked = self.held.ask(&self.env.pool_env, statement).await;
        asked.map_err(Cut::Backend)
    }

    /// Sends a statement of a rule, and reads its result.
    pub(super) async fn ask_injected(
        &mut self,
        injecting: &mut Injecting,
        statement: &[u8],
        side: Side,
    ) -> Result<Finding, Cut> {
        let is_wanted = injecting.injection.results != InjectedResults::Discard;
        let bytes_max = match is_wanted {
            true => injecting.injection.bytes_max,
            false => ERROR_BYTES_MAX,
        };
        if let Some(rule) = injecting.rule {
            self.env.rule_set().counters.injected(rule);
        }
        let own = self
            .send_injected(injecting, statement, bytes_max, side)
            .await?;
        if let Some(error) = failure_of(&own) {
            return Ok(Finding::Failed(error));
        }
        Ok(match (own.is_cut, own.tally.had_rows) {
            (true, _) if is_wanted => {
                let text = "its result is longer than rule.injected_bytes_max";
                Finding::Failed(text.to_owned())
            }
            (true, _) | (_, false) => Finding::Nothing,
            (false, true) if !is_wanted => Finding::Nothing,
            (false, true) => {
                let table = ResultTable::read(&own, self.conn_capabilities());
                Finding::Table(table.map_err(Cut::Backend)?)
            }
        })
    }

    /// Sends an injected statement, and notes what it changes.
    pub(super) async fn send_injected(
        &mut self,
        injecting: &mut Injecting,
        statement: &[u8],
        bytes_max: usize,
        side: Side,
    ) -> Result<OwnReply, Cut> {
        injecting.sent += 1;
        let was_open = self.is_in_transaction_now();
        let own = self
            .ask_in_time(&injecting.injection, statement, bytes_max, side)
            .await?;
        let status = own.tally.status.unwrap_or_default();
        injecting.has_started_transaction |= !was_open && status.contains(StatusFlags::IN_TRANS);
        injecting.has_warned |= own.tally.warnings > 0 || own.outcome != Outcome::Ok;
        // Only a SET reports changes of its own. Other replies report what the client's statements before have changed.
        if !own.changes.is_empty() && injecting.undo.is_empty() {
            self.overhear(&own);
        }
        Ok(own)
    }

    /// Sends a statement and reads its reply. If the reply takes too long, the statement is killed.
    pub(super) async fn ask_in_time(
        &mut self,
        injection: &Injection,
        statement: &[u8],
        bytes_max: usize,
        side: Side,
    ) -> Result<OwnReply, Cut> {
        let Some(mut lease) = self.held.take() else {
            return Err(ConnectionError::Closed.into());
        };
        self.held.begin_statement(&lease.conn);
        let env = Rc::clone(&self.env);
        let argument = text(&lease.conn, statement);
        let is_killed;
        let heard = {
            let asked = lease.conn.ask_in_part(&env.pool_env, &argument, bytes_max);
            let mut asked = pin!(asked);
            let heard = timeout(injection.timeout, self.while_asked(side, asked.as_mut())).await;
            is_killed = matches!(heard, Ok(Err(Cut::Asked(Ask::KillStatement))));
            match heard {
                Ok(heard) if !is_killed => heard,
                _ => {
                    self.kill_own_statement();
                    let late = ConnectionError::Unexpected("no answer in time");
                    let heard = timeout(TIMEOUT_KILL, self.while_ended(side, asked)).await;
                    heard.unwrap_or(Ok(Err(late)))
                }
            }
        };
        self.held.put(lease);
        if is_killed && !matches!(heard, Ok(Ok(_))) {
            // The client's statement must not run elsewhere either.
            self.control.ask(Ask::KillStatement);
        }
        let own = heard?.map_err(Cut::Backend)?;
        if let Some(kill) = self.held.take_kill() {
            // This does not fail, but it may have given up the connection.
            let _ = self.wait_for_kill(kill).await;
        }
        match self.held.has_connection() {
            // A kill is meant for the client's statement.
            true if is_killed => Err(Cut::Asked(Ask::KillStatement)),
            true => Ok(own),
            false => Err(ConnectionError::Closed.into()),
        }
    }

    /// Before the client's statement, the wait ends if the client disconnects or is killed. Afterwards the client gets
    /// the rest of its reply meanwhile, and may disconnect without ending the wait.
    pub(super) async fn while_asked<T>(
        &mut self,
        side: Side,
        asked: impl Future<Output = T>,
    ) -> Result<T, Cut> {
        if side == Side::Before {
            return self.unless_killed(asked).await;
        }
        let mut asked = pin!(asked);
        std::future::poll_fn(|context| {
            // The next read from the client shows that it has disconnected.
            if !self.client.leg().is_gone() {
                let _ = self.client.leg_mut().poll_drain(context);
            }
            asked.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// Waits for the reply after the injected statement was killed.
    async fn while_ended<T>(
        &mut self,
        side: Side,
        asked: impl Future<Output = T>,
    ) -> Result<T, Cut> {
        match side {
            Side::Before => self.unless_it_ends(asked).await,
            Side::After => self.while_asked(side, asked).await,
        }
    }

    /// The capabilities of the connection that is held.
    pub fn conn_capabilities(&self) -> wire::Capabilities {
        let conn = self.held.connection();
        conn.map_or(self.client.capabilities(), |conn| conn.capabilities)
    }
}

/// The server's error about a statement, as text.
pub(super) fn failure_of(own: &OwnReply) -> Option<String> {
    match own.outcome {
        Outcome::Ok => None,
        Outcome::Err(number) => {
            let text = own
                .error()
                .map(|it| String::from_utf8_lossy(it.text).into_owned());
            Some(format!("error {number}: {}", text.unwrap_or_default()))
        }
    }
}
