//! Whether there is room for one more session, and whether the proxy answers its login.

use std::time::Duration;

use config::{ListenerConfig, OverLimit, SessionMode};
use tokio::time::timeout;
use wire::errors;

use crate::worker::Worker;
use backend::settings::Settings;
use link::failure::{Failure, FailureKind};
use login::login_env::SessionPermit;

/// Whether the proxy itself answers the logins of a listener's clients.
pub(super) fn answers_logins(worker: &Worker, listener: &ListenerConfig) -> bool {
    let answers = worker.plane_context.accounts.borrow().answers_logins();
    answers && listener.mode() != Some(SessionMode::Transparent)
}

/// Waits for a place among all sessions, as configured.
pub(super) async fn enter(worker: &Worker, settings: &Settings) -> Result<SessionPermit, Failure> {
    let limits = &settings.config.limits;
    let patience = match limits.over_limit {
        OverLimit::Refuse => Duration::ZERO,
        OverLimit::Wait => limits.timeout_over_limit,
    };
    if let Some(place) = worker.relay.login.shared.enter(limits.sessions_max) {
        return Ok(place);
    }
    if !patience.is_zero() {
        tracing::debug!(
            kind = "client_waits",
            limit = "limits.sessions_max",
            "a client waits for a place"
        );
    }
    let entered = timeout(patience, async {
        loop {
            match worker.relay.login.shared.enter(limits.sessions_max) {
                Some(place) => return place,
                None => worker.relay.login.shared.left.notified().await,
            }
        }
    });
    let full = || errors::too_many_sessions(limits.sessions_max);
    let entered = entered.await;
    entered.map_err(|_| Failure::saying(FailureKind::SessionsMax, full()))
}
