//! What a pooled session needs of its worker, and of all workers.

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

/// What one worker gives to its pooled sessions.
pub struct EngineEnv {
    /// What connections to backends need.
    pub pool_env: Rc<PoolEnv>,
    /// Backend connections that sessions take turns on.
    pub pool: Rc<WorkerPool>,
    /// What sessions of every kind need.
    pub relay: Rc<RelayEnv>,
    /// The current rules.
    pub rule_set: RefCell<Rc<RuleSet>>,
    /// What the worker's sessions have sent of late.
    pub seen: SeenDigests,
    /// Reads their long texts.
    pub text_reader: TextReader,
    /// The worker's statements under way on each backend.
    pub loads: Loads,
    /// Connections with statements of several sessions in flight.
    pub lanes: Rc<Lanes>,
    /// What views, routines and triggers do, as far as that is known.
    pub definitions: RefCell<Arc<Definitions>>,
    /// Reads that replicas have refused.
    pub refused: RefusedReads,
    /// The script that sessions run, if they run one.
    pub script: Option<Rc<Host>>,
    /// What all workers share of pooled sessions.
    pub shared: Arc<SharedEngine>,
    /// When the process began; every [`Moment`] counts from here.
    pub started: Instant,
}

/// What the pooled sessions of all workers share.
#[derive(Default)]
pub struct SharedEngine {
    /// What rules have matched.
    pub tallies: Tallies,
    /// How many statements have used a lane, and why others have not.
    pub lane_counts: AllLaneCounts,
    /// How long statements have waited, and backends have taken.
    pub times: Arc<AllTimes>,
    /// What was profiled, and what that has cost.
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

    /// The current rules, to be looked at for one command.
    pub fn rule_set(&self) -> Rc<RuleSet> {
        Rc::clone(&self.rule_set.borrow())
    }
}
