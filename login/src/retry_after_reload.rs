//! Retries a login that failed because of the known state of its account.
//!
//! If an account has changed since it refused a login, the login begins again, as long as the client has
//! been asked nothing. Later, the client's answers are checked against the account's current state.

use std::sync::Arc;

use auth::{Found, KnownAccount, Origin, Passed, Source, Treatment};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::examine::{AuthenticationFailure, examine};
use crate::fresh_accounts::{AGE_MAX_REFUSED, accounts_of};
use crate::known_accounts::AccountLookup;
use crate::login_env::LoginEnv;
use link::failure::Failure;
use link::packets::PacketStream;

/// Returns the account in its current state, if its requirements have changed and its client has
/// proven it. The caller asks for it when the earlier requirements were not met.
pub async fn conditions_anew(
    env: &LoginEnv,
    account: &Arc<KnownAccount>,
    user: &[u8],
    origin: &Origin,
) -> Option<Arc<KnownAccount>> {
    if account.source != Source::Learned {
        return None;
    }
    let accounts = accounts_of(env, user, AGE_MAX_REFUSED).await;
    let Found::Account(later) = accounts.find(user, origin) else {
        return None;
    };
    let now = env.pool.system.clock.unix_time();
    let is_proven = later.treatment(now) == account.treatment(now);
    (is_proven && later != account).then(|| Arc::clone(later))
}

/// The next step of a login whose authentication failed.
pub enum RetryOutcome {
    /// The login stays refused.
    Refused,
    /// The client's answers prove the account in its current state.
    Passed(Arc<KnownAccount>, Passed),
    /// The account has changed, and the client has been asked nothing yet: the login may begin
    /// again, at the proxy or at a backend.
    Anew(AccountLookup),
}

/// Checks a refused login again, because the client may have a newer password than the proxy knows.
/// Each refused login waits for the same time, so that the time says nothing about the account.
///
/// # Errors
/// The client has disconnected.
pub async fn retry_after_reload<T>(
    env: &LoginEnv,
    client: &mut PacketStream<T>,
    before: &KnownAccount,
    failed: AuthenticationFailure,
    user: &[u8],
    origin: &Origin,
) -> Result<RetryOutcome, Failure>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let accounts = accounts_of(env, user, AGE_MAX_REFUSED).await;
    let account = match accounts.find(user, origin) {
        Found::Account(account) => account,
        Found::PassThrough if !failed.was_asked => {
            return Ok(RetryOutcome::Anew(AccountLookup::PassThrough));
        }
        Found::PassThrough | Found::Nobody => return Ok(RetryOutcome::Refused),
    };
    let now = env.pool.system.clock.unix_time();
    let (was, is) = (before.treatment(now), account.treatment(now));
    if was == is {
        return Ok(RetryOutcome::Refused);
    }
    if !failed.was_asked {
        return Ok(RetryOutcome::Anew(AccountLookup::Account(Arc::clone(
            account,
        ))));
    }
    // Clients do not accept a second switch. A client that was asked is checked by its earlier answers, or refused.
    let (Some(shown), Treatment::Examine(verifiers)) = (failed.shown, is) else {
        return Ok(RetryOutcome::Refused);
    };
    let judged = examine(&env.shared.own_key, client, shown.judge(&verifiers)).await?;
    Ok(match judged {
        Ok(passed) => RetryOutcome::Passed(Arc::clone(account), passed),
        Err(_) => RetryOutcome::Refused,
    })
}
