//! How old what is known of an account may be at a login, and what becomes of a login that failed by it.
//!
//! | what is known was asked for | a login |
//! |---|---|
//! | less than 1 s ago | goes by it |
//! | less than 2 s ago | goes by it, and has the account asked for again; if it is refused, it waits for the answer |
//! | earlier | waits for the answer, for 1 s at most |
//!
//! If an account has changed since a login was refused by it, the login begins anew as long as the client has been
//! asked nothing. Later, what the client has shown is judged by what the account is now.

use std::sync::Arc;
use std::time::Duration;

use auth::{Accounts, Found, KnownAccount, Origin, Passed, Source, Treatment};
use route::Report;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::examine::{AuthenticationFailure, examine, since_1970};
use super::known_accounts::AccountLookup;
use crate::worker::Worker;
use link::failure::Failure;
use link::packets::PacketStream;

/// How long a login waits for accounts to be learned again.
const TIMEOUT_LEARN: Duration = Duration::from_secs(5);

/// How old what is known of an account may be when its client logs in.
pub(crate) const AGE_MAX: Duration = Duration::from_secs(2);

/// The same where its client is refused: each account is asked for once in this time.
pub(crate) const AGE_MAX_REFUSED: Duration = Duration::from_secs(1);

/// How long a login waits for an answer about its account. Without one, what is known holds.
const TIMEOUT_CHECK: Duration = Duration::from_secs(1);

/// The accounts, in which what is known of `user` is younger than `age_max` if a backend answers in time.
pub(crate) async fn accounts_of(worker: &Worker, user: &[u8], age_max: Duration) -> Arc<Accounts> {
    let plane_context = &worker.plane_context;
    let mut accounts = plane_context.accounts.clone();
    let known = Arc::clone(&accounts.borrow_and_update());
    if known.learned().is_none() {
        return known;
    }
    let now = plane_context.now().0;
    let age = |accounts: &Accounts| {
        let since = accounts.known_since(user).unwrap_or_default();
        now.saturating_sub(since)
    };
    if age(&known) < AGE_MAX_REFUSED {
        return known;
    }
    plane_context.report(Report::CheckAccount {
        user: String::from_utf8_lossy(user).into_owned(),
    });
    if age(&known) < age_max {
        return known;
    }
    let again = async {
        loop {
            accounts.changed().await.ok()?;
            let later = Arc::clone(&accounts.borrow_and_update());
            if age(&later) < age_max {
                return Some(later);
            }
        }
    };
    let answered = timeout(TIMEOUT_CHECK, again).await;
    answered.ok().flatten().unwrap_or(known)
}

/// The account as it is now, if its conditions have changed and its client has proven it. To be asked for when its
/// conditions were not met.
pub(crate) async fn conditions_anew(
    worker: &Worker,
    account: &Arc<KnownAccount>,
    user: &[u8],
    origin: &Origin,
) -> Option<Arc<KnownAccount>> {
    if account.source != Source::Learned {
        return None;
    }
    let accounts = accounts_of(worker, user, AGE_MAX_REFUSED).await;
    let Found::Account(later) = accounts.find(user, origin) else {
        return None;
    };
    let now = since_1970();
    let is_proven = later.treatment(now) == account.treatment(now);
    (is_proven && later != account).then(|| Arc::clone(later))
}

/// The accounts as they are from now on, if they are learned and come in time; `user` is whom the
/// accounts of the moment do not know, or not so.
pub(crate) async fn learned_anew(worker: &Worker, user: &[u8]) -> Option<Arc<Accounts>> {
    let plane_context = &worker.plane_context;
    let mut accounts = plane_context.accounts.clone();
    if !accounts.borrow_and_update().learns() {
        return None;
    }
    let now = plane_context.now().0;
    plane_context.report(Report::UnknownAccount {
        user: String::from_utf8_lossy(user).into_owned(),
    });
    let again = async {
        loop {
            accounts.changed().await.ok()?;
            let later = Arc::clone(&accounts.borrow_and_update());
            if later.asked_at().is_some_and(|asked_at| asked_at >= now) {
                return Some(later);
            }
        }
    };
    timeout(TIMEOUT_LEARN, again).await.ok().flatten()
}

/// What becomes of a login whose authentication failed.
pub(crate) enum RetryOutcome {
    /// It stays refused.
    Refused,
    /// What the client has shown proves the account as it is now.
    Passed(Arc<KnownAccount>, Passed),
    /// The account has changed, and the client has been asked nothing yet: its login may begin anew, by an
    /// exam or at a backend.
    Anew(AccountLookup),
}

/// A refused client may have a newer password than the proxy knows. Each refused login waits for the same time, so
/// that the time says nothing about the account.
///
/// # Errors
/// A client that is not there any more.
pub(crate) async fn appeal<T>(
    worker: &Worker,
    client: &mut PacketStream<T>,
    before: &KnownAccount,
    failed: AuthenticationFailure,
    user: &[u8],
    origin: &Origin,
) -> Result<RetryOutcome, Failure>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let accounts = accounts_of(worker, user, AGE_MAX_REFUSED).await;
    let account = match accounts.find(user, origin) {
        Found::Account(account) => account,
        Found::PassThrough if !failed.was_asked => {
            return Ok(RetryOutcome::Anew(AccountLookup::PassThrough));
        }
        Found::PassThrough | Found::Nobody => return Ok(RetryOutcome::Refused),
    };
    let now = since_1970();
    let (was, is) = (before.treatment(now), account.treatment(now));
    if was == is {
        return Ok(RetryOutcome::Refused);
    }
    if !failed.was_asked {
        return Ok(RetryOutcome::Anew(AccountLookup::Account(Arc::clone(
            account,
        ))));
    }
    // Clients take no second switch: who was asked is judged by what it has shown, or refused.
    let (Some(shown), Treatment::Examine(verifiers)) = (failed.shown, is) else {
        return Ok(RetryOutcome::Refused);
    };
    let judged = examine(&worker.shared, client, shown.judge(&verifiers)).await?;
    Ok(match judged {
        Ok(passed) => RetryOutcome::Passed(Arc::clone(account), passed),
        Err(_) => RetryOutcome::Refused,
    })
}
