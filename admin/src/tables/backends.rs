//! The servers behind the proxy.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use config::BACKEND;
use pool::LimitFigures;
use route::{Backend, BackendLocation, Duty, Health, Lag, Moment, Role, Writes};

use crate::defined::{self, Defined, Definition};
use crate::table::{
    Alterable, Asks, Cell, Schema, TableDefinition, Target, columns, microseconds, seconds,
};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: Defined<BackendRow> = Defined {
    table: SHEET,
    alterable: Alterable {
        target: Target::List(BACKEND.name),
        aliases: &[("draining", "drain"), ("disabled", "disable")],
        keys: || BACKEND.settings.iter().map(|it| it.column()).collect(),
        position_column: Some("backend_ndx"),
        title: |row| Ok(row.text("name")),
    },
    definition: Some(Definition::new(
        || defined::columns(&BACKEND),
        |input, it| {
            let mut backends = input.config.backends.iter();
            defined::cells(&BACKEND, backends.find(|of| of.name == it.backend.name))
        },
    )),
};

const SHEET: TableDefinition<BackendRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "backends",
    about: "The servers behind the proxy, as last seen, and their settings; rows can be changed. The first six \
            columns are MySQL Proxy's.",
    asks: Asks::Sessions,
    columns: columns! {
        integer "backend_ndx", "Its place in the configuration, from 1.", |it| it.place.into();
        text "address", "The address of the backend.", |it| address(&it.backend).into();
        text "state",
            "up; full: up, and without a connection left (its server gave error 1040, or it carries sessions_max); \
             down; or unknown: nothing was seen of it yet.", |it| it.state().into();
        text "type", "rw: a primary; ro: a replica; unknown: that is yet to be found out.",
            |it| match it.backend.role {
                Some(Role::Primary) => "rw".into(),
                Some(Role::Replica) => "ro".into(),
                None => "unknown".into(),
            };
        text "uuid", "Nothing here: servers are told apart by their names.", |_| Cell::Null;
        integer "connected_clients", "Sessions that use it now.", |it| it.sessions.into();
        text "name", "The name of the backend in logs and errors.", |it| it.backend.name.clone().into();
        text "cluster", "The cluster that it belongs to.", |it| it.cluster.clone().into();
        text "role", "primary or replica; NULL: that is yet to be found out.",
            |it| it.backend.role.map(|role| role.to_string()).into();
        measure "state_seconds" ["s"], "For how long it has been up, or down.",
            |it| it.since().map(|since| it.now.since(since)).map_or(Cell::Null, seconds);
        text "cause", "Why it is down.",
            |it| match &it.backend.health {
                Health::Down { cause, .. } => cause.into(),
                Health::Up { .. } | Health::Unknown => Cell::Null,
            };
        integer "draining", "Whether it gets nothing new.", |it| (it.backend.duty == Duty::Draining).into();
        integer "disabled", "Whether it is out of use: what ran there has been cut.",
            |it| (it.backend.duty == Duty::Disabled).into();
        integer "weight", "Its share relative to the others'.", |it| it.backend.weight.into();
        text "zone", "The zone that it is in.", |it| it.backend.location.zone.clone().into();
        measure "lag_seconds" ["s"], "How far it is behind its primary; NULL: that is not known.",
            |it| match it.backend.standing.lag() {
                Lag::Behind(lag) => seconds(lag),
                Lag::Unknown | Lag::Stopped => Cell::Null,
            };
        text "replication", "running, stopped or unknown.",
            |it| match it.backend.standing.lag() {
                Lag::Behind(_) => "running".into(),
                Lag::Stopped => "stopped".into(),
                Lag::Unknown => "unknown".into(),
            };
        text "position", "The transactions that it is known to have.",
            |it| {
                let position = it.backend.standing.position();
                position.map(|position| position.to_string()).into()
            };
        integer "writes", "Whether it takes writes; NULL: the proxy has not asked.",
            |it| match it.backend.monitored.writes {
                Writes::Unknown => Cell::Null,
                Writes::Taken => true.into(),
                Writes::Refused => false.into(),
            };
        measure "latency_us" ["us"], "How long it last took to answer the proxy's own question.",
            |it| it.backend.standing.latency().map_or(Cell::Null, microseconds);
        measure "read_latency_us" ["us"],
            "How fast it has answered statements lately, as the slowest worker has measured; NULL: not measured.",
            |it| it.read_latency.map_or(Cell::Null, microseconds);
        integer "in_flight", "Pooled statements under way there.", |it| it.in_flight.into();
        integer "running_limit",
            "So many statements may run there at once before transactions wait (`pool.adaptive_limit`); NULL: there \
             is no limit, or no session has come yet.",
            |it| match it.running.limit { 0 | u32::MAX => Cell::Null, limit => limit.into() };
        integer "running", "Statements that count for `running_limit`.", |it| it.running.running.into();
        integer "waiting_to_begin", "Transactions that wait because as many statements run as may.",
            |it| it.running.waiting.into();
        integer "waited_to_begin", "Transactions that have waited for that since the start.",
            |it| it.running.waited.into();
        integer "assigned_sessions", "Sessions whose place is there, those that do not use it now included.",
            |it| it.backend.load.sessions().into();
        integer "sessions_max", "Sessions that it takes at most; NULL: no limit.", |it| it.backend.sessions_max.into();
        text "version", "The version that the server gives in its greeting.",
            |it| {
                let server = it.backend.monitored.server.as_ref();
                server.map(|server| server.version.clone()).into()
            };
        text "complaint", "The fact about the backend that the proxy could not find out, and the remedy.",
            |it| it.backend.monitored.complaint.clone().into();
    },
    items,
};

