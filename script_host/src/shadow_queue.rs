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
pub const STATEMENTS_WAITING_MAX: usize = 1000;

/// Bytes of theirs.
const BYTES_WAITING_MAX: usize = 16 << 20;

/// What a session is to those beside it.
pub enum Reflection {
    /// There is none that mirrors it.
    None,
    /// There is one.
    Into(Box<ShadowSession>),
    /// It is one itself: no rule is asked about what it runs.
    Itself,
}

/// The way to the session beside.
pub struct ShadowSession {
    /// The cluster that it goes to.
    pub cluster: ClusterId,
    /// What waits there.
    pub queue: mpsc::Sender<ShadowStatement>,
    /// Bytes of all that waits.
    pub bytes: Rc<Cell<usize>>,
    /// What it is asked, such as to end.
    pub control: Rc<SessionControl>,
}

/// It takes no more statements for now, or has broken off.
pub struct Overloaded;

/// One mirrored statement in the queue.
pub struct ShadowStatement {
    /// What is to be done.
    pub work: Work,
    /// The client's schema and variables at that time.
    pub values: Rc<Values>,
    /// Its bytes.
    pub bytes: usize,
}

/// What is to be run.
pub enum Work {
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
    pub fn is_in(&self, cluster: ClusterId) -> bool {
        self.cluster == cluster && !self.queue.is_closed()
    }

    /// Gives it a statement.
    ///
    /// # Errors
    /// Too much waits already, or it has broken off.
    pub fn send(&self, item: ShadowStatement) -> Result<(), Overloaded> {
        let bytes = item.bytes;
        let has_room = self.bytes.get() + bytes <= BYTES_WAITING_MAX;
        if !has_room || self.queue.try_send(item).is_err() {
            return Err(Overloaded);
        }
        self.bytes.set(self.bytes.get() + bytes);
        Ok(())
    }

    /// What it runs is of no use to anybody any more.
    pub fn kill(&self) {
        self.control.ask(Ask::KillSession);
    }
}

impl ShadowStatement {
    /// For a session whose schema and variables are these now.
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

/// A command and what it was answered; or why there is none.
pub type Replied = Result<(Command, ObservedReply), String>;

impl QueuedScriptQuery {
    /// About so many bytes wait with it.
    pub fn bytes(&self) -> usize {
        let parameters = self.query.parameters.as_ref();
        self.query.text.len() + parameters.map_or(0, Parameters::bytes)
    }
}
