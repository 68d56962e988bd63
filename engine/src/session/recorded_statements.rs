//! Statements that are slow, that fail, or that are sampled, are recorded: one line of the log with what EXPLAIN ROUTE
//! would have said, and with the result.

use command::trace::Trace;
use route::Explanation;
use session::Outcome;
use sql::Facts;

use super::PooledSession;
use backend::exchange_outcome::Done;
use command::statement::Statement;

impl PooledSession {
    /// Begins to trace a statement, if statements are recorded.
    #[inline]
    pub(crate) fn trace(&mut self, facts: &Facts) {
        let log = &self.settings.config.log;
        if !log.slow_statements.is_zero() || log.failed_statements || log.sample_one_in > 0 {
            self.begin_trace(facts);
        }
    }

    /// Notes a statement, as the client has sent or prepared it, for an operator who plans a reload.
    #[inline]
    pub(crate) fn note_seen(&self, statement: &Statement<'_>) {
        if self.env.seen.is_wanted() && !statement.command_part().is_of_several() {
            match statement.prepared() {
                Some((_, key)) => self.note_seen_text(key.original().0.bytes()),
                None => self.note_seen_text(statement.text()),
            }
        }
    }

    fn note_seen_text(&self, text: &[u8]) {
        let schema = self
            .sql_state
            .session()
            .values()
            .schema()
            .unwrap_or_default();
        let user = String::from_utf8_lossy(self.user());
        self.env
            .seen
            .note(text, self.sql_state.session().flags(), &user, schema);
    }

    fn begin_trace(&mut self, facts: &Facts) {
        let sample_one_in = u64::from(self.settings.config.log.sample_one_in);
        let is_sampled =
            sample_one_in > 0 && self.env.relay.login.dice.borrow_mut().below(sample_one_in) == 0;
        let pins = self.held.connection().map(|_| self.pins().to_string());
        self.command.trace = Some(Box::new(Trace {
            is_sampled,
            wanted: self.wanted(facts),
            pins: pins.unwrap_or_default(),
        }));
    }

    /// Records a statement that has ended, if it is slow, failed or sampled.
    pub(crate) fn record(&self, trace: &Trace, facts: &Facts, text: &[u8], done: &Done) {
        let log = &self.settings.config.log;
        let took = self.command.timing.whole();
        let error = match done.outcome {
            Outcome::Err(number) => Some(number),
            Outcome::Ok => None,
        };
        let slow = log.slow_statements;
        let why = match () {
            () if log.failed_statements && error.is_some() => "failed",
            () if !slow.is_zero() && took >= slow => "slow",
            () if trace.is_sampled => "sampled",
            () => return,
        };
        let backend = self.held.backend().map(|backend| &*backend.name);
        let record = self.way_of(trace, facts, text);
        tracing::info!(
            kind = "statement_recorded",
            why,
            user = %self.identity.account().id(),
            id = self.identity.id(),
            backend,
            error,
            ?took,
            waited = ?self.command.timing.waited(),
            record,
            "a statement is recorded"
        );
    }

    /// The findings about a statement in one line, without its values.
    fn way_of(&self, trace: &Trace, facts: &Facts, text: &[u8]) -> String {
        let mut told = Explanation::default();
        told.statement(facts, text);
        told.digest(&sql::digest(text, self.sql_state.session().flags()));
        self.explain_rules(&mut told, facts, text);
        match trace.pins.is_empty() {
            true => told.wanted(trace.wanted),
            false => told.find("pinned by", "", &trace.pins),
        }
        let findings = told.findings().iter();
        let findings = findings.map(|it| format!("{} {}: {}", it.step, it.subject, it.text));
        findings.collect::<Vec<_>>().join("; ")
    }
}
