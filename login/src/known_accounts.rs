//! Looks up the user that a client claims to be.

use std::sync::Arc;

use auth::{Found, KnownAccount, Origin, Source, Verifier};

use crate::fresh_accounts::{AGE_MAX, AGE_MAX_REFUSED, accounts_of, learned_anew};
use crate::login_env::LoginEnv;

/// The result of looking a user up in the accounts.
pub enum AccountLookup {
    /// The account.
    Account(Arc<KnownAccount>),
    /// There is no account: the client is authenticated against these verifiers, which no password passes.
    Nobody(Arc<[Verifier]>),
    /// A backend may know the account.
    PassThrough,
}

impl AccountLookup {
    /// Returns the account of `user`, by the latest state that a server has reported.
    pub async fn find(env: &LoginEnv, user: &[u8], origin: &Origin) -> Self {
        let accounts = Arc::clone(&env.accounts.borrow());
        let age_max = match accounts.find(user, origin) {
            Found::Account(account) if account.source == Source::Configured => {
                return Self::Account(Arc::clone(account));
            }
            Found::Nobody => AGE_MAX_REFUSED,
            Found::Account(_) | Found::PassThrough => AGE_MAX,
        };
        let later = match accounts.learned() {
            Some(_) => accounts_of(env, user, age_max).await,
            None if age_max == AGE_MAX => Arc::clone(&accounts),
            None => learned_anew(env, user)
                .await
                .unwrap_or_else(|| Arc::clone(&accounts)),
        };
        Self::of(later.find(user, origin)).unwrap_or_else(|| Self::Nobody(later.decoy(user)))
    }

    fn of(found: Found<'_>) -> Option<Self> {
        match found {
            Found::Account(account) => Some(Self::Account(Arc::clone(account))),
            Found::PassThrough => Some(Self::PassThrough),
            Found::Nobody => None,
        }
    }
}
