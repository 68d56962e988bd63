//! Statements of pooled sessions, from when they are read to when they have ended.

use std::sync::Arc;
use std::time::Duration;

use config::TraceParents;
use route::BackendId;
use session::Outcome;
use sql::Facts;
use wire::ErrPacket;
use wire::attribute::QueryAttribute;

use crate::session::PooledSession;
use backend::exchange_outcome::Done;
use backend::prepared_statement::StatementKey;
use command::delivery::Delivery;
use link::failure::Failure;
use link::query_command::QueryCommand;
use relay::relay_env::session_of;
use stats::counts::Ended;
use stats::parent::TraceParent;
use stats::statement_stats::{Answer, StatementEnd, Subject};

impl PooledSession {
    /// Reads a statement's facts, and returns its digest if that is wanted. `for_lanes`: the caller wants it.
    #[inline]
    pub(crate) fn read_digest(
        &mut self,
        facts: &mut Facts,
        text: &[u8],
        bytes: usize,
        for_lanes: bool,
    ) -> Option<u64> {
        let flags = self.sql_state.session().flags();
        let insight = &self.env.relay.recorder.stats;
        if !for_lanes && !insight.is_wanted() {
            insight.read_facts(facts, text, flags);
            return None;
        }
        let (digest, known) = insight.read(facts, text, flags);
        self.note_digest((digest, known), facts, text, bytes);
        Some(digest)
    }

    /// Notes a long text that was read before its turn. Returns the hash of its digest. `None`: it was not read.
    #[inline]
    pub(crate) fn note_read_ahead(&mut self, query: &mut QueryCommand) -> Option<u64> {
        match query.facts_ahead() {
            Some(_) => self.note_long_text(query),
            None => None,
        }
    }

    #[cold]
    fn note_long_text(&mut self, query: &mut QueryCommand) -> Option<u64> {
        let digest = query.take_digest_ahead(self.sql_state.session().flags())?;
        let (hash, insight) = (digest.hash(), &self.env.relay.recorder.stats);
        let known = insight.is_wanted().then(|| insight.intern(hash, &digest));
        let (facts, text, bytes) = (&query.facts, query.text(), query.incoming().packets.len());
        self.note_digest((hash, known), facts, text, bytes);
        Some(hash)
    }

    /// Notes the text that runs now, by its digest.
    #[inline]
    fn note_digest(
        &mut self,
        (digest, known): (u64, Option<Arc<str>>),
        facts: &Facts,
        text: &[u8],
        bytes: usize,
    ) {
        let insight = &self.env.relay.recorder.stats;
        self.control.set_digest(digest);
        self.command.subject = known.map(|known| Subject {
            digest,
            text: known,
            bytes: bytes as u64,
            sample: insight.wants().some_values().then(|| text.into()),
            parent: insight.parent_of(text, facts),
            answer: Answer::default(),
        });
    }

    /// Notes the execution of a prepared statement.
    #[inline]
    pub(crate) fn note_execution_of(&mut self, key: &StatementKey, bytes: usize) {
        let insight = &self.env.relay.recorder.stats;
        if !insight.is_wanted() {
            return;
        }
        let text = key.text.bytes();
        self.control.set_digest(key.digest);
        self.command.subject = Some(Subject {
            digest: key.digest,
            text: insight.text_of(key.digest, text, self.sql_state.session().flags()),
            bytes: bytes as u64,
            sample: insight.wants().some_values().then(|| text.into()),
            parent: insight.parent_of(text, &key.facts),
            answer: Answer::default(),
        });
    }

