//! Where a backend is.

use config::BackendAddress;
use route::{Endpoint, Moment};

/// The configured address of a backend, and the addresses that its name stands for.
#[derive(Debug)]
pub(crate) struct Location {
    pub(super) address: BackendAddress,
    /// Tells findings about this address from those about the one it had before a reload.
    pub(super) epoch: u64,
    pub(super) endpoints: Vec<Endpoint>,
    /// Since when they are these.
    pub(super) placed: Moment,
    /// The log knows that the name is not to be resolved any more.
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

    /// Is its place still to be found out?
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

    /// Are these the addresses that are known, in whatever order?
    pub(super) fn is_at(&self, endpoints: &[Endpoint]) -> bool {
        endpoints.len() == self.endpoints.len()
            && endpoints
                .iter()
                .all(|endpoint| self.endpoints.contains(endpoint))
    }
}
