//! Builds the backends that a worker knows, and the topology of these backends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use route::{
    Backend, BackendId, BackendLocation, Cluster, ClusterId, Duty, Endpoint, Health, LagLimit,
    Load, Moment, Monitored, Policy, ReadPolicy, Role, Roles, Standing, Topology, UnknownLag,
    Vicinity, Writes,
};

/// Returns the address of a backend.
pub fn address(id: u32) -> SocketAddr {
    let [.., last] = id.to_be_bytes();
    SocketAddr::from(([10, 0, 0, last], 3306))
}

/// Returns a primary that is up. Its name is `db` and its number.
pub fn backend(id: u32) -> Backend {
    Backend {
        id: BackendId(id),
        name: format!("db{id}"),
        location: BackendLocation {
            host: Some(format!("db{id}")),
            endpoints: vec![Endpoint::Tcp(address(id))],
            zone: None,
            vicinity: Vicinity::Far,
        },
        cluster: ClusterId(0),
        role: Some(Role::Primary),
        tags: Vec::new(),
        weight: 1,
        sessions_max: None,
        duty: Duty::Serving,
        lag_limit: LagLimit {
            max: None,
            unknown: UnknownLag::Use,
        },
        health: Health::Up {
            since: Moment::START,
        },
        returned: None,
        monitored: Monitored {
            server: None,
            writes: Writes::Unknown,
            has_answered: false,
            complaint: None,
        },
        standing: Arc::new(Standing::default()),
        load: Arc::new(Load::default()),
    }
}

/// Returns the topology of one cluster. Sessions go to the backends in the order of this list.
pub fn topology(backends: Vec<Backend>) -> Topology {
    Topology {
        generation: 1,
        default_cluster: None,
        backends: backends.into_iter().map(Arc::new).collect(),
        clusters: vec![Cluster {
            id: ClusterId(0),
            name: "main".to_owned(),
            written: Arc::default(),
        }],
        policy: Policy::Ordered,
        reads: ReadPolicy::default(),
        roles: Roles::Any,
        slow_start: Duration::ZERO,
    }
}
