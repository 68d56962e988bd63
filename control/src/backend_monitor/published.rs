//! What workers have been told of a backend's replication.

use route::{Role, Server, Writes};

/// What workers see of what is found out by asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplicationView {
    pub(super) role: Option<Role>,
    pub(super) server: Option<Server>,
    pub(super) writes: Writes,
    pub(super) is_left_out: bool,
    pub(super) is_monitored: bool,
    pub(super) complaint: Option<String>,
}
