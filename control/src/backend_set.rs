//! All monitored backends, and what reports on them change. No socket, no clock:
//! time is an argument.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use config::{
    BackendConfig, BalanceConfig, BalancePolicy, Config, HealthConfig, LagUnknown, ReadPolicy,
    ReplicaUse, RoutingConfig,
};
use route::{
    BackendId, Cluster, ClusterId, Dice, Duty, Endpoint, Load, Moment, Policy, Report, Role, Roles,
    Topology, UnknownLag, Vicinity,
};

use crate::account_loader::Teacher;
use crate::backend_monitor::{BackendMonitor, Change, Questions, Rhythm, Settings, Task};
use crate::definitions::Teachers;
use crate::failure::Failure;
use crate::leaders::Leaders;
use crate::plan::{Plan, ResolvedAddresses};
use crate::probe::ProbeResult;
use crate::question::Answer;
use crate::replication::{PrimaryHealth, Suspicion};
use crate::roles::settle;

#[cfg(test)]
mod tests;

/// The backend, and its address, that a task was begun for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket {
    pub backend: BackendId,
    /// The epoch of the backend's address when the task began.
    pub epoch: u64,
}

/// All monitored backends and their clusters.
#[derive(Debug)]
pub(crate) struct BackendSet {
    /// In the configuration's order.
    monitors: Vec<BackendMonitor>,
    /// Every backend name ever configured. A backend that is configured again keeps its id and its session count.
    known_backends: HashMap<String, (BackendId, Arc<Load>)>,
    /// Every cluster ever configured.
    clusters: HashMap<String, Cluster>,
    leaders: Leaders,
    balance: BalanceConfig,
    routing: RoutingConfig,
    rhythm: Rhythm,
    generation: u64,
    epoch: u64,
    change: Change,
    dice: Dice,
}

impl BackendSet {
    /// An empty set; `seed` decides by how much each wait is shortened.
    pub(crate) fn new(seed: u64) -> BackendSet {
        let defaults = Config::default();
        BackendSet {
            monitors: Vec::new(),
            known_backends: HashMap::new(),
            clusters: HashMap::new(),
            leaders: Leaders::default(),
            balance: defaults.balance,
            routing: defaults.routing,
            rhythm: rhythm(&defaults.health),
            generation: 0,
            epoch: 0,
            change: Change::Visible,
            dice: Dice::new(seed),
        }
    }

    /// Monitors the backends of the plan. A backend with the same name keeps its id and its load; if its address is the
    /// same too, it keeps its health and its resolved addresses.
    pub(crate) fn apply(&mut self, plan: &Plan, now: Moment) {
        let config = &plan.config;
        self.balance = config.balance.clone();
        self.routing = config.routing.clone();
        self.rhythm = rhythm(&config.health);
        self.change = Change::Visible;
        let mut before = std::mem::take(&mut self.monitors);
        for backend in &config.backends {
            let kept = before
                .iter()
                .position(|w| w.name == backend.name && *w.address() == backend.address);
            let settings = self.settings(config, backend);
            let monitor = match kept {
                Some(index) => self.keep(before.swap_remove(index), settings, now),
                None => self.begin(backend, settings, &plan.resolved, now),
            };
            self.monitors.push(monitor);
        }
        self.settle();
    }

    fn settings(&mut self, config: &Config, backend: &BackendConfig) -> Settings {
        let lag_max = backend.lag_max.unwrap_or(config.balance.lag_max);
        let is_near = config.zone.is_some() && config.zone == backend.zone;
        Settings {
            cluster: self.cluster(&backend.cluster),
            role: role(backend.role),
            weight: backend.weight,
            sessions_max: backend.sessions_max.or(config.limits.backend_sessions_max),
            zone: backend.zone.clone(),
            vicinity: if is_near {
                Vicinity::Near
            } else {
                Vicinity::Far
            },
            tags: backend.tags.clone(),
            lag_max: unless_zero(lag_max),
            unknown_lag: match config.balance.lag_unknown {
                LagUnknown::LeaveOut => UnknownLag::LeaveOut,
                LagUnknown::Use => UnknownLag::Use,
            },
            is_independent: backend.independent,
            lag_return: lag_max.mul_f64(f64::from(config.balance.lag_return) / 100.0),
            duty: match (backend.disable, backend.drain) {
                (true, _) => Duty::Disabled,
                (false, true) => Duty::Draining,
                (false, false) => Duty::Serving,
            },
            questions: questions(config, backend),
        }
    }

