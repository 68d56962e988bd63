//! Statements of pooled sessions, from when they are read to when they have ended.

use std::time::Duration;

use config::TraceParents;
use route::BackendId;
use session::Outcome;
use sql::Facts;
use wire::ErrPacket;
use wire::attribute::QueryAttribute;

use crate::pooled::exchange::delivery::Delivery;
use crate::pooled::session::PooledSession;
use backend::exchange_outcome::Done;
use backend::prepared_statement::StatementKey;
use link::failure::Failure;
use relay::relay_env::session_of;
use stats::counts::Ended;
use stats::parent::TraceParent;
use stats::statement_stats::{Answer, StatementEnd, Subject};

impl PooledSession {
    /// Reads a statement's facts, and returns its digest where that is wanted; `for_lanes`: by whoever asks.
    #[inline]
    pub(crate) fn read_digest(
        &mut self,
        facts: &mut Facts,
        text: &[u8],
        bytes: usize,
        for_lanes: bool,
    ) -> Option<u64> {
        let flags = self.sql_state.session.flags();
        let insight = &self.worker.relay.recorder.stats;
        if !for_lanes && !insight.is_wanted() {
            facts.read(text, flags);
            return None;
        }
        let (digest, known) = insight.read(facts, text, flags);
        self.watch.says(digest);
        self.command.subject = known.map(|known| Subject {
            digest,
            text: known,
            bytes: bytes as u64,
            sample: insight.wants().some_values().then(|| text.into()),
            parent: insight.parent_of(text, facts),
            answer: Answer::default(),
        });
        Some(digest)
    }

    /// What is prepared is executed.
    #[inline]
    pub(crate) fn note_execution_of(&mut self, key: &StatementKey, bytes: usize) {
        let insight = &self.worker.relay.recorder.stats;
        if !insight.is_wanted() {
            return;
        }
        let text = key.text.bytes();
        self.watch.says(key.digest);
        self.command.subject = Some(Subject {
            digest: key.digest,
            text: insight.text_of(key.digest, text, self.sql_state.session.flags()),
            bytes: bytes as u64,
            sample: insight.wants().some_values().then(|| text.into()),
            parent: insight.parent_of(text, &key.facts),
            answer: Answer::default(),
        });
    }

    /// What came with the statement of the moment may say in which span it was said.
    pub(crate) fn note_attributes(&mut self, attributes: &[QueryAttribute<'_>]) {
        let tracing = self.worker.relay.recorder.stats.wants().tracing;
        if let (Some((_, TraceParents::Follow)), Some(subject)) =
            (tracing, &mut self.command.subject)
            && let Some(parent) = TraceParent::of_attributes(attributes)
        {
            subject.parent = Some(Box::new(parent));
        }
    }

    /// The statement of the moment has had its reply, or was answered with an error. It is returned where it
    /// is due to be explained.
    #[inline]
    pub(crate) fn note_statement(&mut self, done: &Done) -> Option<Subject> {
        // What is said again is not said by the client.
        if self.command.delivery == Delivery::Nobody {
            return None;
        }
        let subject = self.command.subject.take()?;
        let tally = &done.tally;
        let error = match done.outcome {
            Outcome::Ok => None,
            Outcome::Err(number) => Some((number, tally.error.map(|(_, state)| state))),
        };
        let waited = self.command.timing.waited();
        let (proxy, queue) = match self.command.timing.has_queued() {
            true => (Duration::ZERO, waited),
            false => (waited, Duration::ZERO),
        };
        let end = StatementEnd {
            error,
            message: done.message.as_deref().unwrap_or_default(),
            backend: self.routing.course.last,
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

    /// The statement of the moment was answered with this error, and is at no backend.
    #[cold]
    pub(crate) fn note_failed(&mut self, payload: &[u8], backend: Option<BackendId>) {
        let Some(subject) = self.command.subject.take() else {
            return;
        };
        let Ok(error) = ErrPacket::decode(payload) else {
            return;
        };
        let now = self.worker.plane_context.now().0;
        let (proxy, queue) = self.own_time(now);
        let end = StatementEnd {
            error: Some((error.number, error.sqlstate)),
            message: error.text,
            backend,
            ended: Ended {
                has_failed: true,
                bytes_in: subject.bytes,
                bytes_out: payload.len() as u64,
                proxy,
                queue,
                at: now,
                ..Ended::default()
            },
        };
        self.note_end(&subject, &end);
    }

    /// The statement of the moment, if it has not been noted, was answered by the proxy alone, and not with
    /// an error.
    #[inline]
    pub(crate) fn note_answered(&mut self) {
        if self.command.subject.is_some() {
            self.note_own_answer();
        }
    }

    /// The session ends within the statement of the moment, if there is one.
    #[cold]
    pub(crate) fn note_cut_off(&mut self, failure: &Failure) {
        match failure.err_payload(true) {
            Some(payload) => self.note_failed(&payload, self.routing.course.last),
            None => self.command.subject = None,
        }
    }

    #[cold]
    fn note_own_answer(&mut self) {
        let Some(subject) = self.command.subject.take() else {
            return;
        };
        let now = self.worker.plane_context.now().0;
        let (proxy, queue) = self.own_time(now);
        let end = StatementEnd {
            error: None,
            message: b"",
            backend: None,
            ended: Ended {
                rows_sent: subject.answer.rows,
                bytes_in: subject.bytes,
                bytes_out: subject.answer.bytes,
                proxy,
                queue,
                at: now,
                ..Ended::default()
            },
        };
        self.note_end(&subject, &end);
    }

    /// How long the statement of the moment was in the proxy, and how much of that it waited its turn.
    fn own_time(&self, now: Duration) -> (Duration, Duration) {
        let spent = self.command.timing.spent(now);
        match self.command.timing.has_queued() {
            true => (Duration::ZERO, spent),
            false => (spent, Duration::ZERO),
        }
    }

    fn note_end(&mut self, subject: &Subject, end: &StatementEnd<'_>) -> bool {
        let worker = &self.worker;
        let keys = &worker.relay.recorder.stats.keys;
        let whose = self.identity.attribution.of(
            keys,
            &self.identity.account,
            self.sql_state.session.values(),
        );
        let server = || self.sql_state.session.flags().server;
        let session = || session_of(self.watch.card().as_ref(), server());
        let recorder = &worker.relay.recorder;
        recorder.note(subject, end, whose, &worker.env.topology, session)
    }
}
