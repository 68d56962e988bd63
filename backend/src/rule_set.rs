//! The current rules as one worker uses them: they hold for all of its sessions, whenever those
//! began.

use std::sync::{Arc, Mutex, PoisonError};

use config::{Consistency, HintStyle};
use route::rules::{Compiled, Counters, Tally};

use crate::settings::Settings;

/// The rules, and one worker's counts of their matches.
pub struct RuleSet {
    /// The rules, and what hints mean.
    pub compiled: Arc<Compiled>,
    /// How often each has matched here.
    pub counters: Arc<Counters>,
    /// Whose way of writing hints is understood of accounts that say nothing else.
    hints: Vec<HintStyle>,
    /// Whether a statement may go elsewhere than its session's others, by a rule or a hint.
    pub directs: bool,
    /// Whether one may have to see more than its session says.
    pub raises_consistency: bool,
    /// Whether statements are profiled by chance.
    pub samples: bool,
    /// Whether somebody's reads may have to see everybody's writes.
    pub some_see_all: bool,
}

impl RuleSet {
    /// The first one of a worker.
    pub fn new(settings: &Settings) -> Self {
        Self::of(settings, Counters::new(&settings.rules.rules))
    }

    /// What takes this one's place after a reload.
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

    /// Whose way of writing hints is understood of an account.
    pub fn hints_of<'a>(&'a self, account: &'a auth::Account) -> &'a [HintStyle] {
        account.hints.as_deref().unwrap_or(&self.hints)
    }
}

/// What all workers have counted, for whoever asks.
#[derive(Default)]
pub struct Tallies {
    workers: Mutex<Vec<Arc<Counters>>>,
}

impl Tallies {
    /// A worker counts here from now on.
    pub fn enter(&self, worker: usize, counters: &Arc<Counters>) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if workers.len() <= worker {
            workers.resize_with(worker + 1, Arc::default);
        }
        if let Some(place) = workers.get_mut(worker) {
            *place = Arc::clone(counters);
        }
    }

    /// All together, in the order of the rules.
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