/// One backend.
pub struct BackendRow {
    place: usize,
    backend: Arc<Backend>,
    cluster: String,
    now: Moment,
    sessions: usize,
    in_flight: u32,
    running: LimitFigures,
    read_latency: Option<Duration>,
}

impl BackendRow {
    fn state(&self) -> &'static str {
        match self.backend.health {
            Health::Up { .. } if self.backend.has_no_connection_left(self.now) => "full",
            Health::Up { .. } => "up",
            Health::Down { .. } => "down",
            Health::Unknown => "unknown",
        }
    }

    fn since(&self) -> Option<Moment> {
        match self.backend.health {
            Health::Up { since } | Health::Down { since, .. } => Some(since),
            Health::Unknown => None,
        }
    }
}

/// The first address that a backend's name resolved to; its name if it was not resolved.
pub fn address(backend: &Backend) -> String {
    let first = backend.location.endpoints.first();
    first.map_or_else(|| backend.name.clone(), ToString::to_string)
}

fn items(input: &TableInput) -> Vec<BackendRow> {
    let backends = backends(input).into_iter().enumerate();
    let running: HashMap<_, _> = input.data_plane.running_figures().into_iter().collect();
    backends
        .map(|(index, (backend, cluster))| {
            let loads = input.workers.iter().flat_map(|worker| &worker.loads);
            let loads = loads.filter(|load| load.backend == backend.id);
            let sessions = input.sessions();
            BackendRow {
                place: index + 1,
                cluster,
                now: input.now,
                sessions: sessions.filter(|it| it.backend == Some(backend.id)).count(),
                running: running.get(&backend.id).copied().unwrap_or_default(),
                in_flight: loads.clone().map(|load| load.in_flight).sum(),
                read_latency: loads.filter_map(|load| load.latency).max(),
                backend,
            }
        })
        .collect()
}

/// The backends in their current state, but with the settings as configured (in a transaction, as after its COMMIT),
/// and the names of their clusters.
pub fn backends(input: &TableInput) -> Vec<(Arc<Backend>, String)> {
    let limit = input.config.limits.backend_sessions_max;
    let configured = input.config.backends.iter();
    let backends = configured.filter_map(|config| {
        let seen = input.topology.backends.iter();
        let planned = input.view.iter().flat_map(|it| &it.topology.backends);
        let seen = seen.chain(planned).find(|it| it.name == config.name)?;
        let backend = Backend {
            role: match config.role {
                config::Role::Primary => Some(Role::Primary),
                config::Role::Replica => Some(Role::Replica),
                config::Role::Auto => seen.role,
            },
            weight: config.weight,
            location: BackendLocation {
                zone: config.zone.clone(),
                ..seen.location.clone()
            },
            sessions_max: config.sessions_max.or(limit),
            duty: match (config.disable, config.drain) {
                (true, _) => Duty::Disabled,
                (false, true) => Duty::Draining,
                (false, false) => Duty::Serving,
            },
            ..Backend::clone(seen)
        };
        Some((Arc::new(backend), config.cluster.clone()))
    });
    backends.collect()
}
