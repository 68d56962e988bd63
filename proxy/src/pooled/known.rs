//! What the accounts say of the user that a client claims to be.

use std::sync::Arc;

use auth::{Found, KnownAccount, Origin, Verifier};

use super::appeal::learned_anew;
use crate::worker::Worker;

/// What the accounts say of a user.
pub(crate) enum Known {
    Account(Arc<KnownAccount>),
    /// No account: the client is examined by these, which nobody passes.
    Nobody(Arc<[Verifier]>),
    /// A backend may know the account.
    PassThrough,
}

impl Known {
    /// The account of `user`. A user without an account is looked for again once the accounts have been
    /// learned anew.
    pub(crate) async fn find(worker: &Worker, user: &[u8], origin: &Origin) -> Self {
        let accounts = Arc::clone(&worker.surroundings.accounts.borrow());
        if let Some(known) = Self::of(accounts.find(user, origin)) {
            return known;
        }
        let later = learned_anew(worker, user).await;
        let found = later.and_then(|later| Self::of(later.find(user, origin)));
        found.unwrap_or_else(|| Self::Nobody(accounts.decoy(user)))
    }

    fn of(found: Found<'_>) -> Option<Self> {
        match found {
            Found::Account(account) => Some(Self::Account(Arc::clone(account))),
            Found::PassThrough => Some(Self::PassThrough),
            Found::Nobody => None,
        }
    }
}
