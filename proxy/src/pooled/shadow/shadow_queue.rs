//! The way to a session beside a client's, and what waits on it.

use std::cell::Cell;
use std::rc::Rc;

use route::ClusterId;
use script::{Parameters, ScriptQuery, Scripts};
use session::state::Values;
use tokio::sync::{mpsc, oneshot};
use wire::Command;

use backend::prepared_statement::StatementKey;
use link::reply_observer::ObservedReply;
use registry::session_control::{Ask, SessionControl};

/// Statements of one session that wait.
pub(super) const STATEMENTS_WAITING_MAX: usize = 1000;

/// Bytes of theirs.
const BYTES_WAITING_MAX: usize = 16 << 20;

/// What a session is to those beside it.
pub(crate) enum Reflection {
    /// There is none that mirrors it.
    None,
    /// There is one.
    Into(ShadowSession),
    /// It is one itself: no rule is asked about what it runs.
    Itself,
}

/// The way to the session beside.
pub(crate) struct ShadowSession {
    pub(super) cluster: ClusterId,
    pub(super) queue: mpsc::Sender<ShadowStatement>,
    pub(super) bytes: Rc<Cell<usize>>,
    pub(super) watch: Rc<SessionControl>,
}

/// It takes no more statements for now, or has broken off.
pub(crate) struct Overloaded;

/// One mirrored statement in the queue.
pub(crate) struct ShadowStatement {
    pub(super) work: Work,
    /// The client's schema and variables at that time.
    pub(super) values: Rc<Values>,
    pub(super) bytes: usize,
}

/// What is to be run.
pub(crate) enum Work {
    /// COM_QUERY, as packets.
    Query(Vec<u8>),
    /// COM_STMT_EXECUTE: the statement, its parameters, and what follows the id.
    Execute(StatementKey, u16, Vec<u8>),
    /// COM_STMT_BULK_EXECUTE: likewise.
    BulkExecute(StatementKey, u16, Vec<u8>),
    /// What somebody waits for.
    Asked(QueuedScriptQuery),
}

impl ShadowSession {
    /// Whether it runs statements of this cluster, and runs them still.
    pub(crate) fn is_in(&self, cluster: ClusterId) -> bool {
        self.cluster == cluster && !self.queue.is_closed()
    }

    /// Gives it a statement.
    ///
    /// # Errors
    /// Too much waits already, or it has broken off.
    pub(crate) fn send(&self, item: ShadowStatement) -> Result<(), Overloaded> {
        let bytes = item.bytes;
        let has_room = self.bytes.get() + bytes <= BYTES_WAITING_MAX;
        if !has_room || self.queue.try_send(item).is_err() {
            return Err(Overloaded);
        }
        self.bytes.set(self.bytes.get() + bytes);
        Ok(())
    }

    /// What it runs is of no use to anybody any more.
    pub(crate) fn kill(&self) {
        self.watch.ask(Ask::KillSession);
    }
}

impl ShadowStatement {
    /// For a session whose schema and variables are these now.
    pub(crate) fn of(values: &Rc<Values>, work: Work) -> Self {
        let bytes = match &work {
            Work::Query(bytes) | Work::Execute(_, _, bytes) | Work::BulkExecute(_, _, bytes) => {
                bytes.len()
            }
            Work::Asked(asked) => asked.bytes(),
        };
        Self {
            work,
            values: Rc::clone(values),
            bytes,
        }
    }
}

/// A script's query in the queue.
pub(crate) struct QueuedScriptQuery {
    pub inquiry: ScriptQuery,
    pub scripts: Scripts,
    pub reply: oneshot::Sender<Replied>,
}

/// A command and what it was answered; or why there is none.
pub(crate) type Replied = Result<(Command, ObservedReply), String>;

impl QueuedScriptQuery {
    /// About so many bytes wait with it.
    pub(crate) fn bytes(&self) -> usize {
        let parameters = self.inquiry.parameters.as_ref();
        self.inquiry.text.len() + parameters.map_or(0, Parameters::bytes)
    }
}
