//! Whoever fails to log in is slowed down, the more often the longer, at a login as at COM_CHANGE_USER.

use auth::Origin;

use crate::surroundings::Settings;
use crate::worker::Worker;

/// Whoever failed often waits before he hears anything, right or wrong.
pub(crate) async fn hold_back(worker: &Worker, settings: &Settings, origin: &Origin, user: &[u8]) {
    if let (true, Some(address)) = (settings.config.accounts.delay_failures, origin.address()) {
        let now = worker.surroundings.now().0;
        let delay = worker.shared.throttle.delay(address, user, now);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }
}

/// Notes one more failure; its client waits for the answer.
pub(crate) async fn after_failure(
    worker: &Worker,
    settings: &Settings,
    origin: &Origin,
    user: &[u8],
) {
    if let (true, Some(address)) = (settings.config.accounts.delay_failures, origin.address()) {
        let now = worker.surroundings.now().0;
        let delay = worker.shared.throttle.failed(address, user, now);
        tokio::time::sleep(delay).await;
    }
}

/// What was held against the client is forgotten.
pub(crate) fn succeeded(worker: &Worker, origin: &Origin, user: &[u8]) {
    if let Some(address) = origin.address() {
        worker.shared.throttle.succeeded(address, user);
    }
}
