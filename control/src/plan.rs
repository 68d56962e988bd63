//! A configuration that is about to be applied. The addresses of its backends are resolved beforehand, so
//! that it can take effect at once and as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use config::{BackendAddress, Config};
use route::Endpoint;

use crate::failure::Failure;
use crate::resolve::{Resolver, resolve_address};

/// The endpoints of each address that was resolved, or why it could not be.
pub(crate) type ResolvedAddresses = HashMap<BackendAddress, Result<Vec<Endpoint>, Failure>>;

/// A configuration and the endpoints of its backends.
#[derive(Debug)]
pub(crate) struct Plan {
    pub config: Arc<Config>,
    /// An entry for each backend's address.
    pub resolved: ResolvedAddresses,
}

/// Resolves the names that are not in `resolved` already, all at once, within the connect time-out.
pub(crate) async fn prepare(
    config: Arc<Config>,
    mut resolved: ResolvedAddresses,
    resolver: Arc<dyn Resolver>,
) -> Plan {
    let asked: Vec<_> = config
        .backends
        .iter()
        .map(|backend| &backend.address)
        .filter(|address| !resolved.contains_key(address))
        .map(|address| {
            let asking = resolve_address(
                Arc::clone(&resolver),
                address.clone(),
                config.health.timeout_connect,
            );
            (address.clone(), tokio::spawn(asking))
        })
        .collect();
    for (address, asking) in asked {
        let found = asking
            .await
            .unwrap_or_else(|panic| Err(Failure::Io(format!("the look-up failed: {panic}"))));
        resolved.insert(address, found);
    }
    Plan { config, resolved }
}
