//! The settings of a backend, and how often the proxy probes it.

use std::time::Duration;

use route::{ClusterId, Duty, Role, UnknownLag, Vicinity};

/// The intervals of the recurring tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rhythm {
    pub probe_interval: Duration,
    pub probe_interval_max: Duration,
    /// `None`: backends that are up are not probed.
    pub monitor_interval: Option<Duration>,
    /// `None`: no backend is asked about replication.
    pub replication_interval: Option<Duration>,
    /// `None`: names are resolved once.
    pub resolve_interval: Option<Duration>,
}

/// The settings of a backend, without its name and address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub cluster: ClusterId,
    /// `None`: the role is to be found out.
    pub role: Option<Role>,
    pub weight: u32,
    pub sessions_max: Option<u32>,
    pub zone: Option<String>,
    pub vicinity: Vicinity,
    pub tags: Vec<String>,
    /// `None`: no limit.
    pub lag_max: Option<Duration>,
    /// What happens to the backend, as a replica, while its lag is unknown.
    pub unknown_lag: UnknownLag,
    /// The backend is meant to take writes beside primaries from which it does not replicate.
    pub is_independent: bool,
    /// The lag at which a backend that exceeded `lag_max` gets sessions again.
    pub lag_return: Duration,
    pub duty: Duty,
    pub questions: Questions,
}

/// Whether a backend is asked about replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Questions {
    /// The backend is asked from time to time, with the monitor account.
    Asked,
    /// The backend is asked, but only whether it takes writes matters: it is alone in its cluster.
    OfWrites,
    /// The backend is not asked, because there is no monitor account.
    Spared,
}
