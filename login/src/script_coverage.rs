//! A client may not become an account with a script if that script would see nothing: in a session
//! whose login has passed through the proxy, and which runs other scripts or none.

use std::path::PathBuf;

use auth::Found;
use net::Endpoint;
use wire::errors;

use crate::examine::origin_of;
use crate::login_env::LoginEnv;
use link::failure::{Failure, FailureKind};

/// Checks whether `user` may continue in a session that runs these scripts.
///
/// # Errors
/// The user's account has other scripts; the error for the client.
pub fn stay_covered(
    env: &LoginEnv,
    user: &[u8],
    remote: &Endpoint,
    running: &[PathBuf],
) -> Result<(), Failure> {
    let accounts = env.accounts.borrow();
    let Found::Account(account) = accounts.find(user, &origin_of(remote)) else {
        return Ok(());
    };
    match account.script.as_deref() {
        Some(files) if !files.is_empty() && files != running => Err(script_uncovered()),
        Some(_) | None => Ok(()),
    }
}

/// Checks whether a session may continue after the proxy can no longer recognise its commands.
///
/// # Errors
/// A command could be a change of user to an account with a script.
pub fn unfollowed(env: &LoginEnv) -> Result<(), Failure> {
    if !env.pool.settings.borrow().config.accounts_run_scripts() {
        return Ok(());
    }
    let error = errors::script_cannot_follow();
    Err(Failure::saying(FailureKind::ScriptRefused, error))
}

/// The failure of an account with scripts whose login only a backend can check: after that login the scripts would see
/// nothing.
pub fn script_uncovered() -> Failure {
    Failure::saying(FailureKind::ScriptFailed, errors::script_cannot_see_login())
}
