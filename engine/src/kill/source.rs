//! The text that a PREPARE or an EXECUTE IMMEDIATE names: a literal, a variable, or what an expression gives.

use session::Outcome;
use session::state::{Needs, Ran};
use sql::{DynamicSource, Facts, Marks, StatementKind};
use wire::{Command, errors};

use crate::session::PooledSession;
use backend::ask::text as query_text;
use backend::connection::BackendConn;
use backend::connection_error::ConnectionError;
use backend::exchange_outcome::ExchangeError;
use backend::own_reply::table;
use command::ending::Ending;
use command::kill::prepared_text::{PreparedText, with_literal};
use command::repeat::Repeat;
use command::target::CommandTarget;
use link::query_command::QueryCommand;
use relay::outcome::SessionError;
use session::effect::Effect;

/// The proxy's knowledge of the text.
pub(super) enum Prepares {
    Text(Vec<u8>),
    /// The server has to report what is wrong.
    Unknown,
    Told(Ending),
}

impl PooledSession {
    /// Returns the text that a statement prepares. If an expression gives the text and must not be evaluated again, the
    /// text is put in its place.
    pub(super) async fn text_to_prepare(
        &mut self,
        query: &mut QueryCommand,
        text: &[u8],
        source: &DynamicSource,
    ) -> Result<Prepares, SessionError> {
        let flags = self.sql_state.session().flags();
        let Some(span) = source.text else {
            return Ok(Prepares::Unknown);
        };
        let value_of = |name: &[u8]| self.sql_state.session().text_of_variable(name);
        let prepared = PreparedText::read((&query.facts, text), span, flags, value_of);
        let (select, inner) = match prepared {
            PreparedText::Known(text) => return Ok(Prepares::Text(text)),
            PreparedText::Unknown => return Ok(Prepares::Unknown),
            PreparedText::Expression { select, facts } => (select, facts),
        };
        let sequence = query.incoming().sequence;
        if let Err(failure) = self.hold(CommandTarget::Same).await {
            let after = self.refuse(&failure, sequence)?;
            return Ok(Prepares::Told(Ending::last(after)));
        }
        Box::pin(self.settle_doubts()).await;
        self.keep_past().await;
        let said = match self.held.take() {
            None => Err(ExchangeError::unsent(ConnectionError::Closed.into())),
            Some(mut lease) => {
                let said = self.ask_text(&mut lease.conn, &inner, &select).await;
                self.held.put(lease);
                said
            }
        };
        let said = match said {
            Ok(Some(said)) => said,
            Ok(None) => return Ok(Prepares::Unknown),
            Err(cut) => {
                let repeat = Repeat::of(Effect::Nothing, CommandTarget::Same);
                let after = self.cut_short(cut, sequence, Command::QUERY, repeat)?;
                return Ok(Prepares::Told(Ending::last(after)));
            }
        };
        let kills = sql::facts(&said, flags).marks.has(Marks::KILLS);
        // Comments may contain other characters than ASCII.
        let said = if kills { sql::code(&said, flags) } else { said };
        let has_effects = !inner.effects.is_empty();
        if has_effects || kills && query.facts.kind == StatementKind::Prepare {
            if !said.is_ascii() {
                let told = self.refuse_kill(sequence, errors::kill_not_ascii()).await;
                return Ok(Prepares::Told(told));
            }
            let text = with_literal(text, span, &said, flags);
            self.replace_text(query, &text).await;
        }
        Ok(Prepares::Text(said))
    }

    /// The value of an expression; `None` if it has none.
    async fn ask_text(
        &mut self,
        conn: &mut BackendConn,
        facts: &Facts,
        select: &[u8],
    ) -> Result<Option<Vec<u8>>, ExchangeError> {
        self.restore_state_first(conn, &Needs::of(facts, select))
            .await?;
        let argument = query_text(conn, select);
        let own = self.ask_once(conn, Command::QUERY, &argument).await?;
        self.note_own(conn, Ran::Statement, (facts, select), &own);
        if own.outcome != Outcome::Ok {
            return Ok(None);
        }
        let row = table(&own, conn.capabilities).map(|table| table.row);
        Ok(row.ok().and_then(|row| row.into_iter().next()).flatten())
    }
}
