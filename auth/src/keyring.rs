//! The credentials that clients have proven: for the fast path of clients, and for logins to backends.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{AccountId, Accounts, Credential, Password};

/// The credentials by account. An account that changes gets a new id, and no credential is held for it.
#[derive(Default)]
pub struct Keyring {
    held: HashMap<AccountId, Credential>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.held.keys()).finish()
    }
}

impl Keyring {
    /// Keeps the credential that proved `account`. A password is not replaced by a stage-1 hash.
    pub fn hold(&mut self, account: &AccountId, credential: Credential) {
        let half = matches!(credential, Credential::NativeStage1(_));
        if !(half && self.password(account).is_some()) {
            self.held.insert(account.clone(), credential);
        }
    }

    /// The credential that logs `account` in to a backend, if it is held.
    pub fn find(&self, account: &AccountId) -> Option<&Credential> {
        self.held.get(account)
    }

    /// The password of `account`, if it is held, for [`crate::ServerAuthentication::begin`].
    pub fn password(&self, account: &AccountId) -> Option<&Password> {
        match self.held.get(account)? {
            Credential::Password(password) => Some(password),
            Credential::NativeStage1(_) => None,
        }
    }

    /// Forgets the credential of `account`, because a backend refused it.
    pub fn forget(&mut self, account: &AccountId) {
        self.held.remove(account);
    }

    /// Forgets the credentials of accounts that were removed or changed.
    pub fn keep_only(&mut self, accounts: &Accounts) {
        self.held.retain(|id, _| accounts.has(id));
    }

    /// The number of accounts with a credential.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

/// One keyring for all workers, so that a credential proven on one worker serves all of them. It is locked
/// at logins only, for a look-up in a map and a copy of a few bytes.
#[derive(Debug, Default)]
pub struct SharedKeyring(Mutex<Keyring>);

impl SharedKeyring {
    /// As [`Keyring::hold`].
    pub fn hold(&self, account: &AccountId, credential: Credential) {
        self.locked().hold(account, credential);
    }

    /// As [`Keyring::find`].
    pub fn find(&self, account: &AccountId) -> Option<Credential> {
        self.locked().find(account).cloned()
    }

    /// As [`Keyring::password`].
    pub fn password(&self, account: &AccountId) -> Option<Password> {
        self.locked().password(account).cloned()
    }

    /// As [`Keyring::forget`].
    pub fn forget(&self, account: &AccountId) {
        self.locked().forget(account);
    }

    /// As [`Keyring::keep_only`]; once for each new snapshot.
    pub fn keep_only(&self, accounts: &Accounts) {
        self.locked().keep_only(accounts);
    }

    /// A panic under the lock leaves no half-made change, so a poisoned lock is still good.
    fn locked(&self) -> MutexGuard<'_, Keyring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::CONFIGURED_RULES;
    use crate::{
        Account, CachingSha2Hash, Dialect, Directory, HostPattern, KnownAccount, Learned,
        NativeStage1, Verifier,
    };

    const SECRET: [u8; 32] = [1; 32];

    fn account(user: &str, salt: u8) -> Account {
        let hash = CachingSha2Hash::unknown([salt; 20], [b'.'; 43]);
        let host = HostPattern::any(Dialect::MySql);
        Account::new(user, host, vec![Verifier::CachingSha2(hash)])
    }

    fn id(user: &str, salt: u8) -> AccountId {
        KnownAccount::new(account(user, salt), &SECRET).id().clone()
    }

    fn secret() -> Credential {
        Credential::Password(Password::new("secret"))
    }

    fn snapshot(accounts: impl IntoIterator<Item = Account>) -> Accounts {
        let directory = Directory::new(CONFIGURED_RULES, accounts, SECRET);
        Accounts::new(directory, Learned::Off)
    }

    #[test]
    fn a_password_is_held_until_its_account_changes() {
        let keyring = SharedKeyring::default();
        let app = id("app", 1);
        keyring.hold(&app, secret());
        assert_eq!(keyring.find(&id("app", 1)), Some(secret()));
        assert_eq!(keyring.password(&app), Some(Password::new("secret")));
        assert_eq!(keyring.find(&id("other", 1)), None);
        assert_eq!(keyring.find(&id("app", 2)), None);

        keyring.keep_only(&snapshot([account("app", 1), account("other", 1)]));
        assert_eq!(keyring.locked().len(), 1);
        keyring.keep_only(&snapshot([account("app", 2)]));
        assert!(keyring.locked().is_empty());
        keyring.hold(&app, secret());
        keyring.forget(&app);
        assert!(keyring.locked().is_empty());
    }

    #[test]
    fn the_keyring_does_not_replace_a_password_with_a_first_stage_hash() {
        let half = || Credential::NativeStage1(NativeStage1::new([7; 20]));
        let mut keyring = Keyring::default();
        let app = id("app", 1);
        keyring.hold(&app, half());
        assert_eq!(keyring.password(&app), None);
        assert_eq!(keyring.find(&app), Some(&half()));
        keyring.hold(&app, secret());
        keyring.hold(&app, half());
        assert_eq!(keyring.find(&app), Some(&secret()));
    }
}