    /// Takes the trace parent of the current statement from its query attributes.
    pub(crate) fn note_attributes(&mut self, attributes: &[QueryAttribute<'_>]) {
        let tracing = self.env.relay.recorder.stats.wants().tracing;
        if let (Some((_, TraceParents::Follow)), Some(subject)) =
            (tracing, &mut self.command.subject)
            && let Some(parent) = TraceParent::of_attributes(attributes)
        {
            subject.parent = Some(Box::new(parent));
        }
    }

    /// Notes that the current statement has had its reply, or an error. Returns the statement if it is due to be
    /// explained.
    #[inline]
    pub(crate) fn note_statement(&mut self, done: &Done) -> Option<Subject> {
        // A statement that the proxy repeats is not the client's.
        if self.command.delivery == Delivery::Nobody {
            return None;
        }
        let subject = self.command.subject.take()?;
        let tally = &done.tally;
        let error = match done.outcome {
            Outcome::Ok => None,
            Outcome::Err(number) => Some((number, tally.error.map(|(_, state)| state))),
        };
        let (proxy, queue) = self.share(self.command.timing.waited());
        let end = StatementEnd {
            error,
            message: done.message.as_deref().unwrap_or_default(),
            backend: self.routing.state().last(),
            ended: Ended {
                has_failed: error.is_some(),
                rows_sent: tally.rows_before.saturating_add(tally.rows),
                rows_affected: tally.affected_rows,
                bytes_in: subject.bytes,
                bytes_out: tally.bytes,
                proxy,
                queue,
                first_byte: self.command.timing.first_byte(),
                backend: self.command.timing.taken(),
                at: self.command.timing.ended(),
            },
        };
        let is_due = self.note_end(&subject, &end);
        is_due.then_some(subject)
    }

    /// Notes that the current statement was answered with this error. `backend`: the backend that the error belongs to.
    #[cold]
    pub(crate) fn note_failed(&mut self, payload: &[u8], backend: Option<BackendId>) {
        let failed = (self.command.subject.take(), ErrPacket::decode(payload));
        let (Some(subject), Ok(error)) = failed else {
            return;
        };
        let ended = Ended {
            has_failed: true,
            bytes_out: payload.len() as u64,
            ..Ended::default()
        };
        self.note_own_answer(&subject, Some(&error), backend, ended);
    }

    /// Notes that the proxy alone has answered the current statement, without an error, unless the statement is noted
    /// already.
    #[inline]
    pub(crate) fn note_answered(&mut self) {
        if let Some(subject) = self.command.subject.take() {
            let ended = Ended {
                rows_sent: subject.answer.rows,
                bytes_out: subject.answer.bytes,
                ..Ended::default()
            };
            self.note_own_answer(&subject, None, None, ended);
        }
    }

    /// Notes that the session ends within the current statement, if there is one.
    #[cold]
    pub(crate) fn note_cut_off(&mut self, failure: &Failure) {
        match failure.err_payload(true) {
            Some(payload) => self.note_failed(&payload, self.routing.state().last()),
            None => self.command.subject = None,
        }
    }

    #[cold]
    fn note_own_answer(
        &mut self,
        subject: &Subject,
        error: Option<&ErrPacket<'_>>,
        backend: Option<BackendId>,
        mut ended: Ended,
    ) {
        ended.at = self.env.now().0;
        ended.bytes_in = subject.bytes;
        (ended.proxy, ended.queue) = self.share(self.command.timing.spent(ended.at));
        let end = StatementEnd {
            error: error.map(|error| (error.number, error.sqlstate)),
            message: error.map(|error| error.text).unwrap_or_default(),
            backend,
            ended,
        };
        self.note_end(subject, &end);
    }

    /// The part of `time` that the current statement spent in the proxy, and the part that it waited in a queue.
    fn share(&self, time: Duration) -> (Duration, Duration) {
        match self.command.timing.has_queued() {
            true => (Duration::ZERO, time),
            false => (time, Duration::ZERO),
        }
    }

    fn note_end(&mut self, subject: &Subject, end: &StatementEnd<'_>) -> bool {
        let env = &self.env;
        let keys = &env.relay.recorder.stats.keys;
        let values = self.sql_state.session().values();
        let attribution = self.identity.attribution(keys, values);
        let server = || self.sql_state.session().flags().server;
        let session = || session_of(self.control.info().as_ref(), server());
        let recorder = &env.relay.recorder;
        recorder.note(subject, end, attribution, &env.pool_env.topology, session)
    }
}
