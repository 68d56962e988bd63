//! One worker: a thread's sessions and what they share.

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

/// What a worker is told.
pub(crate) enum Message {
    /// A client has connected.
    Arrival(Arrival),
    /// Sessions are to end as soon as nothing is going on in them.
    Drain,
    /// Sessions are to end now.
    Stop,
    /// What was seen of late is to be told.
    Tell(mpsc::UnboundedSender<Vec<SeenDigest>>),
    /// What is kept about statements is to be told.
    StatementStats(StatsRequest, mpsc::UnboundedSender<StatsPart>),
    /// The worker is to tell this of itself.
    View(mpsc::UnboundedSender<WorkerView>),
    /// A session, or its statement, is to be killed, by the number that the proxy calls it; whoever has it
    /// says so.
    Kill(Kill, mpsc::UnboundedSender<Killed>),
    /// Counts of times, lanes and rules are to begin from nothing; that is said when it is so.
    Reset(mpsc::UnboundedSender<()>),
}

/// What one thread has: what it gives to its sessions, and what it is told by.
pub(crate) struct Worker {
    /// Which one, from 0.
    pub index: usize,
    /// What sessions of every kind need.
    pub relay: Rc<RelayEnv>,
    /// What pooled sessions need.
    pub engine: Rc<EngineEnv>,
    pub plane_context: DataPlaneContext,
    pub shared: Arc<Shared>,
    /// Sessions by the ids that clients see.
    pub session_registry: RefCell<HashMap<u32, Rc<SessionControl>>>,
}

impl Worker {
    /// The script that sessions run, if they run one.
    pub(crate) fn script_host(&self) -> Option<Rc<Host>> {
        self.engine.script.clone()
    }
}
