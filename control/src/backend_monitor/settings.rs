//! What is configured of a backend, and how often it is looked at.

use std::time::Duration;

use route::{ClusterId, Duty, Role, UnknownLag, Vicinity};

/// How often what is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rhythm {
    pub probe_interval: Duration,
    pub probe_interval_max: Duration,
    /// `None`: backends that are up are not looked at.
    pub monitor_interval: Option<Duration>,
    /// `None`: nobody is asked about replication.
    pub replication_interval: Option<Duration>,
    /// `None`: names are looked up once.
    pub resolve_interval: Option<Duration>,
}

/// What is configured of a backend besides its name and its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    pub cluster: ClusterId,
    /// `None`: to be found out.
    pub role: Option<Role>,
    pub weight: u32,
    pub sessions_max: Option<u32>,
    pub zone: Option<String>,
    pub vicinity: Vicinity,
    pub tags: Vec<String>,
    /// `None`: no limit.
    pub lag_max: Option<Duration>,
    /// What becomes of it, as a replica, while nobody knows its lag.
    pub unknown_lag: UnknownLag,
    /// It is meant to take writes beside primaries from which it does not replicate.
    pub is_independent: bool,
    /// With which lag it comes back that has exceeded it.
    pub lag_return: Duration,
    pub duty: Duty,
    pub questions: Questions,
}

/// Whether a backend is asked about replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Questions {
    /// From time to time, with the monitor account.
    Asked,
    /// The same, but only whether it takes writes matters: it is alone in its cluster.
    OfWrites,
    /// There is no monitor account.
    Spared,
}
