//! A backend has closed a session's connection during a statement. If the server is still up, it has ended that one
//! thread (KILL), and the server's own client would get no error. If the server is down, the client is told which
//! server it was.

use std::time::Duration;

use net::proxy_protocol::Header;
use route::{Backend, Health};
use tokio::time::timeout;

use crate::relay_env::RelayEnv;
use backend::greet::{Refusal, greet};
use link::decline::decline;
use link::failure::{Failure, FailureKind};
use registry::session_control::{Ask, SessionControl};

/// How long the server may take to send a greeting.
const TIMEOUT_GREET: Duration = Duration::from_secs(2);

/// Whether a session that ends with `failure` ends because the server has ended its thread.
pub async fn has_thread_ended(env: &RelayEnv, control: &SessionControl, failure: &Failure) -> bool {
    if failure.kind != FailureKind::BackendLost || control.is_asked(Ask::BackendDown) {
        return false;
    }
    let backend = {
        let topology = env.pool.topology.borrow();
        control
            .backend()
            .and_then(|id| topology.backend(id).cloned())
    };
    match backend {
        Some(backend) if !matches!(backend.health, Health::Down { .. }) => {
            greets(env, &backend).await
        }
        Some(_) | None => false,
    }
}

async fn greets(env: &RelayEnv, backend: &Backend) -> bool {
    let config = env.pool.settings.borrow().config.clone();
    match timeout(TIMEOUT_GREET, greet(&config, &Header::Own, backend)).await {
        Ok(Ok((stream, ..))) => {
            decline(stream);
            true
        }
        // The server has too many connections, or refuses this host: so it is up.
        Ok(Err(Refusal::Full { .. } | Refusal::Err { .. })) => true,
        Ok(Err(Refusal::Unusable(_))) | Err(_) => false,
    }
}