    fn cluster(&mut self, name: &str) -> ClusterId {
        let next = ClusterId(self.clusters.len() as u32);
        let entry = self.clusters.entry(name.to_owned());
        let cluster = entry.or_insert_with(|| Cluster {
            id: next,
            name: name.to_owned(),
            written: Arc::default(),
        });
        cluster.id
    }

    fn keep(&self, mut monitor: BackendMonitor, settings: Settings, now: Moment) -> BackendMonitor {
        monitor.resettle(settings);
        monitor.keep_rhythm(now, &self.rhythm);
        monitor
    }

    fn begin(
        &mut self,
        backend: &BackendConfig,
        settings: Settings,
        resolved: &ResolvedAddresses,
        now: Moment,
    ) -> BackendMonitor {
        let identity = self.identity(&backend.name);
        self.epoch += 1;
        let address = backend.address.clone();
        let found = resolved.get(&address).cloned().unwrap_or(Ok(Vec::new()));
        let mut monitor =
            BackendMonitor::new(&backend.name, identity, address, self.epoch, settings, now);
        // The whole set counts as changed already, so this change need not be noted.
        let _ = monitor.note_addresses(found, now, &self.rhythm, &mut self.dice);
        monitor
    }

    fn identity(&mut self, name: &str) -> (BackendId, Arc<Load>) {
        let next = BackendId(self.known_backends.len() as u32);
        let entry = self.known_backends.entry(name.to_owned());
        entry.or_insert_with(|| (next, Arc::default())).clone()
    }

    /// The addresses that need not be resolved again for a new configuration.
    pub(crate) fn resolved(&self) -> ResolvedAddresses {
        let known = |w: &BackendMonitor| {
            let endpoints: Vec<Endpoint> = w.endpoints().to_vec();
            (!endpoints.is_empty()).then(|| (w.address().clone(), Ok(endpoints)))
        };
        self.monitors.iter().filter_map(known).collect()
    }

    /// Takes in a worker's report; some reports change no health.
    pub(crate) fn report(&mut self, report: &Report, now: Moment) {
        let (Report::ConnectFailed { backend, .. }
        | Report::Connected { backend }
        | Report::SessionBroken { backend, .. }
        | Report::WritesRefused { backend }) = report
        else {
            return;
        };
        let Some(monitor) = self.monitors.iter_mut().find(|w| w.id == *backend) else {
            return;
        };
        let (rhythm, dice) = (&self.rhythm, &mut self.dice);
        let change = match report {
            Report::ConnectFailed { cause, .. } => monitor.connect_failed(cause, now, rhythm, dice),
            Report::Connected { .. } => monitor.connected(now, rhythm),
            Report::SessionBroken { cause, .. } => {
                tracing::debug!(backend = monitor.name, cause, "a session broke");
                monitor.suspected(now, rhythm)
            }
            Report::WritesRefused { .. } => monitor.writes_refused(now),
            Report::KillStatement { .. }
            | Report::UnknownAccount { .. }
            | Report::CheckAccount { .. }
            | Report::CredentialRefused { .. }
            | Report::DefinitionsChanged => Change::None,
        };
        self.note_health(change);
    }

    /// Takes in the result of a probe.
    pub(crate) fn note_probe(
        &mut self,
        of: Ticket,
        probe_result: Result<ProbeResult, Failure>,
        now: Moment,
    ) {
        if let Some(monitor) = find(&mut self.monitors, of) {
            let change = monitor.note_probe(probe_result, now, &self.rhythm, &mut self.dice);
            self.note_health(change);
        }
    }

    /// Takes in the addresses that a name resolves to.
    pub(crate) fn note_addresses(
        &mut self,
        of: Ticket,
        found: Result<Vec<Endpoint>, Failure>,
        now: Moment,
    ) {
        if let Some(monitor) = find(&mut self.monitors, of) {
            let change = monitor.note_addresses(found, now, &self.rhythm, &mut self.dice);
            self.note_health(change);
        }
    }

