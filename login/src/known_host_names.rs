//! What a worker knows of its servers' way to call a client's host.

use std::cell::Cell;
use std::time::Duration;

use auth::{Accounts, Names};
use net::clock;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

/// For how long an answer holds. A server changes this setting when it starts again.
const AGE_MAX: Duration = Duration::from_secs(600);

/// What one worker knows of it.
#[derive(Default)]
pub struct HostNames {
    known: Cell<Option<(Names, Instant)>>,
    /// Held by the login that has a backend asked; the others wait for the answer.
    asker: Mutex<()>,
}

impl HostNames {
    /// What is known already; otherwise what the learned accounts say.
    pub fn names(&self, accounts: &Accounts) -> Names {
        let asked = self.known.get().map(|(names, _)| names);
        asked.unwrap_or_else(|| configured(accounts))
    }

    /// Waits until no other login has a backend asked.
    pub async fn ask(&self) -> MutexGuard<'_, ()> {
        self.asker.lock().await
    }

    /// A backend's answer, if it still holds.
    pub fn answer(&self) -> Option<Names> {
        let (names, at) = self.known.get()?;
        (at.elapsed() < AGE_MAX).then_some(names)
    }

    /// A backend has answered, or what the accounts say takes its answer's place.
    pub fn note(&self, names: Names) {
        self.known.set(Some((names, clock::now())));
    }
}

/// What the learned accounts came with.
pub fn configured(accounts: &Accounts) -> Names {
    let learned = accounts.learned();
    learned.map_or(Names::Skipped, |learned| learned.rules().names)
}
