//! The questions to a backend that explains, each with a limit of time and of bytes.

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use pool::CloseReason;
use serde_json::Value;
use session::Outcome;
use tokio::time::timeout;
use wire::ErrPacket;

use super::planner::{Planner, Refusal};
use backend::ask::text;
use backend::kill_thread::Running;
use backend::kill_thread::TIMEOUT_KILL;
use backend::own_reply::OwnReply;
use wire::rows::Rows;

/// The time limit of an answer.
pub(super) const TIMEOUT_EXPLAIN: Duration = Duration::from_secs(5);

/// The time limit of a question for a schema's indexes.
const TIMEOUT_SCHEMA: Duration = Duration::from_secs(10);

/// The longest answer that is used, in bytes.
pub(super) const ANSWER_BYTES_MAX: usize = 1 << 20;

/// The longest answer with a schema's indexes, in bytes.
const SCHEMA_BYTES_MAX: usize = 8 << 20;

impl Planner {
    /// Ends the transaction that planning may have begun, so that no locks remain.
    pub(super) async fn end_planning(&mut self) {
        if self.session.held.has_connection() {
            let _ = self
                .ask_within(b"ROLLBACK", TIMEOUT_EXPLAIN, ANSWER_BYTES_MAX)
                .await;
        }
    }

    pub(super) async fn ask_schema(&mut self, question: &str) -> Result<Rows, Refusal> {
        let question = question.as_bytes();
        let own = self
            .ask_within(question, TIMEOUT_SCHEMA, SCHEMA_BYTES_MAX)
            .await?;
        self.rows_of(&own).map_err(|(_, refusal)| refusal)
    }

    pub(super) async fn ask_rows(
        &mut self,
        head: &str,
        statement: &[u8],
    ) -> Result<Rows, (u16, Refusal)> {
        let question = [head.as_bytes(), statement].concat();
        let own = self
            .ask_within(&question, TIMEOUT_EXPLAIN, ANSWER_BYTES_MAX)
            .await;
        self.rows_of(&own.map_err(|refusal| (0, refusal))?)
    }

    pub(super) async fn ask_json(&mut self, statement: &[u8]) -> Result<Value, Refusal> {
        let rows = self.ask_rows("EXPLAIN FORMAT=JSON ", statement).await;
        let rows = rows.map_err(|(_, refusal)| refusal)?;
        let first = rows.iter().next();
        let json = first
            .and_then(|row| row.value("EXPLAIN"))
            .unwrap_or_default();
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn rows_of(&self, own: &OwnReply) -> Result<Rows, (u16, Refusal)> {
        match own.outcome {
            Outcome::Ok if own.is_cut => Err((0, "the answer is too long".to_owned())),
            Outcome::Ok => own
                .rows(self.session.conn_capabilities())
                .map_err(|broken| (0, broken.to_string())),
            Outcome::Err(number) => {
                let shown = own.error().map(|error| refusal_of(&error));
                Err((number, shown.unwrap_or_else(|| format!("error {number}"))))
            }
        }
    }

    /// Asks a question. If the answer takes longer than `limit`, the statement is killed.
    pub(super) async fn ask_within(
        &mut self,
        question: &[u8],
        limit: Duration,
        bytes_max: usize,
    ) -> Result<OwnReply, Refusal> {
        let lost = || "the connection is lost".to_owned();
        let mut lease = self.session.held.take().ok_or_else(lost)?;
        let running = Running::on(&lease.conn);
        let env = Rc::clone(&self.session.env);
        let argument = text(&lease.conn, question);
        let mut kill = None;
        let heard = {
            let mut asked = pin!(lease.conn.ask_in_part(&env.pool_env, &argument, bytes_max));
            match timeout(limit, asked.as_mut()).await {
                Ok(heard) => Some(heard),
                Err(_) => {
                    kill = Some(
                        self.session
                            .kill_thread(&running, route::KillScope::Statement),
                    );
                    timeout(TIMEOUT_KILL, asked.as_mut()).await.ok()
                }
            }
        };
        self.session.held.put(lease);
        let Some(Ok(own)) = heard else {
            self.session.drop_lease(CloseReason::Broken);
            return Err(lost());
        };
        if let Some(status) = own.tally.status {
            self.session.client.set_status(status);
        }
        if let Some(kill) = kill {
            // This does not fail, but it may have given up the connection.
            let _ = self.session.wait_for_kill(kill).await;
            return Err(format!("there was no answer within {limit:?}"));
        }
        Ok(own)
    }
}

/// The server's error, without the values that it quotes.
fn refusal_of(error: &ErrPacket<'_>) -> Refusal {
    let message = stats::table::shortened(error.text, ERROR_BYTES_MAX);
    format!(
        "error {}: {}",
        error.number,
        stats::messages::shown(error.number, message, false)
    )
}

/// The longest message that is kept, in bytes.
const ERROR_BYTES_MAX: usize = 512;