    /// Takes in the answer to a question about replication, or why there is none.
    pub(crate) fn answered(&mut self, of: Ticket, answer: Result<Answer, Failure>, now: Moment) {
        let Some(cluster) = self.monitor(of.backend).map(|w| w.settings.cluster) else {
            return;
        };
        let is_up = |w: &BackendMonitor| w.role == Some(Role::Primary) && w.is_usable();
        let mut members = self
            .monitors
            .iter()
            .filter(|w| w.settings.cluster == cluster);
        let primary = match members.any(is_up) {
            true => PrimaryHealth::Up,
            false => PrimaryHealth::Down,
        };
        let Some(monitor) = find(&mut self.monitors, of) else {
            return;
        };
        match monitor.replied(answer, primary, now, &self.rhythm) {
            Suspicion::None => (),
            Suspicion::Backend => self.note_suspicion(now, |w| w.id == of.backend),
            Suspicion::Primary => {
                self.note_suspicion(now, |w| is_up(w) && w.settings.cluster == cluster);
            }
        }
        self.settle();
    }

    fn note_suspicion(&mut self, now: Moment, concerns: impl Fn(&BackendMonitor) -> bool) {
        for monitor in self.monitors.iter_mut().filter(|w| concerns(w)) {
            let _ = monitor.suspected(now, &self.rhythm);
        }
    }

    /// Gives each backend its role, from the present state of its whole cluster.
    fn settle(&mut self) {
        for cluster in self.clusters() {
            let is_member = |w: &&mut BackendMonitor| w.settings.cluster == cluster.id;
            let mut members: Vec<_> = self.monitors.iter_mut().filter(is_member).collect();
            let roles = settle(&members.iter().map(|w| w.member()).collect::<Vec<_>>());
            let mut change = Change::None;
            for (member, role) in members.iter_mut().zip(roles) {
                if member.settle(role) == Change::Visible {
                    change = Change::Visible;
                }
            }
            self.note(change);
            let is_said = self.leaders.log_changes(&cluster, &mut self.monitors);
            self.note(is_said);
        }
    }

    /// Whether the role of a backend is still to be found out, and may be at any moment.
    pub(crate) fn awaits_roles(&self) -> bool {
        self.monitors.iter().any(BackendMonitor::is_role_awaited)
    }

    /// Whether the state of a backend is still unknown, in full or in part.
    pub(crate) fn awaits_answers(&self) -> bool {
        self.monitors.iter().any(BackendMonitor::is_awaited)
    }

    /// Takes in a change of one backend's health. If a backend goes down or comes back, another one's role may change.
    fn note_health(&mut self, change: Change) {
        self.note(change);
        if change == Change::Visible {
            self.settle();
        }
    }

    fn note(&mut self, change: Change) {
        if change == Change::Visible {
            self.change = Change::Visible;
        }
    }

    /// All tasks that are due now. The call also marks them as begun.
    pub(crate) fn begin_due(&mut self, now: Moment) -> Vec<(Ticket, Task)> {
        let mut tasks = Vec::new();
        for monitor in &mut self.monitors {
            let ticket = Ticket {
                backend: monitor.id,
                epoch: monitor.epoch(),
            };
            while let Some(task) = monitor.begin(now) {
                tasks.push((ticket, task));
            }
        }
        tasks
    }

    /// When [`BackendSet::begin_due`] has the next task.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        self.monitors.iter().filter_map(BackendMonitor::next).min()
    }

    /// The backend with this id, if it is still configured.
    pub(crate) fn monitor(&self, id: BackendId) -> Option<&BackendMonitor> {
        self.monitors.iter().find(|w| w.id == id)
    }

    /// Whether a ticket's backend is still configured at the same address.
    pub(crate) fn is_current(&self, ticket: Ticket) -> bool {
        let is_it = |w: &BackendMonitor| w.id == ticket.backend && w.epoch() == ticket.epoch;
        self.monitors.iter().any(is_it)
    }

    /// The backends that may be asked for the accounts, in this order: primaries before replicas, which may lag; among
    /// equals, backends known to be up first.
    pub(crate) fn teachers(&self) -> Vec<Teacher> {
        let mut usable: Vec<&BackendMonitor> =
            self.monitors.iter().filter(|w| w.is_usable()).collect();
        usable.sort_by_key(|w| (w.role == Some(Role::Replica), !w.is_up()));
        usable.into_iter().map(BackendMonitor::teacher).collect()
    }

    /// The backends that may be asked for definitions, per cluster, in the order of [`Self::teachers`].
    pub(crate) fn teachers_by_cluster(&self) -> Vec<Teachers> {
        let of = |cluster: ClusterId| {
            let mut usable: Vec<&BackendMonitor> = self.monitors.iter().collect();
            usable.retain(|w| w.is_usable() && w.settings.cluster == cluster);
            usable.sort_by_key(|w| (w.role == Some(Role::Replica), !w.is_up()));
            usable.into_iter().map(BackendMonitor::teacher).collect()
        };
        let clusters = self.clusters().into_iter();
        clusters
            .map(|cluster| Teachers {
                cluster: cluster.id,
                teachers: of(cluster.id),
                name: cluster.name,
            })
            .collect()
    }

    /// A snapshot, if anything changed since the last one.
    pub(crate) fn snapshot(&mut self) -> Option<Topology> {
        if std::mem::replace(&mut self.change, Change::None) == Change::None {
            return None;
        }
        self.generation += 1;
        Some(Topology {
            generation: self.generation,
            backends: self
                .monitors
                .iter()
                .map(|w| Arc::new(w.backend()))
                .collect(),
            clusters: self.clusters(),
            default_cluster: self.default_cluster(),
            policy: policy(self.balance.policy),
            reads: reads(self.balance.reads),
            roles: roles(self.routing.replicas),
            slow_start: self.balance.slow_start,
        })
    }
}

