//! A login that failed by accounts that may be out of date: they are learned anew, and where the
//! account has changed, what the client has shown is judged by what it is now.

use std::sync::Arc;
use std::time::Duration;

use auth::{Accounts, Found, KnownAccount, Origin, Passed, Shown, Treatment};
use route::Report;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::enter::{examine, since_1970};
use crate::failure::Failure;
use crate::packets::PacketStream;
use crate::worker::Worker;

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

/// A client that failed may know its password better than we do. `None`: it does not. All who fail
/// wait as long, whatever they have shown.
///
/// # Errors
/// A client that is not there any more.
pub(crate) async fn appeal<T>(
    worker: &Worker,
    client: &mut PacketStream<T>,
    before: &KnownAccount,
    shown: Option<Shown>,
    user: &[u8],
    origin: &Origin,
) -> Result<Option<(Arc<KnownAccount>, Passed)>, Failure>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let accounts = learned_anew(worker, user).await;
    let (Some(shown), Some(accounts)) = (shown, accounts) else {
        return Ok(None);
    };
    let Found::Account(account) = accounts.find(user, origin) else {
        return Ok(None);
    };
    let now = since_1970();
    let verifiers = match (before.treatment(now), account.treatment(now)) {
        (Treatment::Examine(was), Treatment::Examine(is)) if was != is => is,
        _ => return Ok(None),
    };
    let judged = examine(&worker.shared, client, shown.judge(&verifiers)).await?;
    Ok(judged.ok().map(|passed| (Arc::clone(account), passed)))
}
