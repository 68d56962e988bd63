//! How old the known state of an account may be at a login, and how a login waits for a newer state.
//!
//! | what is known was asked for | a login |
//! |---|---|
//! | less than 1 s ago | goes by it |
//! | less than 2 s ago | goes by it, and has the account asked for again; if it is refused, it waits for the answer |
//! | earlier | waits for the answer, for 1 s at most |

use std::sync::Arc;
use std::time::Duration;

use auth::Accounts;
use route::Report;
use tokio::time::timeout;

use crate::login_env::LoginEnv;

/// How long a login waits for accounts to be learned again.
const TIMEOUT_LEARN: Duration = Duration::from_secs(5);

/// How old the known state of an account may be when its client logs in.
pub const AGE_MAX: Duration = Duration::from_secs(2);

/// How old the known state may be if the client is refused: each account is asked for once in this time.
pub const AGE_MAX_REFUSED: Duration = Duration::from_secs(1);

/// How long a login waits for the state of its account. Without an answer, the known state is used.
const TIMEOUT_CHECK: Duration = Duration::from_secs(1);

/// Returns the accounts. The state of `user` is younger than `age_max`, if a backend answers in time.
pub async fn accounts_of(env: &LoginEnv, user: &[u8], age_max: Duration) -> Arc<Accounts> {
    let mut accounts = env.accounts.clone();
    let known = Arc::clone(&accounts.borrow_and_update());
    if known.learned().is_none() {
        return known;
    }
    let now = env.pool.now().0;
    let age = |accounts: &Accounts| {
        let since = accounts.known_since(user).unwrap_or_default();
        now.saturating_sub(since)
    };
    if age(&known) < AGE_MAX_REFUSED {
        return known;
    }
    env.pool.report(Report::CheckAccount {
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

/// Returns the new accounts, if the proxy learns accounts and they come in time. `user`: the user
/// that the current accounts do not know, or know otherwise.
pub async fn learned_anew(env: &LoginEnv, user: &[u8]) -> Option<Arc<Accounts>> {
    let mut accounts = env.accounts.clone();
    if !accounts.borrow_and_update().learns() {
        return None;
    }
    let now = env.pool.now().0;
    env.pool.report(Report::UnknownAccount {
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
