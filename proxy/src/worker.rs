//! One worker: a thread's sessions and what they share.

mod arrival;
mod following;
mod idle_transactions;
mod kept_connections;
mod killing;
mod looking;
mod memory;
mod running;
mod sweep;

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) use arrival::{AcceptedClient, Arrival};
use net::clock::Clock;
use route::{Definitions, Dice, Loads};
use slab::Slab;
use tokio::sync::{Notify, mpsc};

use crate::context::{DataPlaneContext, Shared};
use crate::pooled::lanes::Lanes;
use backend::pool_env::PoolEnv;
use backend::refused_reads::RefusedReads;
use backend::rule_set::RuleSet;
use backend::times::Times;
use backend::worker_pool::WorkerPool;
use link::future_arena::FutureArena;
use login::login_env::LoginEnv;
use registry::session_control::{Ask, SessionControl};
use registry::session_registry::{Kill, Killed};
use registry::worker_view::WorkerView;
use script_host::host::Host;
use stats::seen_digests::{SeenDigest, SeenDigests};
use stats::snapshot::{StatsPart, StatsRequest};
use stats::statement_stats::StatementStats;

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
    pub plane_context: DataPlaneContext,
    pub shared: Arc<Shared>,
    pub clock: Clock,
    pub dice: Rc<RefCell<Dice>>,
    /// The rules of the moment.
    pub rule_set: RefCell<Rc<RuleSet>>,
    /// What its sessions have sent of late.
    pub seen: SeenDigests,
    /// What it keeps about statements.
    pub insight: Rc<StatementStats>,
    /// What its logins need.
    pub login: LoginEnv,
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
    /// How long their statements have waited, and backends have taken.
    pub times: Times,
    /// The script that sessions run, if they run one.
    pub script: Option<Rc<Host>>,
    /// Sessions by the ids that clients see.
    pub people: RefCell<HashMap<u32, Rc<SessionControl>>>,
    watches: RefCell<Slab<Rc<SessionControl>>>,
    emptied: Notify,
}

/// A session's entry in its worker's list, for as long as it lives.
pub(crate) struct Registered {
    pub watch: Rc<SessionControl>,
    worker: Rc<Worker>,
    key: usize,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut watches = self.worker.watches.borrow_mut();
        watches.remove(self.key);
        if watches.is_empty() {
            watches.shrink_to_fit();
            self.worker.emptied.notify_one();
        }
    }
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

    pub(crate) fn register(self: &Rc<Self>) -> Registered {
        let watch = Rc::new(SessionControl::default());
        watch.memory.count_in(&self.shared.people.memory);
        let key = self.watches.borrow_mut().insert(Rc::clone(&watch));
        Registered {
            watch,
            worker: Rc::clone(self),
            key,
        }
    }

    fn ask_all(&self, ask: Ask) {
        for (_, watch) in self.watches.borrow().iter() {
            watch.ask(ask);
        }
    }
}
