//! The replication state that workers were told last.

use route::{Role, Server, Writes};

/// The part of a backend's replication state that workers see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplicationView {
    pub(super) role: Option<Role>,
    pub(super) server: Option<Server>,
    pub(super) writes: Writes,
    pub(super) is_left_out: bool,
    pub(super) is_monitored: bool,
    pub(super) complaint: Option<String>,
}
