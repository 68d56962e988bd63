//! The current rules as one worker uses them. They apply to all of its sessions, including those
//! that began before a reload.

use std::sync::{Arc, Mutex, PoisonError};

use config::{Consistency, HintStyle};
use route::rules::{Compiled, Counters, Tally};

use crate::settings::Settings;

/// The rules, and one worker's counts of their matches.
pub struct RuleSet {
    /// The rules, and the meaning of hints.
    pub compiled: Arc<Compiled>,
    /// How often each rule has matched in this worker.
    pub counters: Arc<Counters>,
    /// The hint styles for accounts that do not set their own.
    hints: Vec<HintStyle>,
    /// Whether a rule or a hint may send a statement to another backend than the rest of its session.
    pub directs: bool,
    /// Whether a statement may need more consistency than its session asks for.
    pub raises_consistency: bool,
    /// Whether statements are profiled by random sampling.
    pub samples: bool,
    /// Whether an account's reads may have to see the writes of all sessions.
    pub some_see_all: bool,
}

impl RuleSet {
    /// Returns the first rule set of a worker.
    pub fn new(settings: &Settings) -> Self {
        Self::of(settings, Counters::new(&settings.rules.rules))
    }

    /// Returns the rule set that replaces this one after a reload.
    pub fn followed_by(&self, settings: &Settings) -> Self {
        Self::of(settings, self.counters.carried_over(&settings.rules.rules))
    }

    fn of(settings: &Settings, counters: Counters) -> Self {
        let config = &settings.config;
        let has_hints = !config.hints.accepted.is_empty()
            || (config.configured_accounts.iter())
                .any(|account| account.hints.as_ref().is_some_and(|it| !it.is_empty()));
        let mut directs = has_hints;
        let mut raises_consistency = has_hints;
        for (_, rule) in settings.rules.rules.iter() {
            let route = &rule.actions.route;
            directs |= route.cluster.is_some() || route.role.is_some() || route.backend.is_some();
            raises_consistency |= route
                .consistency
                .is_some_and(|level| level != Consistency::None);
        }
        let levels = [config.routing.consistency].into_iter();
        let of_listeners = config
            .listeners
            .iter()
            .filter_map(|it| it.routing.consistency);
        let of_accounts =
            (config.configured_accounts.iter()).filter_map(|it| it.routing.consistency);
        let of_rules = settings.rules.rules.iter();
        let of_rules = of_rules.filter_map(|(_, rule)| rule.actions.route.consistency);
        let mut levels = levels
            .chain(of_listeners)
            .chain(of_accounts)
            .chain(of_rules);
        let some_see_all = has_hints || levels.any(|level| level == Consistency::Global);
        Self {
            some_see_all,
            samples: settings.rules.profiling.is_on(),
            compiled: Arc::clone(&settings.rules),
            counters: Arc::new(counters),
            hints: config.hints.accepted.clone(),
            directs,
            raises_consistency,
        }
    }

    /// The hint styles that are understood for an account.
    pub fn hints_of<'a>(&'a self, account: &'a auth::Account) -> &'a [HintStyle] {
        account.hints.as_deref().unwrap_or(&self.hints)
    }
}

/// The counts of all workers, for the admin interface.
#[derive(Default)]
pub struct Tallies {
    workers: Mutex<Vec<Arc<Counters>>>,
}

impl Tallies {
    /// Registers the counters of a worker.
    pub fn enter(&self, worker: usize, counters: &Arc<Counters>) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if workers.len() <= worker {
            workers.resize_with(worker + 1, Arc::default);
        }
        if let Some(place) = workers.get_mut(worker) {
            *place = Arc::clone(counters);
        }
    }

    /// Returns the sums over all workers, in the order of the rules.
    pub fn sum(&self) -> Vec<Tally> {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Tally> = Vec::new();
        for tally in workers.iter().flat_map(|it| it.tallies()) {
            match all.iter_mut().find(|it| it.name == tally.name) {
                Some(same) => same.add(&tally),
                None => all.push(tally),
            }
        }
        all
    }
}
