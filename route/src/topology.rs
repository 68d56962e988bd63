//! The state of all backends at one moment: an immutable snapshot, which is replaced but never changed.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::candidate::{Rejection, Terms, Use};
use crate::{Family, Lag, Load, Moment, SessionSlot, Standing, WrittenByAll};

/// All that a worker needs to choose a session's backend. The control plane publishes a new snapshot after
/// each change; sessions that still hold an old one work correctly.
#[derive(Debug, Clone)]
pub struct Topology {
    /// Grows by one with each snapshot.
    pub generation: u64,
    /// In the order of the configuration, which [`Policy::Ordered`] follows.
    pub backends: Vec<Arc<Backend>>,
    /// The clusters of the backends, in the order of each cluster's first backend.
    pub clusters: Vec<Cluster>,
    /// The configured cluster of sessions for which no other cluster is given.
    pub default_cluster: Option<ClusterId>,
    /// How a session's backend is chosen.
    pub policy: Policy,
    /// How a statement's backend is chosen.
    pub reads: ReadPolicy,
    /// The roles of backends for whole sessions, unless other roles are given for a session.
    pub roles: Roles,
    /// How long a backend that returned takes to reach its full share; zero: at once.
    pub slow_start: Duration,
}

impl Topology {
    /// Returns the backend with this id, if it is still configured.
    pub fn backend(&self, id: BackendId) -> Option<&Arc<Backend>> {
        self.backends.iter().find(|backend| backend.id == id)
    }

    /// Returns the cluster with this name, if a backend belongs to it.
    pub fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.name == name)
    }

    /// Returns the default cluster of sessions: the configured one, or else the first backend's cluster.
    pub fn default_cluster(&self) -> ClusterId {
        let first = || self.clusters.first().map(|cluster| cluster.id);
        self.default_cluster.or_else(first).unwrap_or_default()
    }
}

/// Backends that replicate one another.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Stays with the name over reloads.
    pub id: ClusterId,
    /// As configured.
    pub name: String,
    /// The last writes of this process's sessions, kept if later reads must see them.
    pub written: Arc<WrittenByAll>,
}

/// The id of a cluster, the same in all snapshots of one process; a small number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ClusterId(pub u32);

/// One MySQL or MariaDB server, as known when the snapshot was made.
#[derive(Debug, Clone)]
pub struct Backend {
    /// Stays with the name over reloads.
    pub id: BackendId,
    /// Its name in logs, errors and statistics.
    pub name: String,
    /// Its host, addresses and zone.
    pub location: BackendLocation,
    /// The cluster it belongs to.
    pub cluster: ClusterId,
    /// Its role in its cluster; none until the proxy has found out.
    pub role: Option<Role>,
    /// Names by which rules choose it.
    pub tags: Vec<String>,
    /// Its share relative to other backends; zero: it is used only if no other backend is usable.
    pub weight: u32,
    /// The most sessions of this proxy that it may carry.
    pub sessions_max: Option<u32>,
    /// Whether new sessions and statements may go to it.
    pub duty: Duty,
    /// The largest lag that it may have as a replica.
    pub lag_limit: LagLimit,
    /// Whether it was reachable at the last attempt.
    pub health: Health,
    /// When it last came back from being down; slow start begins at this moment. A backend that was
    /// never down has its full share from the start.
    pub returned: Option<Moment>,
    /// The results of the monitor account for this backend.
    pub monitored: Monitored,
    /// Its current lag and position.
    pub standing: Arc<Standing>,
    /// Its sessions, counted over all workers and snapshots.
    pub load: Arc<Load>,
}

/// The host, addresses and zone of a backend.
#[derive(Debug, Clone)]
pub struct BackendLocation {
    /// The host as configured, which a TLS certificate must name; `None` for a Unix socket.
    pub host: Option<String>,
    /// Its addresses, which are tried in this order; empty while its name is not resolved.
    pub endpoints: Vec<Endpoint>,
    /// Its zone, as configured.
    pub zone: Option<String>,
    /// Whether that is this proxy's zone.
    pub vicinity: Vicinity,
}

/// How far a replica may lag.
#[derive(Debug, Clone, Copy)]
pub struct LagLimit {
    /// None: no limit.
    pub max: Option<Duration>,
    /// Whether a replica with an unknown lag is used.
    pub unknown: UnknownLag,
}

/// The results of the monitor account for a backend.
#[derive(Debug, Clone)]
pub struct Monitored {
    /// Its server family and version; none until the monitor account has asked.
    pub server: Option<Server>,
    /// Whether it accepted writes at the last probe.
    pub writes: Writes,
    /// Whether it has answered the monitor account's last query.
    pub has_answered: bool,
    /// What the control plane could not find out about it, why, and what the operator can do; none if
    /// there is no problem.
    pub complaint: Option<String>,
}

impl Backend {
    /// Whether new sessions and statements may go to it. A backend that is down, draining or disabled takes none.
    pub fn is_usable(&self) -> bool {
        self.health.is_usable() && self.duty == Duty::Serving
    }

    /// Whether it is a primary that refuses writes.
    pub fn is_read_only_primary(&self) -> bool {
        self.role == Some(Role::Primary) && self.monitored.writes == Writes::Refused
    }

