//! The facts about addresses, greetings and backends for scripts.

use std::sync::Arc;

use net::Endpoint;
use route::{Backend, Duty, Health, Role, Topology};
use script::facts::{
    BACKEND_STATE_DOWN, BACKEND_STATE_UNKNOWN, BACKEND_STATE_UP, BACKEND_TYPE_RO, BACKEND_TYPE_RW,
    BACKEND_TYPE_UNKNOWN,
};
use script::{AddressFacts, BackendFacts, SocketFacts};
use wire::Greeting;

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// Returns the facts about an address for scripts.
pub fn address_facts(endpoint: &Endpoint) -> AddressFacts {
    match endpoint {
        Endpoint::Tcp(address) => AddressFacts {
            name: address.to_string(),
            address: address.ip().to_string(),
            port: Some(address.port()),
            family: match address.is_ipv4() {
                true => AF_INET,
                false => AF_INET6,
            },
        },
        Endpoint::Unix(path) => AddressFacts {
            name: path.display().to_string(),
            address: path.display().to_string(),
            port: None,
            family: AF_UNIX,
        },
    }
}

/// Returns what scripts are told of a backend, with the first address that it has.
fn backend_facts(backend: &Backend, connections_max: u32) -> BackendFacts {
    BackendFacts {
        name: backend.name.clone(),
        address: backend_address(backend),
        state: match backend.health {
            _ if backend.duty == Duty::Disabled => BACKEND_STATE_DOWN,
            Health::Up { .. } => BACKEND_STATE_UP,
            Health::Down { .. } => BACKEND_STATE_DOWN,
            Health::Unknown => BACKEND_STATE_UNKNOWN,
        },
        role: match backend.role {
            Some(Role::Primary) => BACKEND_TYPE_RW,
            Some(Role::Replica) => BACKEND_TYPE_RO,
            None => BACKEND_TYPE_UNKNOWN,
        },
        connections_max,
        sessions: Some(backend.load.sessions()),
    }
}

/// Returns the backends that scripts see, and what scripts are told of them.
pub fn facts_of(
    topology: &Topology,
    connections_max: u32,
) -> (Vec<Arc<Backend>>, Vec<BackendFacts>) {
    let cluster = topology.default_cluster();
    let all = topology.backends.iter();
    let backends: Vec<_> = all
        .filter(|backend| backend.cluster == cluster)
        .cloned()
        .collect();
    let facts = backends
        .iter()
        .map(|it| backend_facts(it, connections_max))
        .collect();
    (backends, facts)
}

/// Returns the facts about a backend's first known address for scripts.
pub fn backend_address(backend: &Backend) -> AddressFacts {
    match backend.location.endpoints.first() {
        Some(route::Endpoint::Tcp(address)) => address_facts(&Endpoint::Tcp(*address)),
        Some(route::Endpoint::Unix(path)) => address_facts(&Endpoint::Unix(path.clone())),
        // The host's name is not resolved yet.
        None => AddressFacts {
            name: backend.name.clone(),
            address: backend.location.host.clone().unwrap_or_default(),
            port: None,
            family: AF_INET,
        },
    }
}

/// Adds what a greeting says to the facts of a side.
pub fn note_greeting(facts: &mut SocketFacts, greeting: &Greeting) {
    facts.version = Some(version_number(&greeting.version));
    facts.thread_id = Some(greeting.thread_id);
    facts.scramble = Some(greeting.scramble_as_sent());
    if facts.plugin.is_none() {
        facts.plugin = Some(greeting.plugin.clone());
    }
}

/// Returns 50145 for `5.1.45-log`. MariaDB's prefix counts as its version, as it always has.
fn version_number(version: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(version);
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).take(3);
    let mut next = || -> u32 {
        let part = parts.next().and_then(|part| part.parse().ok());
        part.unwrap_or_default()
    };
    let (major, minor, patch) = (next(), next(), next());
    major
        .saturating_mul(10_000)
        .saturating_add(minor.saturating_mul(100))
        .saturating_add(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(version_number(b"5.1.45-log"), 50_145);
        assert_eq!(version_number(b"9.7.4-2"), 90_704);
        assert_eq!(version_number(b"5.5.5-10.11.19-MariaDB"), 50_505);
        assert_eq!(version_number(b"who knows"), 0);
    }
}
