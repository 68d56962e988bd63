//! How servers name a client's host, as far as a worker knows.

use std::cell::Cell;
use std::time::Duration;

use auth::{Accounts, Names};
use net::clock;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

/// For how long an answer holds. A server changes this setting only at a restart.
const AGE_MAX: Duration = Duration::from_secs(600);

/// The answer that one worker knows.
#[derive(Default)]
pub struct HostNames {
    known: Cell<Option<(Names, Instant)>>,
    /// Held by the login that asks a backend; other logins wait for the answer.
    asker: Mutex<()>,
}

impl HostNames {
    /// Returns the known answer, or else the setting that came with the learned accounts.
    pub fn names(&self, accounts: &Accounts) -> Names {
        let asked = self.known.get().map(|(names, _)| names);
        asked.unwrap_or_else(|| configured(accounts))
    }

    /// Waits until no other login is asking a backend.
    pub async fn ask(&self) -> MutexGuard<'_, ()> {
        self.asker.lock().await
    }

    /// Returns a backend's answer, if it still holds.
    pub fn answer(&self) -> Option<Names> {
        let (names, at) = self.known.get()?;
        (at.elapsed() < AGE_MAX).then_some(names)
    }

    /// Stores a backend's answer, or the setting from the accounts that replaces it.
    pub fn note(&self, names: Names) {
        self.known.set(Some((names, clock::now())));
    }
}

/// Returns the setting that came with the learned accounts.
pub fn configured(accounts: &Accounts) -> Names {
    let learned = accounts.learned();
    learned.map_or(Names::Skipped, |learned| learned.rules().names)
}
