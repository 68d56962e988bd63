//! The queue to a shadow session, which runs statements beside a client's session.

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

/// The most statements of one session that wait.
pub const STATEMENTS_WAITING_MAX: usize = 1000;

/// The most bytes of statements that wait.
const BYTES_WAITING_MAX: usize = 16 << 20;

/// How a session is related to shadow sessions.
pub enum Reflection {
    /// No shadow session mirrors it.
    None,
    /// This shadow session mirrors it.
    Into(Box<ShadowSession>),
    /// It is a shadow session itself: no rule is evaluated for what it runs.
    Itself,
}

/// A session's handle for its shadow session.
pub struct ShadowSession {
    /// The cluster in which the shadow session runs.
    pub cluster: ClusterId,
    /// The statements that wait there.
    pub queue: mpsc::Sender<ShadowStatement>,
    /// The bytes of all statements that wait.
    pub bytes: Rc<Cell<usize>>,
    /// Requests to the shadow session, such as to end.
    pub control: Rc<SessionControl>,
}

/// The shadow session takes no more statements for now, or has ended.
pub struct Overloaded;

/// One statement in the queue.
pub struct ShadowStatement {
    /// The command that has to be run.
    pub work: Work,
    /// The client's schema and variables at that time.
    pub values: Rc<Values>,
    /// The statement's length in bytes.
    pub bytes: usize,
}

/// A command that has to be run.
pub enum Work {
    /// COM_QUERY, as packets.
    Query(Vec<u8>),
    /// COM_STMT_EXECUTE: the statement, its parameters, and what follows the id.
    Execute(StatementKey, u16, Vec<u8>),
    /// COM_STMT_BULK_EXECUTE: likewise.
    BulkExecute(StatementKey, u16, Vec<u8>),
    /// A query whose reply a script waits for.
    Asked(QueuedScriptQuery),
}

impl ShadowSession {
    /// Whether the shadow session runs statements of this cluster, and has not ended.
    pub fn is_in(&self, cluster: ClusterId) -> bool {
        self.cluster == cluster && !self.queue.is_closed()
    }

    /// Queues a statement.
    ///
    /// # Errors
    /// Too much waits already, or the shadow session has ended.
    pub fn send(&self, item: ShadowStatement) -> Result<(), Overloaded> {
        let bytes = item.bytes;
        let has_room = self.bytes.get() + bytes <= BYTES_WAITING_MAX;
        if !has_room || self.queue.try_send(item).is_err() {
            return Err(Overloaded);
        }
        self.bytes.set(self.bytes.get() + bytes);
        Ok(())
    }

    /// Kills the shadow session: its work is of no more use.
    pub fn kill(&self) {
        self.control.ask(Ask::KillSession);
    }
}

impl ShadowStatement {
    /// A statement of a session whose schema and variables are these now.
    pub fn of(values: &Rc<Values>, work: Work) -> Self {
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
pub struct QueuedScriptQuery {
    /// The statement, as the script has sent it.
    pub query: ScriptQuery,
    /// The script that has sent it.
    pub scripts: Scripts,
    /// Where the reply goes.
    pub reply: oneshot::Sender<Replied>,
}

/// A command and its reply, or the reason why there is none.
pub type Replied = Result<(Command, ObservedReply), String>;

impl QueuedScriptQuery {
    /// About how many bytes wait with the query.
    pub fn bytes(&self) -> usize {
        let parameters = self.query.parameters.as_ref();
        self.query.text.len() + parameters.map_or(0, Parameters::bytes)
    }
}
