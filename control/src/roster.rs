//! All backends under watch, and what follows from what is heard of them. No socket, no clock:
//! time is an argument.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use config::{BackendConfig, BalanceConfig, BalancePolicy, Config, HealthConfig, ReplicaUse};
use route::{BackendId, Dice, Endpoint, Load, Moment, Policy, Report, Role, Roles, Topology};

use crate::failure::Failure;
use crate::look::Sight;
use crate::plan::{Places, Plan};
use crate::watched::{Change, Rhythm, Task, Watched};

#[cfg(test)]
mod tests;

/// What was asked for one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub backend: BackendId,
    /// As the backend's when it was asked.
    pub epoch: u64,
}

/// The backends.
#[derive(Debug)]
pub(crate) struct Roster {
    /// In the configuration's order.
    watched: Vec<Watched>,
    /// Every name there ever was; one that comes back finds its sessions counted.
    known: HashMap<String, (BackendId, Arc<Load>)>,
    balance: BalanceConfig,
    rhythm: Rhythm,
    generation: u64,
    epoch: u64,
    change: Change,
    dice: Dice,
}

impl Roster {
    /// Nobody yet; `seed` decides by how much each wait is shortened.
    pub(crate) fn new(seed: u64) -> Roster {
        let defaults = Config::default();
        Roster {
            watched: Vec::new(),
            known: HashMap::new(),
            balance: defaults.balance,
            rhythm: rhythm(&defaults.health),
            generation: 0,
            epoch: 0,
            change: Change::Visible,
            dice: Dice::new(seed),
        }
    }

    /// Makes the plan's backends those under watch. One of the same name keeps its id and its
    /// load; at the same address also its health and what is known of its place.
    pub(crate) fn apply(&mut self, plan: &Plan, now: Moment) {
        let config = &plan.config;
        self.balance = config.balance.clone();
        self.rhythm = rhythm(&config.health);
        self.change = Change::Visible;
        let mut before = std::mem::take(&mut self.watched);
        for backend in &config.backends {
            let kept = before
                .iter()
                .position(|w| w.name == backend.name && w.address == backend.address);
            let mut watched = match kept {
                Some(index) => self.keep(before.swap_remove(index), now),
                None => self.begin(backend, &plan.places, now),
            };
            watched.role = role(backend.role);
            watched.weight = backend.weight;
            watched.sessions_max = backend.sessions_max.or(config.limits.backend_sessions_max);
            self.watched.push(watched);
        }
    }

    fn keep(&self, mut watched: Watched, now: Moment) -> Watched {
        watched.keep_rhythm(now, &self.rhythm);
        watched
    }

    fn begin(&mut self, backend: &BackendConfig, places: &Places, now: Moment) -> Watched {
        let identity = self.identity(&backend.name);
        self.epoch += 1;
        let address = backend.address.clone();
        let found = places.get(&address).cloned().unwrap_or(Ok(Vec::new()));
        let mut watched = Watched::new(&backend.name, identity, address, self.epoch, now);
        // The roster's change is noted already.
        let _ = watched.looked_up(found, now, &self.rhythm, &mut self.dice);
        watched
    }

    fn identity(&mut self, name: &str) -> (BackendId, Arc<Load>) {
        let next = BackendId(self.known.len() as u32);
        let entry = self.known.entry(name.to_owned());
        entry.or_insert_with(|| (next, Arc::default())).clone()
    }

    /// Places that need not be looked up for a new configuration.
    pub(crate) fn places(&self) -> Places {
        let known = |w: &Watched| {
            let endpoints: Vec<Endpoint> = w.endpoints().to_vec();
            (!endpoints.is_empty()).then(|| (w.address.clone(), Ok(endpoints)))
        };
        self.watched.iter().filter_map(known).collect()
    }

