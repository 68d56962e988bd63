//! From a configured address to the endpoints to connect to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use config::BackendAddress;
use route::Endpoint;

use crate::failure::{Failure, words};

/// Turns names into addresses.
pub trait Resolver: Send + Sync + 'static {
    /// Returns the addresses of `host`, in the order to try them, or why there are none.
    fn resolve(&self, host: String, port: u16) -> Resolving;
}

/// The future answer of a resolver.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// The system's resolver: `/etc/hosts`, DNS, and other sources that the system is configured for.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: String, port: u16) -> Resolving {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// Whether a configured address must be resolved.
pub(crate) enum AddressKind {
    /// An IP address or a Unix socket: no look-up is needed.
    Known(Endpoint),
    /// A name.
    Named {
        /// The host to resolve.
        host: String,
        /// The port, for each of the host's addresses.
        port: u16,
    },
}

/// Tells addresses from names.
pub(crate) fn address_kind(address: BackendAddress) -> AddressKind {
    match address {
        BackendAddress::Unix(path) => AddressKind::Known(Endpoint::Unix(path)),
        BackendAddress::Tcp { host, port } => match host.parse::<IpAddr>() {
            Ok(ip) => AddressKind::Known(Endpoint::Tcp(SocketAddr::new(ip, port))),
            Err(_) => AddressKind::Named { host, port },
        },
    }
}

/// The endpoints of `address`, at least one. A name is resolved first.
pub(crate) async fn resolve_address(
    resolver: Arc<dyn Resolver>,
    address: BackendAddress,
    timeout: Duration,
) -> Result<Vec<Endpoint>, Failure> {
    let (host, port) = match address_kind(address) {
        AddressKind::Known(endpoint) => return Ok(vec![endpoint]),
        AddressKind::Named { host, port } => (host, port),
    };
    let asking = resolver.resolve(host.clone(), port);
    let reason = match tokio::time::timeout(timeout, asking).await {
        Ok(Ok(addresses)) if !addresses.is_empty() => return Ok(endpoints(addresses)),
        Ok(Ok(_)) => "it has no address".to_owned(),
        Ok(Err(error)) => words(&error),
        Err(_) => format!("no answer within {timeout:?}"),
    };
    Err(Failure::Unresolved { host, reason })
}

/// Each address once, in the resolver's order.
fn endpoints(addresses: Vec<SocketAddr>) -> Vec<Endpoint> {
    let mut endpoints = Vec::with_capacity(addresses.len());
    for endpoint in addresses.into_iter().map(Endpoint::Tcp) {
        if !endpoints.contains(&endpoint) {
            endpoints.push(endpoint);
        }
    }
    endpoints
}
