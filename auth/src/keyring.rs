//! Passwords that were proven: for the fast path of clients and for the backends' own questions.

use std::collections::HashMap;
use std::fmt;

use crate::{Account, Directory, Password};

/// The passwords held, by account. A password is forgotten when its account changes.
#[derive(Default)]
pub struct Keyring {
    held: HashMap<String, Held>,
}

struct Held {
    password: Password,
    /// Of the verifiers that it was proven by.
    fingerprint: [u8; 32],
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.held.keys()).finish()
    }
}

impl Keyring {
    /// Keeps a password that proved `account`.
    pub fn hold(&mut self, account: &Account, password: Password) {
        let held = Held {
            password,
            fingerprint: account.fingerprint(),
        };
        self.held.insert(account.name(), held);
    }

    /// The password of `account`, if it is held and the account's hash is still the same.
    pub fn find(&self, account: &Account) -> Option<&Password> {
        let held = self.held.get(&account.name())?;
        (held.fingerprint == account.fingerprint()).then_some(&held.password)
    }

    /// Forgets the password of `account`: a backend refused it.
    pub fn forget(&mut self, account: &Account) {
        self.held.remove(&account.name());
    }

    /// Forgets what no account of `directory` has any more.
    pub fn keep_only(&mut self, directory: &Directory) {
        let current: HashMap<String, [u8; 32]> = directory
            .accounts()
            .map(|account| (account.name(), account.fingerprint()))
            .collect();
        self.held
            .retain(|name, held| current.get(name) == Some(&held.fingerprint));
    }

    /// How many passwords are held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CachingSha2Hash, Dialect, HostPattern, Names, Rules, Verifier};

    fn account(user: &str, salt: u8) -> Account {
        let hash = CachingSha2Hash::unknown([salt; 20], [b'.'; 43]);
        let host = HostPattern::any(Dialect::MySql);
        Account::new(user, host, vec![Verifier::CachingSha2(hash)])
    }

    #[test]
    fn a_password_is_held_until_its_account_changes() {
        let mut keyring = Keyring::default();
        let (app, other) = (account("app", 1), account("other", 1));
        keyring.hold(&app, Password::new("secret"));
        assert_eq!(keyring.find(&app), Some(&Password::new("secret")));
        assert_eq!(keyring.find(&other), None);
        assert_eq!(keyring.find(&account("app", 2)), None);

        let rules = Rules {
            dialect: Dialect::MySql,
            names: Names::Skipped,
        };
        keyring.keep_only(&Directory::new(rules, [app.clone(), other], [0; 32]));
        assert_eq!(keyring.len(), 1);
        keyring.keep_only(&Directory::new(rules, [account("app", 2)], [0; 32]));
        assert!(keyring.is_empty());
        keyring.hold(&app, Password::new("secret"));
        keyring.forget(&app);
        assert!(keyring.is_empty());
    }
}
