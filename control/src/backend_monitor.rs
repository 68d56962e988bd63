//! One monitored backend: its health, and the tasks that are due for it.
//!
//! ```text
//!             answers, or a session connected
//!   Unknown ──────────────────────────────────► Up ◄──┐
//!      │                                        │     │ answers a look begun since
//!      │ fails a look, or a session's connect   │     │ (slow start from here)
//!      └──────────────────────► Down ◄──────────┘     │
//!                                └────────────────────┘
//! ```

use std::sync::Arc;

use config::BackendAddress;
use route::{
    Backend, BackendId, BackendLocation, Dice, Endpoint, Health, LagLimit, Load, Moment, Monitored,
    Role,
};

use crate::account_loader::Teacher;
use crate::failure::Failure;
use crate::login::Destination;
use crate::probe::ProbeResult;
use crate::replication::Replication;

mod answers;
mod location;
mod published;
mod schedules;
mod settings;

use location::Location;
use published::ReplicationView;
use schedules::Schedules;
pub(crate) use settings::{Questions, Rhythm, Settings};

/// A task that takes time, so it runs next to the control loop and not in it.
#[derive(Debug)]
pub(crate) enum Task {
    /// Probes the backend: does it answer?
    Look(Destination),
    /// Resolves the backend's configured name.
    LookUp(BackendAddress),
    /// Asks the backend about its replication; the moment is when the backend came up.
    Ask(Destination, Moment),
}

/// Whether workers need a new snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Change {
    /// Workers must get a new snapshot.
    Visible,
    /// Nothing changed for the workers.
    None,
}

/// The state of one configured backend.
#[derive(Debug)]
pub(crate) struct BackendMonitor {
    pub id: BackendId,
    pub name: String,
    pub settings: Settings,
    /// The backend's role; `None` while the proxy has not found it out.
    pub role: Option<Role>,
    pub load: Arc<Load>,
    replication: Replication,
    /// The replication state that workers were told last.
    published: Option<ReplicationView>,
    /// Other primaries of its cluster that take writes as it does and do not replicate.
    pub rivals: Vec<String>,
    /// The backend was asked about replication under these settings, with or without success.
    was_questioned: bool,
    location: Location,
    health: Health,
    returned: Option<Moment>,
    schedules: Schedules,
    /// The log already says that the backend refuses the monitor account.
    account_refused: bool,
}

impl BackendMonitor {
    /// A backend that was never probed; its first probe is due at once.
    pub(crate) fn new(
        name: &str,
        (id, load): (BackendId, Arc<Load>),
        address: BackendAddress,
        epoch: u64,
        settings: Settings,
        now: Moment,
    ) -> BackendMonitor {
        let mut monitor = BackendMonitor {
            id,
            name: name.to_owned(),
            role: settings.role,
            settings,
            load,
            replication: Replication::new(),
            published: None,
            rivals: Vec::new(),
            was_questioned: false,
            location: Location::new(address, epoch, now),
            health: Health::Unknown,
            returned: None,
            schedules: Schedules::default(),
            account_refused: false,
        };
        monitor.schedules.probes.schedule(now);
        monitor.ask_soon(now);
        monitor
    }

    /// The backend as workers see it.
    pub(crate) fn backend(&self) -> Backend {
        let settings = &self.settings;
        Backend {
            id: self.id,
            name: self.name.clone(),
            location: BackendLocation {
                host: self.location.host(),
                endpoints: self.location.endpoints.clone(),
                zone: settings.zone.clone(),
                vicinity: settings.vicinity,
            },
            cluster: settings.cluster,
            role: self.role,
            tags: settings.tags.clone(),
            weight: settings.weight,
            sessions_max: settings.sessions_max,
            duty: settings.duty,
            lag_limit: LagLimit {
                max: settings.lag_max,
                unknown: settings.unknown_lag,
            },
            monitored: Monitored {
                server: self.replication.server.clone(),
                writes: self.replication.writes,
                has_answered: self.is_monitored(),
                complaint: self.complaint(),
            },
            standing: Arc::clone(&self.replication.standing),
            health: self.health.clone(),
            returned: self.returned,
            load: Arc::clone(&self.load),
        }
    }

    /// The task that is due for the backend now. The call also marks the task as begun.
    pub(crate) fn begin(&mut self, now: Moment) -> Option<Task> {
        if self.location.is_nowhere() && self.schedules.probes.next().is_some_and(|due| due <= now)
        {
            // The name must be resolved first; the result makes the probe due again.
            self.schedules.probes.reschedule(None);
            self.schedules.lookups.schedule(now);
        }
        if self.schedules.probes.begin(now) {
            return Some(Task::Look(self.destination()));
        }
        if self.schedules.lookups.begin(now) {
            return Some(Task::LookUp(self.location.address.clone()));
        }
        if !self.is_usable() || self.location.is_nowhere() {
            // The question is due again once the backend is up and its address is known.
            self.schedules.questions.reschedule(None);
        }
        let is_due = self.schedules.questions.begin(now);
        is_due.then(|| Task::Ask(self.destination(), self.up_since()))
    }

