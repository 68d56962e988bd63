//! COM_QUERY: the facts of its text, and the steps that only a text has.

use std::rc::Rc;

use config::LaneUse;
use sql::Facts;
use wire::Command;

use crate::session::PooledSession;
use backend::exchange_outcome::Done;
use command::ending::Ending;
use command::statement::Statement;
use link::client_command::Incoming;
use link::query_command::CommandPart;
use link::query_command::{Arrived, Carries, QueryCommand};
use relay::outcome::{After, SessionError};
use session::track_settings::SessionTrackSettings;
use sql::proxy_explain;
use stats::statement_stats::Subject;

impl PooledSession {
    /// Decodes a command that has come.
    #[inline]
    pub(crate) fn arrived(&self, incoming: Incoming) -> Arrived {
        if incoming.command != Command::QUERY || incoming.is_cut {
            return Arrived::Other(incoming);
        }
        let (facts, capabilities) = (
            self.env.pool_env.store.take_facts(),
            self.client.capabilities(),
        );
        QueryCommand::decode(incoming, capabilities, facts, CommandPart::Whole)
            .map_or_else(Arrived::Other, Arrived::Query)
    }

    /// COM_QUERY.
    pub(crate) async fn query(&mut self, mut query: QueryCommand) -> Result<After, SessionError> {
        let ending = self.run_query(&mut query).await;
        self.reuse(query);
        Ok(ending?.after)
    }

    /// Runs a command, or one of its statements.
    async fn run_query(&mut self, query: &mut QueryCommand) -> Result<Ending, SessionError> {
        if query.awaits_reader()
            && let Err(failure) = Box::pin(self.read_ahead(query)).await
        {
            let sequence = query.incoming().sequence;
            return self.refuse(&failure, sequence).map(Ending::last);
        }
        self.understand(query);
        self.run_statement(&mut Statement::Text(query)).await
    }

    /// Keeps a command's buffers for the next command.
    fn reuse(&self, query: QueryCommand) {
        let (facts, packets) = query.into_memory();
        self.env.pool_env.store.return_facts(facts);
        self.env.pool_env.store.return_bytes(packets);
    }

    /// Reads the facts and the digest of the text.
    fn understand(&mut self, query: &mut QueryCommand) {
        let bytes = query.incoming().packets.len();
        let digest = match self.note_read_ahead(query) {
            Some(digest) => Some(digest),
            None => {
                let (text, facts) = query.text_and_facts();
                self.read_facts(facts, text, bytes)
            }
        };
        let (text, facts) = query.text_and_facts();
        self.trust(facts, text);
        query.digest = digest;
        if query.carries() == Carries::Attributes
            && self.env.relay.recorder.stats.wants().tracing.is_some()
        {
            let attributes = query.query().named_attributes(self.client.capabilities());
            self.note_attributes(&attributes.unwrap_or_default());
        }
    }

    /// Reads the facts of a statement's text, and its digest if that will be wanted: if the statement may use a lane,
    /// judging by its first letter, or if rules look at digests.
    fn read_facts(&mut self, facts: &mut Facts, text: &[u8], bytes: usize) -> Option<u64> {
        let first = text.trim_ascii_start().first();
        let may_use =
            self.routing.settings().lanes != LaneUse::Off && matches!(first, Some(b's' | b'S'));
        let for_rules = self.env.rule_set.borrow().compiled.rules.needs().digest;
        self.read_digest(facts, text, bytes, may_use || for_rules)
    }

    /// Treats a statement as a read if its functions are declared to read only.
    #[inline]
    pub fn trust(&self, facts: &mut Facts, text: &[u8]) {
        if facts.marks.has(sql::Marks::UNKNOWN_FUNCTION) {
            facts.trust(text, &self.env.rule_set.borrow().compiled.functions);
        }
    }

