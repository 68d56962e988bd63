//! A backend's address, and the endpoints it resolves to.

use config::BackendAddress;
use route::{Endpoint, Moment};

/// The configured address of a backend, and the addresses that its name stands for.
#[derive(Debug)]
pub(crate) struct Location {
    pub(super) address: BackendAddress,
    /// Tells results for this address from results for an address before a reload.
    pub(super) epoch: u64,
    pub(super) endpoints: Vec<Endpoint>,
    /// Since when the endpoints are these.
    pub(super) placed: Moment,
    /// The log already says that the name cannot be resolved any more.
    pub(super) name_lost: bool,
}

impl Location {
    /// A backend whose name has not been looked up yet.
    pub(super) fn new(address: BackendAddress, epoch: u64, now: Moment) -> Self {
        Self {
            address,
            epoch,
            endpoints: Vec::new(),
            placed: now,
            name_lost: false,
        }
    }

    /// Whether the name is still to be resolved.
    pub(super) fn is_nowhere(&self) -> bool {
        self.endpoints.is_empty()
    }

    pub(super) fn host(&self) -> Option<String> {
        match &self.address {
            BackendAddress::Tcp { host, .. } => Some(host.clone()),
            BackendAddress::Unix(_) => None,
        }
    }

    pub(super) fn has_name(&self) -> bool {
        self.host()
            .is_some_and(|host| host.parse::<std::net::IpAddr>().is_err())
    }

    /// Whether these are the known endpoints, in any order.
    pub(super) fn is_at(&self, endpoints: &[Endpoint]) -> bool {
        endpoints.len() == self.endpoints.len()
            && endpoints
                .iter()
                .all(|endpoint| self.endpoints.contains(endpoint))
    }
}
