//! Delays repeated failed logins, also at COM_CHANGE_USER. The delay of one login is at most half
//! of its time limit, so that a right password is let in.

use std::time::Duration;

use auth::Origin;

use crate::login_env::LoginEnv;
use backend::settings::Settings;

/// Returns the longest delay of one login.
pub fn longest(settings: &Settings) -> Duration {
    settings.config.limits.timeout_login / 2
}

/// If a user failed often, its login waits before the authentication, whether the password is right or wrong.
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

/// Records one more failure. The client waits for the time that this failure adds to the delay.
pub async fn after_failure(env: &LoginEnv, settings: &Settings, origin: &Origin, user: &[u8]) {
    if let (true, Some(address)) = (settings.config.accounts.delay_failures, origin.address()) {
        let now = env.pool.now().0;
        let throttle = &env.shared.throttle;
        let waited = throttle.delay(address, user, now).min(longest(settings));
        let delay = throttle.failed(address, user, now).min(longest(settings));
        tokio::time::sleep(delay.saturating_sub(waited)).await;
    }
}

/// Records a login that succeeded, and forgets the user's failures.
pub fn succeeded(env: &LoginEnv, origin: &Origin, user: &[u8]) {
    if let Some(address) = origin.address() {
        env.shared
            .throttle
            .succeeded(address, user, env.pool.now().0);
    }
}