    /// Answers a statement that asks about the proxy.
    pub(crate) fn explain_here(&mut self, statement: &Statement<'_>) -> Option<Ending> {
        let Statement::Text(query) = statement else {
            return None;
        };
        if !self.may_ask() {
            return None;
        }
        let question = proxy_explain(query.text(), self.sql_state.session().flags())?;
        let explainer = self.explainer;
        let answer = explainer.answer(self, question, query.text());
        self.reply_table(query.incoming().sequence, &answer);
        Some(Ending::last(After::Next))
    }

    /// Runs several statements of which one kills, or asks about the statement before it: one after the other, as the
    /// servers do, up to the last one or to an error.
    pub(crate) async fn run_in_parts(
        &mut self,
        query: &QueryCommand,
        texts: &[Vec<u8>],
    ) -> Result<Ending, SessionError> {
        let sequence = query.incoming().sequence;
        let mut ending = Ending::more(sequence);
        let last = texts.len().saturating_sub(1);
        for (at, text) in texts.iter().enumerate() {
            let Some(next) = ending.next_sequence else {
                return Ok(ending);
            };
            let part = match at {
                0 => CommandPart::First,
                _ if at == last => CommandPart::Last,
                _ => CommandPart::Middle,
            };
            let facts = self.env.pool_env.store.take_facts();
            let Ok(mut one) = query.statement_part(text, (part, next), facts) else {
                return self.malformed(sequence).map(Ending::last);
            };
            if at > 0 {
                self.command.timing.goes_on();
            }
            ending = self.run_query(&mut one).await?;
            self.reuse(one);
        }
        Ok(ending)
    }

    /// The hash of a statement's digest.
    pub(crate) fn digest_of(&self, statement: &Statement<'_>) -> u64 {
        let flags = self.sql_state.session().flags();
        let digest = statement.digest();
        digest.unwrap_or_else(|| self.env.lanes.digest(statement.text(), flags))
    }

    /// Applies a SET of the session tracking settings now, because it holds for its own reply.
    pub(crate) fn apply_set(&mut self, query: &mut QueryCommand) {
        if query.former_settings.is_none() {
            query.former_settings = self.set_settings(query);
        }
    }

    /// Restores the session tracking settings after a SET that has failed.
    pub(crate) fn undo_settings(&mut self, query: &mut QueryCommand) {
        if let Some(former) = query.former_settings.take() {
            self.tracking.undo_set(former);
        }
    }

    /// Returns the former session tracking settings, if they change.
    fn set_settings(&mut self, query: &QueryCommand) -> Option<Rc<SessionTrackSettings>> {
        let conn = self.held.connection()?;
        let (facts, text) = (&query.facts, query.text());
        self.tracking.apply_set(&conn.track_settings, facts, text)
    }

    /// COMMIT RELEASE: the server has closed its connection after the OK, so the proxy closes the client's.
    pub(crate) async fn released(&mut self) -> Result<After, SessionError> {
        self.drop_lease(pool::CloseReason::Ended);
        // An error does not matter, because the session ends anyway.
        let _ = self.client.leg_mut().drained().await;
        Ok(After::Ended(link::session_end::SessionEnd::BackendClosed))
    }

    /// Notes what a statement changed, by the server's reply and by the text. Returns the statement if it is due to be
    /// explained.
    pub(crate) fn observe(
        &mut self,
        command: Command,
        facts: &Facts,
        text: &[u8],
        done: &Done,
    ) -> Option<Subject> {
        if let (Some(order), Some(conn)) = (&mut self.command.policy, self.held.connection()) {
            order.ended(&conn.backend, done.outcome);
        }
        let due = self.note_statement(done);
        if let Some(trace) = self.command.trace.take() {
            self.record(&trace, facts, text, done);
        }
        crate::exchange::observe::observe(self, command, facts, text, done);
        due
    }

    /// Answers a command whose payload is malformed, with the servers' error.
    pub(crate) fn malformed(&mut self, sequence: u8) -> Result<After, SessionError> {
        self.reply_error(sequence, &wire::errors::malformed_packet());
        Ok(After::Next)
    }
}
