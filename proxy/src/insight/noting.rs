//! Statements of pooled sessions, from when they are read to when they have ended.

use std::sync::Arc;
use std::time::Duration;

use config::TraceParents;
use route::BackendId;
use session::Outcome;
use sql::{Facts, Server};
use wire::ErrPacket;
use wire::attribute::QueryAttribute;

use crate::pooled::exchange::delivery::Delivery;
use crate::pooled::exchange::outcome::Done;
use crate::pooled::session::PooledSession;
use crate::worker::Worker;
use backend::prepared_statement::StatementKey;
use link::failure::Failure;
use registry::session_info::SessionInfo;
use stats::attribution::Attribution;
use stats::counts::Ended;
use stats::errors::{Failed, MESSAGE_BYTES_MAX};
use stats::journal::{Entry, Log};
use stats::messages::shown_of;
use stats::parent::TraceParent;
use stats::slow::StatementView;
use stats::statement_stats::{Answer, Subject, Wants};
use stats::table::{EndedStatement, SAMPLE_BYTES_MAX, shortened};

/// How a statement has ended.
pub(crate) struct End<'a> {
    pub error: Option<(u16, Option<[u8; 5]>)>,
    pub message: &'a [u8],
    pub backend: Option<BackendId>,
    pub ended: Ended,
}

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
        let insight = &self.worker.insight;
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
        let insight = &self.worker.insight;
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
        let tracing = self.worker.insight.wants().tracing;
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
        let end = End {
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
        let now = self.worker.surroundings.now().0;
        let (proxy, queue) = self.own_time(now);
        let end = End {
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
        let now = self.worker.surroundings.now().0;
        let (proxy, queue) = self.own_time(now);
        let end = End {
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

    fn note_end(&mut self, subject: &Subject, end: &End<'_>) -> bool {
        let worker = &self.worker;
        let keys = &worker.insight.keys;
        let whose = self.identity.attribution.of(
            keys,
            &self.identity.account,
            self.sql_state.session.values(),
        );
        let session = || (self.watch.card(), self.sql_state.session.flags().server);
        note(worker, subject, end, whose, session)
    }
}

/// A statement has ended: it is counted, and told wherever it belongs. Whether it is due to be explained.
#[inline]
pub(crate) fn note(
    worker: &Worker,
    subject: &Subject,
    end: &End<'_>,
    whose: &Arc<Attribution>,
    session: impl Fn() -> (Option<SessionInfo>, Server),
) -> bool {
    let insight = &worker.insight;
    let wants = insight.wants();
    if wants.tells_single() {
        let parent = subject.parent.as_deref();
        tell_single(worker, &wants, (end.ended.whole(), parent), |values| {
            view(worker, subject, end, whose, session(), values)
        });
    }
    if !wants.counts {
        return false;
    }
    let said = EndedStatement {
        digest: subject.digest,
        text: &subject.text,
        whose,
        backend: end.backend,
        sample: subject.sample.as_deref().filter(|_| wants.values),
    };
    let may_be_due = end.error.is_none() && end.backend.is_some();
    let since = (wants.plans.is_some() && may_be_due).then(|| worker.shared.plans.since());
    let is_due = insight.note(&said, &end.ended, since, &worker.env.topology);
    if let Some((number, sqlstate)) = end.error {
        let failed = Failed {
            number,
            sqlstate,
            message: end.message,
            whose,
            backend: end.backend,
        };
        insight.note_error(&failed, end.ended.at, &worker.env.topology);
    }
    is_due
}

/// Tells of one statement wherever it belongs: the table, the slow log, the query log. `view` makes what is
/// told, with values or without.
fn tell_single(
    worker: &Worker,
    wants: &Wants,
    (whole, parent): (Duration, Option<&TraceParent>),
    view: impl Fn(bool) -> StatementView,
) {
    let journal = &worker.surroundings.journal;
    let is_picked =
        |one_of: u32| one_of <= 1 || worker.dice.borrow_mut().below(u64::from(one_of)) == 0;
    if wants.slow.is_some_and(|limit| whole >= limit) {
        let slow = Arc::new(view(wants.values));
        worker.insight.slow.borrow_mut().note(slow);
    }
    if let Some((limit, one_of)) = wants.slow_log
        && whole >= limit
        && is_picked(one_of)
    {
        let slow = Box::new(view(wants.slow_log_values));
        journal.offer(Entry::Statement(Log::Slow, slow));
    }
    if let Some((one_of, share)) = wants.query_log
        && is_picked(one_of)
        && (share == 0 || has_leave(worker, share))
    {
        let said = Box::new(view(wants.query_log_values));
        journal.offer(Entry::Statement(Log::Query, said));
    }
    if let Some((one_of, _)) = wants.tracing
        && is_traced(one_of, parent, is_picked)
    {
        worker.surroundings.traces.offer(view(wants.tracing_values));
    }
}

/// Whether spans tell of a statement: of its trace's the one who began it has decided.
fn is_traced(
    one_of: u32,
    parent: Option<&TraceParent>,
    is_picked: impl FnOnce(u32) -> bool,
) -> bool {
    match parent {
        Some(parent) => parent.is_sampled,
        None => one_of > 0 && is_picked(one_of),
    }
}

/// Whether this second has had fewer than its share.
fn has_leave(worker: &Worker, share: u32) -> bool {
    let pace = &worker.insight.pace;
    let second = worker.clock.now();
    let had = match pace.get() {
        (known, had) if known == second => had,
        _ => 0,
    };
    pace.set((second, had.saturating_add(1)));
    had < share
}

/// A statement as it is told.
#[cold]
fn view(
    worker: &Worker,
    subject: &Subject,
    end: &End<'_>,
    whose: &Arc<Attribution>,
    (card, server): (Option<SessionInfo>, Server),
    values: bool,
) -> StatementView {
    let insight = &worker.insight;
    let ended = &end.ended;
    let backend = end.backend;
    let error = end.error.map(|(number, sqlstate)| {
        let message = shortened(end.message, MESSAGE_BYTES_MAX);
        // What comes from no backend is the proxy's own, which quotes names only.
        let shows_values = values || backend.is_none();
        (number, shown_of(number, sqlstate, message, shows_values))
    });
    let text = |text: &[u8]| shortened(text, SAMPLE_BYTES_MAX).into();
    StatementView {
        at: ended.at,
        session: card.as_ref().map_or(0, |card| card.id),
        client: card
            .map_or_else(String::new, |it| it.client.to_string())
            .into(),
        whose: Arc::clone(whose),
        server,
        backend: backend.map(|backend| insight.ran(backend, &worker.env.topology)),
        digest: subject.digest,
        digest_text: Arc::clone(&subject.text),
        text: subject.sample.as_deref().filter(|_| values).map(text),
        proxy: ended.proxy,
        queue: ended.queue,
        first_byte: ended.first_byte,
        taken: ended.backend,
        rows_sent: ended.rows_sent,
        rows_affected: ended.rows_affected,
        bytes_in: ended.bytes_in,
        bytes_out: ended.bytes_out,
        error,
        parent: subject.parent.as_deref().copied(),
    }
}
