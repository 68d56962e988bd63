//! A statement that has ended: it is counted, and told wherever it belongs.

use std::sync::Arc;
use std::time::Duration;

use sql::Server;

use crate::worker::Worker;
use registry::session_info::SessionInfo;
use stats::attribution::Attribution;
use stats::errors::{Failed, MESSAGE_BYTES_MAX};
use stats::journal::{Entry, Log};
use stats::messages::shown_of;
use stats::parent::{TraceParent, is_traced};
use stats::slow::StatementView;
use stats::statement_stats::{StatementEnd, Subject, Wants};
use stats::table::{EndedStatement, SAMPLE_BYTES_MAX, shortened};

/// A statement has ended: it is counted, and told wherever it belongs. Whether it is due to be explained.
#[inline]
pub(crate) fn note(
    worker: &Worker,
    subject: &Subject,
    end: &StatementEnd<'_>,
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
    let journal = &worker.plane_context.journal;
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
        && (share == 0 || worker.insight.has_leave(worker.clock.now(), share))
    {
        let said = Box::new(view(wants.query_log_values));
        journal.offer(Entry::Statement(Log::Query, said));
    }
    if let Some((one_of, _)) = wants.tracing
        && is_traced(one_of, parent, is_picked)
    {
        worker
            .plane_context
            .traces
            .offer(view(wants.tracing_values));
    }
}

/// A statement as it is told.
#[cold]
fn view(
    worker: &Worker,
    subject: &Subject,
    end: &StatementEnd<'_>,
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