    /// A worker's report, but for kills, which change no health.
    pub(crate) fn heard(&mut self, report: &Report, now: Moment) {
        let (Report::ConnectFailed { backend, .. }
        | Report::Connected { backend }
        | Report::SessionBroken { backend, .. }
        | Report::KillStatement { backend, .. }) = report;
        let Some(watched) = self.watched.iter_mut().find(|w| w.id == *backend) else {
            return;
        };
        let (rhythm, dice) = (&self.rhythm, &mut self.dice);
        let change = match report {
            Report::ConnectFailed { cause, .. } => watched.connect_failed(cause, now, rhythm, dice),
            Report::Connected { .. } => watched.connected(now, rhythm),
            Report::SessionBroken { cause, .. } => {
                tracing::debug!(backend = watched.name, cause, "a session broke");
                watched.suspected(now, rhythm)
            }
            Report::KillStatement { .. } => Change::None,
        };
        self.note(change);
    }

    /// A look is over.
    pub(crate) fn looked(&mut self, of: Ticket, sight: Result<Sight, Failure>, now: Moment) {
        if let Some(watched) = find(&mut self.watched, of) {
            let change = watched.looked(sight, now, &self.rhythm, &mut self.dice);
            self.note(change);
        }
    }

    /// A look-up is over.
    pub(crate) fn looked_up(
        &mut self,
        of: Ticket,
        found: Result<Vec<Endpoint>, Failure>,
        now: Moment,
    ) {
        if let Some(watched) = find(&mut self.watched, of) {
            let change = watched.looked_up(found, now, &self.rhythm, &mut self.dice);
            self.note(change);
        }
    }

    fn note(&mut self, change: Change) {
        if change == Change::Visible {
            self.change = Change::Visible;
        }
    }

    /// All that is due, begun with this call.
    pub(crate) fn begin_due(&mut self, now: Moment) -> Vec<(Ticket, Task)> {
        let mut tasks = Vec::new();
        for watched in &mut self.watched {
            let ticket = Ticket {
                backend: watched.id,
                epoch: watched.epoch,
            };
            while let Some(task) = watched.begin(now) {
                tasks.push((ticket, task));
            }
        }
        tasks
    }

    /// When [`Roster::begin_due`] has something to give.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.watched.iter().filter_map(Watched::next).min()
    }

    /// The backend of this id, as long as it is configured.
    pub(crate) fn watched(&self, id: BackendId) -> Option<&Watched> {
        self.watched.iter().find(|w| w.id == id)
    }

    /// A snapshot, if there was a change since the last.
    pub(crate) fn snapshot(&mut self) -> Option<Topology> {
        if std::mem::replace(&mut self.change, Change::None) == Change::None {
            return None;
        }
        self.generation += 1;
        Some(Topology {
            generation: self.generation,
            backends: self.watched.iter().map(|w| Arc::new(w.backend())).collect(),
            policy: policy(self.balance.policy),
            roles: roles(self.balance.replicas),
            slow_start: self.balance.slow_start,
        })
    }
}

/// The backend that a finding is about, unless it has gone or moved since.
fn find(watched: &mut [Watched], of: Ticket) -> Option<&mut Watched> {
    watched
        .iter_mut()
        .find(|w| w.id == of.backend && w.epoch == of.epoch)
}

fn rhythm(health: &HealthConfig) -> Rhythm {
    let unless_zero = |interval: Duration| (!interval.is_zero()).then_some(interval);
    Rhythm {
        probe_interval: health.probe_interval,
        probe_interval_max: health.probe_interval_max,
        monitor_interval: health
            .monitor_user
            .as_ref()
            .map(|_| health.monitor_interval),
        resolve_interval: unless_zero(health.resolve_interval),
    }
}

fn role(role: config::Role) -> Role {
    match role {
        config::Role::Primary => Role::Primary,
        config::Role::Replica => Role::Replica,
    }
}

fn roles(replicas: ReplicaUse) -> Roles {
    match replicas {
        ReplicaUse::Primary => Roles::Primary,
        ReplicaUse::Any => Roles::Any,
        ReplicaUse::Replica => Roles::Replica,
    }
}

fn policy(policy: BalancePolicy) -> Policy {
    match policy {
        BalancePolicy::FewestSessions => Policy::FewestSessions,
        BalancePolicy::RoundRobin => Policy::RoundRobin,
        BalancePolicy::Weighted => Policy::Weighted,
        BalancePolicy::RandomOfTwo => Policy::RandomOfTwo,
        BalancePolicy::Ordered => Policy::Ordered,
    }
}