    /// Returns why a replica is not used: it does not replicate, or it lags more than its limit, or it still
    /// lags too much to come back. For a primary it returns none.
    pub fn replica_fault(&self) -> Option<Rejection> {
        if self.role == Some(Role::Primary) {
            return None;
        }
        let lag = self.standing.lag();
        match lag {
            Lag::Stopped => Some(match self.lag_limit.max {
                Some(max) => Rejection::Lagging { lag, max },
                None => Rejection::NotReplicating,
            }),
            Lag::Unknown if self.lag_limit.unknown == UnknownLag::LeaveOut => {
                Some(Rejection::LagUnknown)
            }
            Lag::Unknown | Lag::Behind(_) if self.standing.is_lagging(self.lag_limit.max) => {
                // A replica that is left out comes back only with less lag than the limit: report that smaller value.
                let max = match lag.exceeds(self.lag_limit.max) {
                    true => self.lag_limit.max,
                    false => self.standing.lag_return(),
                };
                let max = max.unwrap_or_default();
                Some(Rejection::Lagging { lag, max })
            }
            Lag::Unknown | Lag::Behind(_) => None,
        }
    }

    /// Whether it is a replica that is not used at present.
    pub fn is_left_out(&self) -> bool {
        self.replica_fault().is_some()
    }

    /// Whether it has as many sessions as it may carry.
    pub fn is_full(&self) -> bool {
        self.sessions_max
            .is_some_and(|max| self.load.sessions() >= max)
    }

    /// Returns why it takes no session or statement for these roles now; none if it takes them.
    pub fn rejection(&self, roles: Roles) -> Option<Rejection> {
        let terms = Terms {
            cluster: self.cluster,
            roles,
            tried: &[],
            seats: &[],
            use_for: Use::Any,
        };
        terms.accept(self).err()
    }

    /// Whether no connection is left, as far as is known: it has reached `sessions_max` or the server's limit.
    pub fn has_no_connection_left(&self, now: Moment) -> bool {
        self.is_full() || self.load.is_server_full(now)
    }

    /// Takes a slot for one session; none if the backend is full.
    pub fn begin(&self) -> Option<SessionSlot> {
        self.load.begin(self.sessions_max)
    }
}

/// The id of a backend, the same in all snapshots of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackendId(pub u32);

/// An address to which the proxy connects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// An address that a name was resolved to, or that was configured.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The role of a backend in its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Takes writes.
    Primary,
    /// Follows a primary; reads only.
    Replica,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Primary => "primary",
            Role::Replica => "replica",
        })
    }
}

/// The roles that a session, or a statement, may go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Roles {
    /// Primaries only: it may write.
    #[default]
    Primary,
    /// Primaries and replicas alike.
    Any,
    /// Replicas only.
    Replica,
}

impl Roles {
    /// Whether a backend of this role is allowed. A backend of unknown role is allowed only for [`Roles::Any`].
    pub fn allow(self, role: Option<Role>) -> bool {
        match self {
            Roles::Primary => role == Some(Role::Primary),
            Roles::Any => true,
            Roles::Replica => role == Some(Role::Replica),
        }
    }
}

/// How near a backend is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Vicinity {
    /// In this proxy's zone: preferred.
    Near,
    /// In another zone, or no zone is configured.
    #[default]
    Far,
}

/// Whether a backend takes new work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Duty {
    /// It takes sessions and statements.
    #[default]
    Serving,
    /// It becomes free: running work may end, and no new work goes to it.
    Draining,
    /// It is out of use: its sessions were cut off, and no new work goes to it.
    Disabled,
}

/// Whether a server takes writes from ordinary accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Writes {
    /// Not yet asked.
    #[default]
    Unknown,
    /// The server takes writes.
    Taken,
    /// It is read-only.
    Refused,
}

/// Whether a replica is used while its lag is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UnknownLag {
    /// It is used.
    #[default]
    Use,
    /// It is left out.
    LeaveOut,
}

/// The kind and version of a backend's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// MySQL or MariaDB.
    pub family: Family,
    /// The version string that the server reports.
    pub version: String,
}

/// Whether a backend was reachable at the last attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It answered.
    Up {
        /// When it came up.
        since: Moment,
    },
    /// It could not be reached, or it sent no greeting.
    Down {
        /// When it went down.
        since: Moment,
        /// The reason, as it is logged and sent to clients.
        cause: String,
    },
    /// No attempt was made yet. It counts as usable, because otherwise no first session could begin.
    Unknown,
}

impl Health {
    /// May sessions be sent there?
    pub fn is_usable(&self) -> bool {
        !matches!(self, Health::Down { .. })
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Health::Up { .. } => f.write_str("up"),
            Health::Down { cause, .. } => write!(f, "down: {cause}"),
            Health::Unknown => f.write_str("unknown"),
        }
    }
}

/// How a session's backend is chosen among the usable ones.
///
/// In slow start, a backend's weight grows linearly from almost zero to its configured weight. If the
/// policy does not use weights, the backend is skipped in proportion to its missing share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// The fewest sessions in proportion to the weight; the first in order wins ties (MySQL
    /// Proxy's shortest queue first).
    #[default]
    FewestSessions,
    /// The backends take turns, whatever their weights.
    RoundRobin,
    /// Each backend is chosen as often as its weight says, spread evenly.
    Weighted,
    /// The less loaded of two random backends: nearly as even as [`Policy::FewestSessions`], and
    /// several proxies do not all choose the same backend.
    RandomOfTwo,
    /// The first usable backend in configuration order; the others are standbys.
    Ordered,
}

/// How a statement's backend is chosen among the suitable ones. Slow start works as for [`Policy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReadPolicy {
    /// The backend with the fewest of this worker's statements in flight, in proportion to its weight. Among
    /// equal ones, each is chosen as often as its weight says.
    #[default]
    FewestInFlight,
    /// One of two random backends. The probability of one is higher if it answers faster, has fewer statements
    /// in flight, and has more weight.
    Latency,
    /// The backends take turns, whatever their weights.
    RoundRobin,
    /// Each backend is chosen as often as its weight says, spread evenly.
    Weighted,
    /// The backend of the session's last read, which the caller remembers; the first read is placed as
    /// by [`ReadPolicy::FewestInFlight`].
    Sticky,
}
