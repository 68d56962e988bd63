//! Records an ended statement: counts it, and passes it to the tables and logs that want it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use net::clock::Clock;
use route::{Dice, Topology};
use sql::Server;

use crate::attribution::Attribution;
use crate::errors::Failed;
use crate::journal::{Entry, Journal, Log};
use crate::messages::MESSAGE_BYTES_MAX;
use crate::messages::shown_of;
use crate::parent::{TraceParent, is_traced};
use crate::plans::store::Plans;
use crate::slow::{StatementTimes, StatementView, StatementVolume};
use crate::statement_stats::{StatementEnd, StatementStats, Subject, Wants};
use crate::table::{EndedStatement, Ran, SAMPLE_BYTES_MAX, shortened};
use crate::traces::Traces;

/// Records the ended statements of one worker.
pub struct StatementRecorder {
    /// The worker's statistics about statements.
    pub stats: Rc<StatementStats>,
    /// The plans of statements, for all workers.
    pub plans: Arc<Plans>,
    /// The queue to the logs.
    pub journal: Arc<Journal>,
    /// The queue of spans.
    pub traces: Arc<Traces>,
    /// Randomness for sampling statements.
    pub dice: Rc<RefCell<Dice>>,
    /// Seconds since the worker began.
    pub clock: Clock,
}

/// The session of a statement, for logs.
#[derive(Debug, Clone)]
pub struct SessionOfStatement {
    /// The id that the client sees; 0: none.
    pub id: u32,
    /// The address of the client.
    pub client: Arc<str>,
    /// The kind and version of server at the backend.
    pub server: Server,
}

impl StatementRecorder {
    /// Counts a statement that has ended, and passes it to the tables and logs. Returns whether it is due to be
    /// explained.
    #[inline]
    pub fn note(
        &self,
        subject: &Subject,
        end: &StatementEnd<'_>,
        attribution: &Arc<Attribution>,
        topology: &RefCell<Arc<Topology>>,
        session: impl Fn() -> SessionOfStatement,
    ) -> bool {
        let insight = &self.stats;
        let wants = insight.wants();
        if wants.tells_single() {
            let parent = subject.parent.as_deref();
            self.tell_single(&wants, (end.ended.whole(), parent), |values| {
                let ran = end.backend.map(|backend| insight.ran(backend, topology));
                view(subject, end, attribution, ran, session(), values)
            });
        }
        if !wants.counts {
            return false;
        }
        let said = EndedStatement {
            digest: subject.digest,
            text: &subject.text,
            attribution,
            backend: end.backend,
            sample: subject.sample.as_deref().filter(|_| wants.values),
        };
        let may_be_due = end.error.is_none() && end.backend.is_some();
        let since = (wants.plans.is_some() && may_be_due).then(|| self.plans.since());
        let is_due = insight.note(&said, &end.ended, since, topology);
        if let Some((number, sqlstate)) = end.error {
            let failed = Failed {
                number,
                sqlstate,
                message: end.message,
                attribution,
                backend: end.backend,
            };
            insight.note_error(&failed, end.ended.at, topology);
        }
        is_due
    }

    /// Passes one statement to the places that want it: the table, the slow log, the query log. `view` makes the
    /// record, with values or without.
    fn tell_single(
        &self,
        wants: &Wants,
        (whole, parent): (Duration, Option<&TraceParent>),
        view: impl Fn(bool) -> StatementView,
    ) {
        let journal = &self.journal;
        let is_picked = |sample_one_in: u32| {
            sample_one_in <= 1 || self.dice.borrow_mut().below(u64::from(sample_one_in)) == 0
        };
        if wants.slow.is_some_and(|limit| whole >= limit) {
            let slow = Arc::new(view(wants.values));
            self.stats.slow.borrow_mut().note(slow);
        }
        if let Some((limit, sample_one_in)) = wants.slow_log
            && whole >= limit
            && is_picked(sample_one_in)
        {
            let slow = Box::new(view(wants.slow_log_values));
            journal.offer(Entry::Statement(Log::Slow, slow));
        }
        if let Some((sample_one_in, share)) = wants.query_log
            && is_picked(sample_one_in)
            && (share == 0 || self.stats.has_leave(self.clock.now(), share))
        {
            let said = Box::new(view(wants.query_log_values));
            journal.offer(Entry::Statement(Log::Query, said));
        }
        if let Some((sample_one_in, _)) = wants.tracing
            && is_traced(sample_one_in, parent, is_picked)
        {
            self.traces.offer(view(wants.tracing_values));
        }
    }
}

/// The record of a statement.
#[cold]
fn view(
    subject: &Subject,
    end: &StatementEnd<'_>,
    attribution: &Arc<Attribution>,
    ran: Option<Ran>,
    session: SessionOfStatement,
    values: bool,
) -> StatementView {
    let ended = &end.ended;
    let error = end.error.map(|(number, sqlstate)| {
        let message = shortened(end.message, MESSAGE_BYTES_MAX);
        // A message without a backend is the proxy's own, and quotes names only.
        let shows_values = values || end.backend.is_none();
        (number, shown_of(number, sqlstate, message, shows_values))
    });
    let text = |text: &[u8]| shortened(text, SAMPLE_BYTES_MAX).into();
    StatementView {
        at: ended.at,
        session: session.id,
        client: session.client,
        attribution: Arc::clone(attribution),
        server: session.server,
        backend: ran,
        digest: subject.digest,
        digest_text: Arc::clone(&subject.text),
        text: subject.sample.as_deref().filter(|_| values).map(text),
        times: StatementTimes {
            proxy: ended.proxy,
            queue: ended.queue,
            first_byte: ended.first_byte,
            taken: ended.backend,
        },
        volume: StatementVolume {
            rows_sent: ended.rows_sent,
            rows_affected: ended.rows_affected,
            bytes_in: ended.bytes_in,
            bytes_out: ended.bytes_out,
        },
        error,
        parent: subject.parent.as_deref().copied(),
    }
}