impl BackendSet {
    /// The cluster of sessions for which nothing else names a cluster, if the settings name one.
    fn default_cluster(&self) -> Option<ClusterId> {
        let name = self.routing.cluster.as_ref()?;
        self.clusters.get(name).map(|cluster| cluster.id)
    }

    /// The clusters that have backends, in the order of their first backends.
    fn clusters(&self) -> Vec<Cluster> {
        let mut clusters: Vec<Cluster> = Vec::new();
        for monitor in &self.monitors {
            let id = monitor.settings.cluster;
            let known = || self.clusters.values().find(|cluster| cluster.id == id);
            if clusters.iter().all(|cluster| cluster.id != id) {
                clusters.extend(known().cloned());
            }
        }
        clusters
    }
}

/// The backend that a task's result is about, unless the backend has gone or moved since.
fn find(monitors: &mut [BackendMonitor], of: Ticket) -> Option<&mut BackendMonitor> {
    monitors
        .iter_mut()
        .find(|w| w.id == of.backend && w.epoch() == of.epoch)
}

fn rhythm(health: &HealthConfig) -> Rhythm {
    Rhythm {
        probe_interval: health.probe_interval,
        probe_interval_max: health.probe_interval_max,
        monitor_interval: health
            .monitor_user
            .as_ref()
            .map(|_| health.monitor_interval),
        replication_interval: health
            .monitor_user
            .as_ref()
            .map(|_| health.replication_interval),
        resolve_interval: unless_zero(health.resolve_interval),
    }
}

/// What to ask a backend. A backend that is alone in its cluster has no lag: only whether it takes writes matters.
fn questions(config: &Config, backend: &BackendConfig) -> Questions {
    let others = config
        .backends
        .iter()
        .filter(|it| it.cluster == backend.cluster);
    let is_of_use = backend.role == config::Role::Auto || others.count() > 1;
    match (config.health.monitor_user.is_some(), is_of_use) {
        (true, true) => Questions::Asked,
        (true, false) => Questions::OfWrites,
        (false, _) => Questions::Spared,
    }
}

fn unless_zero(duration: Duration) -> Option<Duration> {
    (!duration.is_zero()).then_some(duration)
}

/// The role that the configuration gives; `None` if the role is to be found out.
fn role(role: config::Role) -> Option<Role> {
    match role {
        config::Role::Primary => Some(Role::Primary),
        config::Role::Replica => Some(Role::Replica),
        config::Role::Auto => None,
    }
}

fn roles(replicas: ReplicaUse) -> Roles {
    match replicas {
        // A whole session may write, so it needs a primary.
        ReplicaUse::Split | ReplicaUse::Primary => Roles::Primary,
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

fn reads(policy: ReadPolicy) -> route::ReadPolicy {
    match policy {
        ReadPolicy::FewestInFlight => route::ReadPolicy::FewestInFlight,
        ReadPolicy::Latency => route::ReadPolicy::Latency,
        ReadPolicy::RoundRobin => route::ReadPolicy::RoundRobin,
        ReadPolicy::Weighted => route::ReadPolicy::Weighted,
        ReadPolicy::Sticky => route::ReadPolicy::Sticky,
    }
}
