//! A login that failed by accounts that may be out of date: they are learned anew. If the account has
//! changed, the login begins anew as long as the client has been asked nothing; later, what the client has
//! shown is judged by what the account is now.

use std::sync::Arc;
use std::time::Duration;

use auth::{Accounts, Found, KnownAccount, Origin, Passed, Treatment};
use route::Report;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::enter::{Failed, examine, since_1970};
use super::known::Known;
use crate::worker::Worker;
use link::failure::Failure;
use link::packets::PacketStream;

/// How long a login waits for accounts to be learned again.
const TIMEOUT_LEARN: Duration = Duration::from_secs(5);

/// The accounts as they are from now on, if they are learned and come in time; `user` is whom the
/// accounts of the moment do not know, or not so.
pub(crate) async fn learned_anew(worker: &Worker, user: &[u8]) -> Option<Arc<Accounts>> {
    let surroundings = &worker.surroundings;
    let mut accounts = surroundings.accounts.clone();
    if !accounts.borrow_and_update().learns() {
        return None;
    }
    let now = surroundings.now().0;
    surroundings.report(Report::UnknownAccount {
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

/// What becomes of a login whose exam failed.
pub(crate) enum Appeal {
    /// It stays refused.
    Refused,
    /// What the client has shown proves the account as it is now.
    Passed(Arc<KnownAccount>, Passed),
    /// The account has changed, and the client has been asked nothing yet: its login may begin anew, by an
    /// exam or at a backend.
    Anew(Known),
}

/// A client that failed may know its password better than we do. All who fail wait as long, whatever they
/// have shown.
///
/// # Errors
/// A client that is not there any more.
pub(crate) async fn appeal<T>(
    worker: &Worker,
    client: &mut PacketStream<T>,
    before: &KnownAccount,
    failed: Failed,
    user: &[u8],
    origin: &Origin,
) -> Result<Appeal, Failure>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let Some(accounts) = learned_anew(worker, user).await else {
        return Ok(Appeal::Refused);
    };
    let account = match accounts.find(user, origin) {
        Found::Account(account) => account,
        Found::PassThrough if !failed.was_asked => return Ok(Appeal::Anew(Known::PassThrough)),
        Found::PassThrough | Found::Nobody => return Ok(Appeal::Refused),
    };
    let now = since_1970();
    let (was, is) = (before.treatment(now), account.treatment(now));
    if was == is {
        return Ok(Appeal::Refused);
    }
    if !failed.was_asked {
        return Ok(Appeal::Anew(Known::Account(Arc::clone(account))));
    }
    // Clients take no second switch: who was asked is judged by what it has shown, or refused.
    let (Some(shown), Treatment::Examine(verifiers)) = (failed.shown, is) else {
        return Ok(Appeal::Refused);
    };
    let judged = examine(&worker.shared, client, shown.judge(&verifiers)).await?;
    Ok(match judged {
        Ok(passed) => Appeal::Passed(Arc::clone(account), passed),
        Err(_) => Appeal::Refused,
    })
}
