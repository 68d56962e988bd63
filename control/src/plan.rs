//! A configuration about to be applied, with the addresses of its backends found out beforehand, so
//! that it can take effect at once and as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use config::{BackendAddress, Config};
use route::Endpoint;

use crate::failure::Failure;
use crate::resolve::{Resolver, resolve_address};

/// What is known of an address's place.
pub(crate) type ResolvedAddresses = HashMap<BackendAddress, Result<Vec<Endpoint>, Failure>>;

/// A configuration and where its backends are.
#[derive(Debug)]
pub(crate) struct Plan {
    pub config: Arc<Config>,
    /// For each backend's address.
    pub resolved: ResolvedAddresses,
}

/// Looks up what is not in `resolved` already, all names at once, within the connect time-out.
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
