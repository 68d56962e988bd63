//! The backends as they are known at one moment: an immutable snapshot, replaced, never changed.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::candidate::{Rejection, Terms, Use};
use crate::{Family, Lag, Load, Moment, SessionSlot, Standing, WrittenByAll};

/// All that a worker needs to place a session. The control plane publishes a new one when
/// something changed; sessions that hold an old one stay right.
#[derive(Debug, Clone)]
pub struct Topology {
    /// Grows by one with each snapshot.
    pub generation: u64,
    /// In the order of the configuration, which [`Policy::Ordered`] follows.
    pub backends: Vec<Arc<Backend>>,
    /// Those that the backends belong to, in the order of their first ones.
    pub clusters: Vec<Cluster>,
    /// The configured cluster of sessions of which nothing else is said.
    pub default_cluster: Option<ClusterId>,
    /// How a session's backend is chosen.
    pub policy: Policy,
    /// How a statement's backend is chosen.
    pub reads: ReadPolicy,
    /// Which roles sessions may go to as a whole, unless something else is said of them.
    pub roles: Roles,
    /// How long a backend that returned takes to reach its full share; zero: at once.
    pub slow_start: Duration,
}

impl Topology {
    /// The backend of this id, when it is still configured.
    pub fn backend(&self, id: BackendId) -> Option<&Arc<Backend>> {
        self.backends.iter().find(|backend| backend.id == id)
    }

    /// The cluster of this name, when a backend belongs to it.
    pub fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.name == name)
    }

    /// The cluster of sessions of which nothing else is said: the configured one, or the first backend's.
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
    /// What sessions of this process have written there, kept where reads must see it.
    pub written: Arc<WrittenByAll>,
}

/// Names a cluster through all snapshots of one process; small numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ClusterId(pub u32);

/// One MySQL or MariaDB server, as known when the snapshot was made.
#[derive(Debug, Clone)]
pub struct Backend {
    /// Stays with the name over reloads.
    pub id: BackendId,
    /// What logs, errors and statistics call it.
    pub name: String,
    /// Where it is.
    pub location: BackendLocation,
    /// The cluster it belongs to.
    pub cluster: ClusterId,
    /// What it is in its cluster; none while that is to be found out.
    pub role: Option<Role>,
    /// Names by which rules choose it.
    pub tags: Vec<String>,
    /// Its share relative to the others; zero: only when nobody else is usable.
    pub weight: u32,
    /// Sessions it takes from this proxy at most.
    pub sessions_max: Option<u32>,
    /// Whether it may be given anything new.
    pub duty: Duty,
    /// How far it may lag, as a replica.
    pub lag_limit: LagLimit,
    /// What was last seen of it.
    pub health: Health,
    /// When it last came back from being down; slow start counts from here. A backend that was
    /// never down has a full share from the start.
    pub returned: Option<Moment>,
    /// What the monitor account has found out about it.
    pub monitored: Monitored,
    /// Its lag and its position, as they are now.
    pub standing: Arc<Standing>,
    /// Its sessions, counted over all workers and snapshots.
    pub load: Arc<Load>,
}

/// Where a backend is.
#[derive(Debug, Clone)]
pub struct BackendLocation {
    /// The host as configured, which a TLS certificate must name; `None` for a Unix socket.
    pub host: Option<String>,
    /// Where it may be reached, to be tried in this order; empty while its name is not resolved.
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
    /// What becomes of it, as a replica, while nobody knows how far it lags.
    pub unknown: UnknownLag,
}

/// What the monitor account has found out about a backend.
#[derive(Debug, Clone)]
pub struct Monitored {
    /// What kind of server it is; none while nobody has asked.
    pub server: Option<Server>,
    /// Whether it takes writes, as last seen.
    pub writes: Writes,
    /// Whether it has answered the monitor account's last question.
    pub has_answered: bool,
    /// What the control plane could not find out about it and why, with what would help; none when
    /// nothing is amiss.
    pub complaint: Option<String>,
}

