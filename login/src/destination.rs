//! The cluster and the roles among which a session's own backend is chosen.

use auth::Account;
use config::{Config, ListenerConfig, ReplicaUse};
use route::{ClusterId, Roles, Topology};

/// A cluster, and the roles that a backend may have there.
#[derive(Clone, Copy, Debug)]
pub struct Destination {
    /// The cluster.
    pub cluster: ClusterId,
    /// The roles that the backend may have there.
    pub roles: Roles,
}

impl Destination {
    /// Returns the destination. The account's setting overrides the listener's, and that overrides the global one.
    pub fn of(
        topology: &Topology,
        config: &Config,
        listener: &ListenerConfig,
        account: Option<&Account>,
    ) -> Self {
        let own = account.and_then(|account| account.routing.cluster.as_ref());
        let cluster = own
            .or(listener.routing.cluster.as_ref())
            .and_then(|name| topology.cluster(name))
            .map_or_else(|| topology.default_cluster(), |cluster| cluster.id);
        let replicas = account.and_then(|account| account.routing.replicas);
        let replicas = replicas.or(listener.routing.replicas);
        Self {
            cluster,
            roles: roles_of(replicas.unwrap_or(config.routing.replicas)),
        }
    }
}

/// The roles that a session's own backend may have.
#[inline]
pub fn roles_of(replicas: ReplicaUse) -> Roles {
    match replicas {
        ReplicaUse::Split | ReplicaUse::Primary => Roles::Primary,
        ReplicaUse::Any => Roles::Any,
        ReplicaUse::Replica => Roles::Replica,
    }
}
