//! The environment that a pooled session has from its worker, and from all workers together.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use backend::pool_env::PoolEnv;
use backend::refused_reads::RefusedReads;
use backend::rule_set::{RuleSet, Tallies};
use backend::statement_limits::StatementLimits;
use backend::times::AllTimes;
use backend::worker_pool::WorkerPool;
use lanes::lanes::Lanes;
use link::text_reader::TextReader;
use net::clock;
use relay::relay_env::RelayEnv;
use route::{Definitions, Loads, Moment};
use script_host::host::Host;
use stats::lane_counts::AllLaneCounts;
use stats::profiles::ProfilingCounts;
use stats::seen_digests::SeenDigests;

/// The environment of one worker's pooled sessions.
pub struct EngineEnv {
    /// The environment of connections to backends.
    pub pool_env: Rc<PoolEnv>,
    /// Backend connections that sessions take turns on.
    pub pool: Rc<WorkerPool>,
    /// The environment of sessions of every kind.
    pub relay: Rc<RelayEnv>,
    /// The current rules.
    pub rule_set: RefCell<Rc<RuleSet>>,
    /// Statements that the worker's sessions have sent lately.
    pub seen: SeenDigests,
    /// Reads the sessions' long texts.
    pub text_reader: TextReader,
    /// The worker's statements under way on each backend.
    pub loads: Loads,
    /// Connections with statements of several sessions in flight.
    pub lanes: Rc<Lanes>,
    /// The known effects of views, routines and triggers.
    pub definitions: RefCell<Arc<Definitions>>,
    /// Reads that replicas have refused.
    pub refused: RefusedReads,
    /// The script that sessions run, if they run one.
    pub script: Option<Rc<Host>>,
    /// The state that pooled sessions of all workers share.
    pub shared: Arc<SharedEngine>,
    /// When the process began; every [`Moment`] counts from here.
    pub started: Instant,
}

/// The state that the pooled sessions of all workers share.
#[derive(Default)]
pub struct SharedEngine {
    /// Counts of the matches of rules.
    pub tallies: Tallies,
    /// The number of statements that have used a lane, and of those that have not, by reason.
    pub lane_counts: AllLaneCounts,
    /// The times that statements have waited, and that backends took.
    pub times: Arc<AllTimes>,
    /// Counts of profiled statements, and their cost.
    pub profiling: ProfilingCounts,
    /// How many statements rules let through.
    pub limits: Arc<StatementLimits>,
}

impl EngineEnv {
    /// The time.
    #[inline]
    pub fn now(&self) -> Moment {
        Moment::of(clock::now().into_std(), self.started)
    }

    /// The current rules, for one command.
    pub fn rule_set(&self) -> Rc<RuleSet> {
        Rc::clone(&self.rule_set.borrow())
    }
}