    /// When [`BackendMonitor::begin`] has the next task.
    pub(crate) fn next(&self) -> Option<Moment> {
        self.schedules.next()
    }

    pub(crate) fn destination(&self) -> Destination {
        Destination {
            host: self.location.host(),
            endpoints: self.location.endpoints.clone(),
        }
    }

    pub(crate) fn teacher(&self) -> Teacher {
        Teacher {
            name: self.name.clone(),
            destination: self.destination(),
        }
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.health.is_usable()
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(self.health, Health::Up { .. })
    }

    /// The backend's configured address.
    pub(crate) fn address(&self) -> &BackendAddress {
        &self.location.address
    }

    /// Tells results for the current address from results for an address before a reload.
    pub(crate) fn epoch(&self) -> u64 {
        self.location.epoch
    }

    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.location.endpoints
    }

    /// Since when the backend counts as the same server: it has neither moved nor been down since.
    fn up_since(&self) -> Moment {
        self.returned.map_or(self.location.placed, |returned| {
            returned.max(self.location.placed)
        })
    }

    /// Notes that a session could not connect to the backend.
    pub(crate) fn connect_failed(
        &mut self,
        cause: &str,
        now: Moment,
        rhythm: &Rhythm,
        dice: &mut Dice,
    ) -> Change {
        match self.is_usable() {
            true => self.fall(cause, now, rhythm, dice),
            false => Change::None,
        }
    }

    /// Notes that a session connected. If the backend counts as down, a probe is worthwhile.
    pub(crate) fn connected(&mut self, now: Moment, rhythm: &Rhythm) -> Change {
        match self.health {
            Health::Unknown => self.rise(now, rhythm),
            Health::Up { .. } => Change::None,
            Health::Down { .. } => self.suspected(now, rhythm),
        }
    }

    /// Schedules a probe at once. If the last probe began less than one probe interval ago, the probe waits until the
    /// interval is over, because many sessions that break would otherwise cause many probes.
    pub(crate) fn suspected(&mut self, now: Moment, rhythm: &Rhythm) -> Change {
        let earliest = self
            .schedules
            .probes
            .began()
            .map_or(now, |began| began + rhythm.probe_interval);
        self.schedules.probes.schedule(now.max(earliest));
        Change::None
    }

    /// Takes in the result of a probe.
    pub(crate) fn note_probe(
        &mut self,
        probe_result: Result<ProbeResult, Failure>,
        now: Moment,
        rhythm: &Rhythm,
        dice: &mut Dice,
    ) -> Change {
        self.schedules.probes.end();
        if self
            .schedules
            .probes
            .began()
            .is_some_and(|began| began < self.location.placed)
        {
            // The probe was of the former addresses; a probe of the current ones is due.
            return Change::None;
        }
        match probe_result {
            Ok(probe_result) => {
                match probe_result {
                    ProbeResult::Full => self.load.note_server_full(now),
                    ProbeResult::Well | ProbeResult::AccountRefused(_) => {
                        self.load.note_server_accepts()
                    }
                }
                self.note_account(probe_result);
                self.answered(now, rhythm, dice)
            }
            Err(failure) => self.failed(&failure, now, rhythm, dice),
        }
    }

    fn answered(&mut self, now: Moment, rhythm: &Rhythm, dice: &mut Dice) -> Change {
        match self.health {
            // The backend went down after this probe began.
            Health::Down { since, .. }
                if self
                    .schedules
                    .probes
                    .began()
                    .is_some_and(|began| began < since) =>
            {
                self.probe_later(now, rhythm, dice);
                Change::None
            }
            Health::Down { .. } | Health::Unknown => self.rise(now, rhythm),
            Health::Up { .. } => {
                self.schedule_next_probe(now, rhythm);
                Change::None
            }
        }
    }

    fn failed(
        &mut self,
        failure: &Failure,
        now: Moment,
        rhythm: &Rhythm,
        dice: &mut Dice,
    ) -> Change {
        let new = failure.to_string();
        match &mut self.health {
            Health::Up { .. } | Health::Unknown => return self.fall(&new, now, rhythm, dice),
            Health::Down { cause, .. } if *cause == new => self.probe_later(now, rhythm, dice),
            Health::Down { cause, .. } => {
                tracing::info!(
                    backend = self.name,
                    cause = new,
                    was = cause,
                    "backend is still down"
                );
                *cause = new;
                self.probe_later(now, rhythm, dice);
                return Change::Visible;
            }
        }
        Change::None
    }

    fn fall(&mut self, cause: &str, now: Moment, rhythm: &Rhythm, dice: &mut Dice) -> Change {
        tracing::warn!(
            kind = "backend_down",
            backend = self.name,
            cause,
            "backend is down: it gets no sessions until it answers"
        );
        // A backend that goes down again soon keeps the long waits that it had reached.
        match self.health {
            Health::Up { since } if now.since(since) < rhythm.probe_interval_max => (),
            _ => self.schedules.backoff.reset(),
        }
        self.health = Health::Down {
            since: now,
            cause: cause.to_owned(),
        };
        self.schedules.probes.reschedule(None);
        self.probe_later(now, rhythm, dice);
        self.replication.forget();
        Change::Visible
    }

    fn rise(&mut self, now: Moment, rhythm: &Rhythm) -> Change {
        match &self.health {
            Health::Down { since, cause } => {
                let down_for = now.since(*since);
                tracing::info!(
                    kind = "backend_up_again",
                    backend = self.name,
                    ?down_for,
                    cause,
                    "backend is up again"
                );
                self.returned = Some(now);
                if self.needs_lag() {
                    self.replication.presume_behind();
                }
            }
            Health::Up { .. } | Health::Unknown => {
                tracing::info!(kind = "backend_up", backend = self.name, "backend is up");
            }
        }
        self.health = Health::Up { since: now };
        self.schedule_next_probe(now, rhythm);
        self.ask_soon(now);
        Change::Visible
    }

    fn probe_later(&mut self, now: Moment, rhythm: &Rhythm, dice: &mut Dice) {
        let (first, max) = (rhythm.probe_interval, rhythm.probe_interval_max);
        self.schedules
            .probes
            .schedule(now + self.schedules.backoff.next(first, max, dice));
    }

    fn schedule_next_probe(&mut self, now: Moment, rhythm: &Rhythm) {
        if let Some(interval) = rhythm.monitor_interval {
            self.schedules.probes.schedule(now + interval);
        }
    }

    /// Tells the log once when the backend refuses the monitor account, and once when it accepts the account again.
    fn note_account(&mut self, probe_result: ProbeResult) {
        match probe_result {
            ProbeResult::AccountRefused(cause) if !self.account_refused => {
                self.account_refused = true;
                tracing::warn!(
                    backend = self.name,
                    cause,
                    "backend refuses the monitor account; it stays in use, and the proxy knows less about it"
                );
            }
            ProbeResult::Well if self.account_refused => {
                self.account_refused = false;
                tracing::info!(backend = self.name, "backend accepts the monitor account");
            }
            ProbeResult::AccountRefused(_) | ProbeResult::Well | ProbeResult::Full => (),
        }
    }

    /// Takes in the addresses that the name resolves to. If there are none, the known addresses stay.
    pub(crate) fn note_addresses(
        &mut self,
        found: Result<Vec<Endpoint>, Failure>,
        now: Moment,
        rhythm: &Rhythm,
        dice: &mut Dice,
    ) -> Change {
        self.schedules.lookups.end();
        self.schedule_next_lookup(now, rhythm);
        match found {
            Ok(endpoints) => self.found(endpoints, now),
            Err(failure) if self.location.is_nowhere() => self.failed(&failure, now, rhythm, dice),
            Err(failure) => {
                if !self.location.name_lost {
                    self.location.name_lost = true;
                    let cause = failure.to_string();
                    tracing::warn!(
                        backend = self.name,
                        cause,
                        "a backend's name cannot be looked up; the proxy keeps the addresses that it knows"
                    );
                }
                Change::None
            }
        }
    }

    /// Resolvers rotate the order of addresses with each answer, so only another set of addresses is a change.
    fn found(&mut self, endpoints: Vec<Endpoint>, now: Moment) -> Change {
        if std::mem::take(&mut self.location.name_lost) {
            tracing::info!(backend = self.name, "name is resolved again");
        }
        if self.location.is_at(&endpoints) {
            return Change::None;
        }
        if !self.location.is_nowhere() {
            let (old, new) = (list(&self.location.endpoints), list(&endpoints));
            tracing::info!(backend = self.name, old, new, "backend has other addresses");
        }
        self.location.endpoints = endpoints;
        self.location.placed = now;
        self.replication.forget();
        self.schedules.probes.schedule(now);
        self.ask_soon(now);
        Change::Visible
    }

    fn schedule_next_lookup(&mut self, now: Moment, rhythm: &Rhythm) {
        let interval = rhythm.resolve_interval.filter(|_| self.location.has_name());
        self.schedules
            .lookups
            .reschedule(interval.map(|interval| now + interval));
    }

    /// Applies other settings. A role that was found out stays until another role is found out.
    pub(crate) fn resettle(&mut self, settings: Settings) {
        self.role = settings.role.or(self.role);
        self.settings = settings;
        self.was_questioned = false;
        if !self.needs_lag() {
            self.replication.forget();
        }
    }

    /// Applies other intervals.
    pub(crate) fn keep_rhythm(&mut self, now: Moment, rhythm: &Rhythm) {
        self.schedule_next_lookup(now, rhythm);
        self.account_refused = false;
        match self.health {
            Health::Up { .. } => {
                self.schedules.probes.reschedule(None);
                self.schedule_next_probe(now, rhythm);
                self.ask_soon(now);
            }
            Health::Down { .. } => {
                self.schedules.backoff.reset();
                self.schedules.probes.schedule(now);
            }
            Health::Unknown => (),
        }
    }
}

fn list(endpoints: &[Endpoint]) -> String {
    let texts: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
