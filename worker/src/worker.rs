//! One worker: the sessions of a thread, and what they share.

mod arrival;
mod following;
mod kept_connections;
mod killing;
mod looking;
mod running;
mod sweep;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) use arrival::{AcceptedClient, Arrival};
use tokio::sync::mpsc;

use crate::context::{DataPlaneContext, Shared};
use engine::engine_env::EngineEnv;
use registry::session_control::SessionControl;
use registry::session_registry::{Kill, Killed};
use registry::worker_view::WorkerView;
use relay::relay_env::RelayEnv;
use script_host::host::Host;
use stats::seen_digests::SeenDigest;
use stats::snapshot::{StatsPart, StatsRequest};

/// A message to a worker.
pub(crate) enum Message {
    /// A client has connected.
    Arrival(Arrival),
    /// Asks sessions to end as soon as they are at rest.
    Drain,
    /// Asks sessions to end now.
    Stop,
    /// Asks for the recently seen statements.
    Tell(mpsc::UnboundedSender<Vec<SeenDigest>>),
    /// Asks for the statement statistics.
    StatementStats(StatsRequest, mpsc::UnboundedSender<StatsPart>),
    /// Asks for the state of the worker.
    View(mpsc::UnboundedSender<WorkerView>),
    /// Kills a session or its statement, by the session's id in the proxy; the worker that has the session answers.
    Kill(Kill, mpsc::UnboundedSender<Killed>),
    /// Sets the counts of times, lanes and rules to zero; the worker answers when that is done.
    Reset(mpsc::UnboundedSender<()>),
}

/// The state of one worker thread: what it gives to its sessions, and its sources of configuration.
pub(crate) struct Worker {
    /// The number of the worker, from 0.
    pub index: usize,
    /// The environment of sessions of every kind.
    pub relay: Rc<RelayEnv>,
    /// The environment of pooled sessions.
    pub engine: Rc<EngineEnv>,
    pub plane_context: DataPlaneContext,
    pub shared: Arc<Shared>,
    /// Sessions by the ids that clients see.
    pub session_registry: RefCell<HashMap<u32, Rc<SessionControl>>>,
}

impl Worker {
    /// Returns the host of the scripts that sessions run, if there are any.
    pub(crate) fn script_host(&self) -> Option<Rc<Host>> {
        self.engine.script.clone()
    }
}
