//! The backends as ProxySQL's admin schema shows them.

use std::sync::Arc;

use route::{Backend, Duty, Endpoint, Health};

use crate::table::{Asks, Cell, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<Server> = TableDefinition {
    schema: Schema::Main,
    name: "runtime_mysql_servers",
    about: "The backends as they hold and as they are, by the names of ProxySQL; a hostgroup is a cluster. They are \
            changed in backends.",
    asks: Asks::Nothing,
    columns: columns! {
        integer "hostgroup_id", "The cluster's number.", |it| it.hostgroup().into();
        text "hostname", "The host, or the path of a socket.", |it| it.host().into();
        integer "port", "The port; 0 for a socket.", |it| it.port().into();
        integer "gtid_port", "Not needed here: 0.", |_| 0_u32.into();
        text "status", "ONLINE, SHUNNED (down), OFFLINE_SOFT (draining) or OFFLINE_HARD (disabled).",
            |it| it.status().into();
        integer "weight", "Its share relative to the others'.", |it| it.backend.weight.into();
        integer "compression", "The setting compression.backend says it: 0.", |_| 0_u32.into();
        integer "max_connections", "Sessions that it takes at most; NULL: no limit.",
            |it| it.backend.sessions_max.into();
        integer "max_replication_lag", "Seconds that it may lag; 0: no limit.",
            |it| it.backend.lag_limit.max.map_or(0, |max| max.as_secs()).into();
        integer "use_ssl", "The setting backend_tls.mode says it: 0.", |_| 0_u32.into();
        integer "max_latency_ms", "Always 0: the proxy has no limit of this kind.", |_| 0_u32.into();
        text "comment", "Its name here.", |it| it.backend.name.clone().into();
    },
    items: |input| {
        let backends = input.topology.backends.iter();
        backends.map(Server::of).collect()
    },
};

/// A backend in ProxySQL's terms.
pub struct Server {
    /// The backend.
    pub backend: Arc<Backend>,
}

impl Server {
    /// Wraps the backend.
    pub fn of(backend: &Arc<Backend>) -> Self {
        Self {
            backend: Arc::clone(backend),
        }
    }

    /// The hostgroup: the cluster's number.
    pub fn hostgroup(&self) -> u32 {
        self.backend.cluster.0
    }

    /// The host, or the path of a socket.
    pub fn host(&self) -> String {
        let by_address = || match self.backend.location.endpoints.first() {
            Some(Endpoint::Tcp(address)) => address.ip().to_string(),
            Some(Endpoint::Unix(path)) => path.display().to_string(),
            None => self.backend.name.clone(),
        };
        self.backend
            .location
            .host
            .clone()
            .unwrap_or_else(by_address)
    }

    /// The port; 0 for a socket.
    pub fn port(&self) -> u16 {
        match self.backend.location.endpoints.first() {
            Some(Endpoint::Tcp(address)) => address.port(),
            Some(Endpoint::Unix(_)) | None => 0,
        }
    }

    /// The state, in ProxySQL's terms.
    pub fn status(&self) -> &'static str {
        match (&self.backend.health, self.backend.duty) {
            (_, Duty::Draining) => "OFFLINE_SOFT",
            (_, Duty::Disabled) => "OFFLINE_HARD",
            (Health::Down { .. }, _) => "SHUNNED",
            (Health::Up { .. } | Health::Unknown, _) => "ONLINE",
        }
    }

    /// The server that a session uses, if it is still configured.
    pub fn of_session(input: &TableInput, session: &worker::SessionView) -> Option<Self> {
        let backend = input.backend(session.backend?)?;
        Some(Self::of(backend))
    }
}

/// A fact about a server; NULL without a server.
pub fn of<T: Into<Cell>>(server: &Option<Server>, fact: impl Fn(&Server) -> T) -> Cell {
    server.as_ref().map(fact).into()
}

/// The number of a cluster, by its name.
pub fn hostgroup(input: &TableInput, cluster: &str) -> Option<u32> {
    let mut clusters = input.topology.clusters.iter();
    let found = clusters.find(|it| it.name == cluster);
    found.map(|it| it.id.0)
}
