//! The identity of an account, as a key: pools, counts and held passwords are kept by it.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use crate::Account;

/// Where the proxy knows an account from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The proxy's configuration.
    Configured,
    /// A server's grant table.
    Learned,
}

/// An account's identity, equal from snapshot to snapshot as long as neither the account's name nor
/// anything its backend login depends on (hashes, passwords) changes. Cheap to clone, compare and hash.
#[derive(Clone)]
pub struct AccountId(Arc<Identity>);

struct Identity {
    user: String,
    host: String,
    source: Source,
    /// The digest of all fields above and the account's secrets, keyed by the directory's secret.
    digest: [u8; 32],
}

impl AccountId {
    /// The identity of an account among those whose directory holds `secret`.
    pub(crate) fn of(account: &Account, secret: &[u8; 32]) -> Self {
        Self(Arc::new(Identity {
            user: account.user.clone(),
            host: account.host.as_str().to_owned(),
            source: account.source,
            digest: account.fingerprint(secret),
        }))
    }

    /// The account's user; empty: an anonymous account.
    pub fn user(&self) -> &str {
        &self.0.user
    }

    /// The account's host, as it was written.
    pub fn host(&self) -> &str {
        &self.0.host
    }

    /// Where the proxy knows the account from.
    pub fn source(&self) -> Source {
        self.0.source
    }
}

impl PartialEq for AccountId {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.digest == other.0.digest
    }
}

impl Eq for AccountId {}

/// Sorts by name, so that the order is the same in each process: the digests' keys are random.
impl Ord for AccountId {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |id: &Self| (id.0.source, id.0.digest);
        let names = (self.user(), self.host()).cmp(&(other.user(), other.host()));
        names.then_with(|| key(self).cmp(&key(other)))
    }
}

impl PartialOrd for AccountId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for AccountId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.digest.hash(state);
    }
}

impl fmt::Display for AccountId {
    /// The account as servers write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'@'{}'", self.0.user, self.0.host)
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:?})", self.0.source)
    }
}

/// An account of a [`crate::Directory`], with its identity. Reads as the [`Account`] itself.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownAccount {
    id: AccountId,
    account: Account,
}

impl KnownAccount {
    pub(crate) fn new(account: Account, secret: &[u8; 32]) -> Self {
        Self {
            id: AccountId::of(&account, secret),
            account,
        }
    }

    /// Which account it is.
    pub fn id(&self) -> &AccountId {
        &self.id
    }
}

impl Deref for KnownAccount {
    type Target = Account;

    fn deref(&self) -> &Account {
        &self.account
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BackendLogin, Conditions, Dialect, HostPattern, Password, Verifier};

    const SECRET: [u8; 32] = [7; 32];

    fn account(user: &str, host: &str, password: &str) -> Account {
        let verifier = Verifier::Password(Password::new(password));
        Account::new(user, HostPattern::new(host, Dialect::MySql), vec![verifier])
    }

    fn id(account: &Account) -> AccountId {
        AccountId::of(account, &SECRET)
    }

    #[test]
    fn every_credential_of_an_account_changes_its_identity() {
        let app = account("app", "%", "secret");
        let with_backend = |user: &str, password: &str| Account {
            backend: Some(BackendLogin {
                user: user.to_owned(),
                password: Password::new(password),
            }),
            ..app.clone()
        };
        let learned = Account {
            source: Source::Learned,
            ..app.clone()
        };
        let all = [
            app.clone(),
            learned,
            account("ap", "p%", "secret"),
            account("app", "%", "other"),
            account("app", "10.%", "secret"),
            with_backend("pool", "secret"),
            with_backend("pool", "other"),
            with_backend("pools", "ecret"),
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_ne!(id(one), id(other));
            }
        }
    }

    #[test]
    fn limits_and_locks_of_an_account_do_not_change_its_identity() {
        let app = account("app", "%", "secret");
        let limited = Account {
            schema: Some("shop".to_owned()),
            conditions: Conditions {
                user_connections_max: Some(3),
                locked: true,
                ..Conditions::default()
            },
            ..app.clone()
        };
        assert_eq!(id(&app), id(&limited));
    }

    #[test]
    fn an_identity_shows_a_name_and_no_secret() {
        let shown = format!("{:?}", id(&account("app", "10.%", "secret")));
        assert_eq!(shown, "'app'@'10.%' (Configured)");
    }
}
