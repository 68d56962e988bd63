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
use route::{Definitions, Loads};
use tokio::sync::mpsc;

use crate::context::{DataPlaneContext, Shared};
use backend::pool_env::PoolEnv;
use backend::refused_reads::RefusedReads;
use backend::rule_set::RuleSet;
use backend::worker_pool::WorkerPool;
use lanes::lanes::Lanes;
use link::future_arena::FutureArena;
use registry::session_control::SessionControl;
use registry::session_registry::{Kill, Killed};
use registry::worker_view::WorkerView;
use relay::relay_env::RelayEnv;
use script_host::host::Host;
use stats::seen_digests::{SeenDigest, SeenDigests};
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

/// What the sessions of one thread share.
pub(crate) struct Worker {
    /// Which one, from 0.
    pub index: usize,
    /// What its connections to backends need.
    pub env: Rc<PoolEnv>,
    /// Backend connections that sessions take turns on.
    pub pool: Rc<WorkerPool>,
    /// What sessions of every kind need.
    pub relay: Rc<RelayEnv>,
    pub plane_context: DataPlaneContext,
    pub shared: Arc<Shared>,
    /// The rules of the moment.
    pub rule_set: RefCell<Rc<RuleSet>>,
    /// What its sessions have sent of late.
    pub seen: SeenDigests,
    /// Its statements under way on each backend.
    pub loads: Loads,
    /// Connections with statements of several sessions in flight.
    pub lanes: Rc<Lanes>,
    /// What views, routines and triggers do, as far as that is known.
    pub definitions: RefCell<Arc<Definitions>>,
    /// Reads that replicas have refused.
    pub refused: RefusedReads,
    /// Of the commands that run.
    pub blocks: FutureArena,
    /// The script that sessions run, if they run one.
    pub script: Option<Rc<Host>>,
    /// Sessions by the ids that clients see.
    pub people: RefCell<HashMap<u32, Rc<SessionControl>>>,
}

impl Worker {
    /// The script that sessions run, if they run one.
    pub(crate) fn script_host(&self) -> Option<Rc<Host>> {
        self.script.clone()
    }

    /// The rules of the moment, to be looked at for one command.
    pub(crate) fn rule_set(&self) -> Rc<RuleSet> {
        Rc::clone(&self.rule_set.borrow())
    }
}