impl Backend {
    /// May new sessions and statements be sent there? Not when it is down, draining or disabled.
    pub fn is_usable(&self) -> bool {
        self.health.is_usable() && self.duty == Duty::Serving
    }

    /// Is it a primary that takes no writes?
    pub fn is_read_only_primary(&self) -> bool {
        self.role == Some(Role::Primary) && self.monitored.writes == Writes::Refused
    }

    /// Why it is left out as a replica: it does not replicate, or lags more than it may, or still lags too
    /// much to come back. A primary never is.
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
                // One that comes back only with less than the limit is told that.
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

    /// Is it left out as a replica?
    pub fn is_left_out(&self) -> bool {
        self.replica_fault().is_some()
    }

    /// Are all its places taken?
    pub fn is_full(&self) -> bool {
        self.sessions_max
            .is_some_and(|max| self.load.sessions() >= max)
    }

    /// Why it takes nothing now that may go to such roles; none: it does.
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

    /// Has it no connection left, as far as was seen: neither of the server's nor of those that it may carry?
    pub fn has_no_connection_left(&self, now: Moment) -> bool {
        self.is_full() || self.load.is_server_full(now)
    }

    /// Takes a place for one session, or none when it is full.
    pub fn begin(&self) -> Option<SessionSlot> {
        self.load.begin(self.sessions_max)
    }
}

/// Names a backend through all snapshots of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackendId(pub u32);

/// Where to connect to.
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

/// What a backend is in its cluster.
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
    /// May one go to a backend of this role? Where it is not known, only if none is asked for.
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
    /// Anywhere else, or nobody has said.
    #[default]
    Far,
}

/// What a backend is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Duty {
    /// To serve.
    #[default]
    Serving,
    /// To become free: what runs there ends, and nothing new comes.
    Draining,
    /// Nothing: what ran there has been cut, and nothing new comes.
    Disabled,
}

/// Whether a server takes writes from ordinary accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Writes {
    /// Nobody has asked.
    #[default]
    Unknown,
    /// It does.
    Taken,
    /// It is read-only.
    Refused,
}

/// What becomes of a replica while nobody knows how far it lags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UnknownLag {
    /// It is used.
    #[default]
    Use,
    /// It is left out.
    LeaveOut,
}

/// What kind of server a backend is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Of which family.
    pub family: Family,
    /// As it names it.
    pub version: String,
}

/// What was last seen of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It answered.
    Up {
        /// Since when it does.
        since: Moment,
    },
    /// It could not be reached, or did not greet.
    Down {
        /// Since when.
        since: Moment,
        /// As logged and told to clients.
        cause: String,
    },
    /// Nobody tried yet. It counts as usable, or no first session could begin.
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

/// How a session's backend is chosen among those usable.
///
/// A backend in slow start counts with a weight that grows linearly from almost nothing to its
/// own; where weights play no part it is passed over as often as it lacks of its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// The fewest sessions in proportion to the weight; the first in order wins ties (MySQL
    /// Proxy's shortest queue first).
    #[default]
    FewestSessions,
    /// Each in turn, whatever its weight.
    RoundRobin,
    /// Each as often as its weight says, spread evenly.
    Weighted,
    /// The less loaded of two drawn at random: nearly as even as [`Policy::FewestSessions`], and
    /// several proxies do not all run to the same backend.
    RandomOfTwo,
    /// The first in order: the others stand by.
    Ordered,
}

/// How a statement's backend is chosen among those that would do. Slow start is as with [`Policy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReadPolicy {
    /// The fewest statements of this worker's in flight in proportion to the weight; of several with
    /// as few, each as often as its weight says.
    #[default]
    FewestInFlight,
    /// Of two drawn at random one or the other, the sooner the faster it answers, the less it has in
    /// flight and the more it weighs.
    Latency,
    /// Each in turn, whatever its weight.
    RoundRobin,
    /// Each as often as its weight says, spread evenly.
    Weighted,
    /// The one that the session's last read went to, which is the caller's to remember; for a first
    /// one as [`ReadPolicy::FewestInFlight`].
    Sticky,
}
