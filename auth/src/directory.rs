//! All accounts of a moment, and the one that a server would find.

use std::collections::HashMap;
use std::sync::Arc;

use crate::digest::sha256;
use crate::host::Rank;
use crate::{Account, HostPattern, Origin, Plugin, Rules, Verifier, Way};

/// An immutable snapshot of accounts.
#[derive(Debug)]
pub struct Directory {
    rules: Rules,
    /// By user; each user's from the most specific host to the least.
    accounts: HashMap<String, Vec<Account>>,
    /// What users that do not exist are examined by: one of each kind, as often as it occurs.
    kinds: Vec<Verifier>,
    secret: [u8; 32],
}

impl Directory {
    /// Orders the accounts. `secret` are 32 random bytes that stay the same from snapshot to snapshot
    /// (so that a stranger is always asked by the same plugin) and are told nobody.
    pub fn new(
        rules: Rules,
        accounts: impl IntoIterator<Item = Account>,
        secret: [u8; 32],
    ) -> Self {
        let mut by_user: HashMap<String, Vec<Account>> = HashMap::new();
        for account in accounts {
            let of_user = by_user.entry(account.user.clone()).or_default();
            of_user.push(account);
        }
        for of_user in by_user.values_mut() {
            of_user.sort_by_cached_key(|account| account.host.rank(rules.dialect));
        }
        let mut kinds: Vec<Verifier> = by_user.values().flatten().filter_map(kind).collect();
        // A map has no order, but a stranger must meet the same plugin each time.
        kinds.sort_by_key(order);
        Self {
            rules,
            accounts: by_user,
            kinds,
            secret,
        }
    }

    /// The rules it is searched by.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// All accounts, in no order.
    pub fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.accounts.values().flatten()
    }

    /// Whether a client's host must be known by name before [`Directory::find`] can find as the server
    /// does.
    pub fn wants_names(&self) -> bool {
        self.accounts().any(|it| it.wants_name(self.rules.names))
    }

    /// The account that a server would take for `user` from `origin`: of those that match, the one
    /// with the most specific host, and of two such the named one before the anonymous.
    pub fn find(&self, user: &[u8], origin: &Origin) -> Option<&Account> {
        let named = std::str::from_utf8(user).ok();
        let named = named.and_then(|user| self.first_match(user, origin));
        let anonymous = self.first_match("", origin);
        match (named, anonymous) {
            (Some(named), Some(anonymous)) if self.rank(anonymous) < self.rank(named) => {
                Some(anonymous)
            }
            (named, anonymous) => named.or(anonymous),
        }
    }

    /// What somebody is examined by who does not exist: the motions of an account of this directory,
    /// always the same ones for one name, and nobody passes.
    pub fn decoy(&self, user: &[u8]) -> Arc<[Verifier]> {
        let random = sha256(&[&self.secret, user]);
        let [a, b, c, d, ..] = random;
        let number = u32::from_le_bytes([a, b, c, d]) as usize;
        let kind = match self.kinds.len() {
            0 => None,
            count => self.kinds.get(number % count),
        };
        let default = Verifier::Empty(self.rules.dialect.default_plugin());
        let unknown = kind.unwrap_or(&default).unknown(sha256(&[&random]));
        Arc::new([unknown])
    }

    fn first_match(&self, user: &str, origin: &Origin) -> Option<&Account> {
        let matches = |account: &&Account| account.host.matches(origin, self.rules.names);
        self.accounts.get(user)?.iter().find(matches)
    }

    fn rank(&self, account: &Account) -> Rank {
        account.host.rank(self.rules.dialect)
    }
}

impl crate::Dialect {
    /// What a server of this family names in its greeting unless it is told otherwise.
    pub fn default_plugin(self) -> Plugin {
        match self {
            Self::MariaDb => Plugin::Native,
            Self::MySql | Self::MySqlWithoutCidr => Plugin::CachingSha2,
        }
    }
}

/// The verifier that decides how an account's exam looks from outside, without its secret.
fn kind(account: &Account) -> Option<Verifier> {
    let Way::Examined(verifiers) = &account.way else {
        return None;
    };
    verifiers.first().map(|verifier| verifier.unknown([0; 32]))
}

fn order(kind: &Verifier) -> u8 {
    match (kind.plugin(None, Plugin::Native), kind) {
        (_, Verifier::Never(inner)) if matches!(**inner, Verifier::Password(_)) => 0,
        (Plugin::Native, _) => 1,
        (Plugin::CachingSha2, _) => 2,
        (Plugin::Ed25519, _) => 3,
    }
}

impl HostPattern {
    /// `%`: from everywhere.
    pub fn any(dialect: crate::Dialect) -> Self {
        Self::new("%", dialect)
    }
}
