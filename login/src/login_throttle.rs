//! Repeated failed logins are delayed, at a login as at COM_CHANGE_USER. One login is never delayed for more than
//! half of its time limit, so that a right password is let in.

use std::time::Duration;

use auth::Origin;

use crate::login_env::LoginEnv;
use backend::settings::Settings;

/// The longest that one login is delayed.
pub fn longest(settings: &Settings) -> Duration {
    settings.config.limits.timeout_login / 2
}

/// A user that failed often waits before its login is examined, whether its password is right or wrong.
pub async fn hold_back(env: &LoginEnv, settings: &Settings, origin: &Origin, user: &[u8]) {
    if let (true, Some(address)) = (settings.config.accounts.delay_failures, origin.address()) {
        let now = env.pool.now().0;
        let delay = env.shared.throttle.delay(address, user, now);
        let delay = delay.min(longest(settings));
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
    }
}

/// Notes one more failure. Its client waits for what the failure adds to the delay.
pub async fn after_failure(env: &LoginEnv, settings: &Settings, origin: &Origin, user: &[u8]) {
    if let (true, Some(address)) = (settings.config.accounts.delay_failures, origin.address()) {
        let now = env.pool.now().0;
        let throttle = &env.shared.throttle;
        let waited = throttle.delay(address, user, now).min(longest(settings));
        let delay = throttle.failed(address, user, now).min(longest(settings));
        tokio::time::sleep(delay.saturating_sub(waited)).await;
    }
}

/// Notes a login that succeeded: the user's failures are forgotten.
pub fn succeeded(env: &LoginEnv, origin: &Origin, user: &[u8]) {
    if let Some(address) = origin.address() {
        env.shared
            .throttle
            .succeeded(address, user, env.pool.now().0);
    }
}
