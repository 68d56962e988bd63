//! A snapshot of accounts, and the search for the account that a server would find.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::digest::sha256;
use crate::host::Rank;
use crate::{
    Account, AccountId, Dialect, HostPattern, KnownAccount, LoginMethod, Origin, Password, Plugin,
    Rules, SecureTransport, Verifier,
};

/// An immutable snapshot of accounts.
pub struct Directory {
    rules: Rules,
    /// The accounts by user. Each user's accounts are sorted from the most specific host to the least.
    accounts: HashMap<String, Vec<Arc<KnownAccount>>>,
    /// Verifiers for users that do not exist: the kind of each account, as often as it occurs.
    kinds: Vec<Verifier>,
    secret: [u8; 32],
    secure_transport: SecureTransport,
    refuses_unknown_users: bool,
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory")
            .field("rules", &self.rules)
            .field("accounts", &self.accounts().count())
            .finish_non_exhaustive()
    }
}

impl Directory {
    /// Sorts the accounts. `secret` are 32 random bytes that stay the same from snapshot to snapshot
    /// (so that an unknown user is always examined by the same plugin) and never leave the process.
    pub fn new(
        rules: Rules,
        accounts: impl IntoIterator<Item = Account>,
        secret: [u8; 32],
    ) -> Self {
        let mut by_user: HashMap<String, Vec<Arc<KnownAccount>>> = HashMap::new();
        for account in accounts {
            let of_user = by_user.entry(account.user.clone()).or_default();
            of_user.push(Arc::new(KnownAccount::new(account, &secret)));
        }
        for of_user in by_user.values_mut() {
            of_user.sort_by(|a, b| order(a, rules.dialect).cmp(&order(b, rules.dialect)));
        }
        Self {
            rules,
            kinds: kinds(&by_user),
            accounts: by_user,
            secret,
            secure_transport: SecureTransport::Optional,
            refuses_unknown_users: false,
        }
    }

    /// The directory with the accounts of `users` replaced by `accounts`. `None`: nothing has changed.
    pub fn with_users(&self, users: &[String], accounts: Vec<Account>) -> Option<Self> {
        let now = Self::new(self.rules, accounts, self.secret);
        let is_same = |user: &String| self.accounts.get(user) == now.accounts.get(user);
        if users.iter().all(is_same) {
            return None;
        }
        let mut by_user = self.accounts.clone();
        for user in users {
            match now.accounts.get(user) {
                Some(of_user) => by_user.insert(user.clone(), of_user.clone()),
                None => by_user.remove(user),
            };
        }
        Some(Self {
            kinds: kinds(&by_user),
            accounts: by_user,
            ..*self
        })
    }

    /// The directory with or without the rule that unknown users are refused.
    #[must_use]
    pub fn refusing_unknown_users(self, refuses: bool) -> Self {
        Self {
            refuses_unknown_users: refuses,
            ..self
        }
    }

    /// Whether unknown users are refused.
    pub(crate) fn refuses_unknown_users(&self) -> bool {
        self.refuses_unknown_users
    }

    /// Whether there is an account of this user for some host.
    pub(crate) fn names(&self, user: &[u8]) -> bool {
        let user = std::str::from_utf8(user)
            .ok()
            .filter(|user| !user.is_empty());
        user.is_some_and(|user| self.accounts.contains_key(user))
    }

    /// The directory of a server that has this setting for all its clients.
    #[must_use]
    pub fn with_secure_transport(self, secure_transport: SecureTransport) -> Self {
        Self {
            secure_transport,
            ..self
        }
    }

    /// Whether the server demands a secure transport of all its clients.
    pub fn secure_transport(&self) -> SecureTransport {
        self.secure_transport
    }

    /// The rules by which accounts are found.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// All accounts, in no order.
    pub fn accounts(&self) -> impl Iterator<Item = &Arc<KnownAccount>> {
        self.accounts.values().flatten()
    }

    /// Whether the directory has this account unchanged.
    pub fn has(&self, id: &AccountId) -> bool {
        let of_user = self.accounts.get(id.user());
        of_user.is_some_and(|of_user| of_user.iter().any(|it| it.id() == id))
    }

    /// Whether there is an account of the same user and host, even if the rest of it has changed.
    pub fn has_name(&self, id: &AccountId) -> bool {
        let of_user = self.accounts.get(id.user());
        of_user.is_some_and(|of_user| of_user.iter().any(|it| it.host.as_str() == id.host()))
    }

    /// Whether `other` would answer every question as this does.
    pub fn is_same(&self, other: &Self) -> bool {
        self.rules == other.rules
            && self.secret == other.secret
            && self.secure_transport == other.secure_transport
            && self.refuses_unknown_users == other.refuses_unknown_users
            && self.accounts == other.accounts
    }

    /// Whether the name of a client's host must be known before [`Directory::find`] can find what the server finds.
    pub fn needs_host_names(&self) -> bool {
        self.accounts()
            .any(|it| it.needs_host_name(self.rules.names))
    }

    /// The account that a server would take for `user` from `origin`: the matching account with the most
    /// specific host. If a named and an anonymous account have equally specific hosts, the named one.
    pub fn find(&self, user: &[u8], origin: &Origin) -> Option<&Arc<KnownAccount>> {
        let named = std::str::from_utf8(user).ok();
        let named = named.and_then(|user| self.first_match(user, origin));
        let anonymous = self.first_match("", origin);
        match (named, anonymous) {
            (named, None) => named,
            (None, anonymous) => anonymous,
            (Some(named), Some(anonymous)) => {
                let dialect = self.rules.dialect;
                match order(anonymous, dialect) < order(named, dialect) {
                    true => Some(anonymous),
                    false => Some(named),
                }
            }
        }
    }

    /// The verifiers for a user that does not exist: they go through the steps of some account of this directory,
    /// always the same steps for the same name, and no client passes.
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

    /// Whether this is the password of `user` from `origin`, for an account that the proxy examines. The check
    /// takes as long for users that do not exist.
    pub fn proves(&self, user: &[u8], origin: &Origin, password: &Password) -> bool {
        let account = self.find(user, origin);
        let verifiers = match account.map(|account| &account.login_method) {
            Some(LoginMethod::Examined(verifiers)) => Arc::clone(verifiers),
            Some(LoginMethod::PassedThrough(_)) | None => self.decoy(user),
        };
        let asked = verifiers.iter();
        asked.fold(false, |is_right, it| it.is_password(password) | is_right)
    }

    /// As [`Directory::find`], but says if the result is unsure: if the name of the client's host is
    /// not known, the server might take an account that matches by name.
    ///
    /// An anonymous account with a host name is ignored if an account of the user was found. It would come
    /// first for clients from that one host, which administrators do not expect.
    pub(crate) fn search(&self, user: &[u8], origin: &Origin) -> Search<'_> {
        let found = self.find(user, origin);
        let user = std::str::from_utf8(user).ok();
        let is_rival = |it: &&Arc<KnownAccount>| it.needs_host_name(self.rules.names);
        let is_nearer = |it: &Arc<KnownAccount>| match found {
            Some(found) => order(it, self.rules.dialect) < order(found, self.rules.dialect),
            None => true,
        };
        let of = |user| self.accounts.get(user).into_iter().flatten();
        let named = user.into_iter().flat_map(of);
        let anonymous = of("").filter(|_| found.is_none());
        let mut rivals = named.chain(anonymous).filter(is_rival);
        match found {
            _ if !origin.has_name(self.rules.names) && rivals.any(is_nearer) => Search::Unsure,
            Some(account) => Search::Found(account),
            None => Search::Nobody,
        }
    }

    fn first_match(&self, user: &str, origin: &Origin) -> Option<&Arc<KnownAccount>> {
        let matches = |account: &&Arc<KnownAccount>| account.host.matches(origin, self.rules.names);
        self.accounts.get(user)?.iter().find(matches)
    }
}

/// The result of a search in a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Search<'a> {
    /// This account.
    Found(&'a Arc<KnownAccount>),
    /// There is no such user.
    Nobody,
    /// The account depends on the name of the client's host, which is not known.
    Unsure,
}

impl Dialect {
    /// The plugin that a server of this family names in its greeting by default.
    pub fn default_plugin(self) -> Plugin {
        match self {
            Self::MariaDb => Plugin::Native,
            Self::MySql | Self::MySqlWithoutCidr => Plugin::CachingSha2,
        }
    }
}

/// The servers' order: the most specific host first, then named users before anonymous ones, and then the
/// greater text (the servers leave this last step to chance until the next FLUSH PRIVILEGES).
fn order(account: &Account, dialect: Dialect) -> (Rank, bool, Reverse<&str>) {
    let host = &account.host;
    let is_anonymous = account.user.is_empty();
    (host.rank(dialect), is_anonymous, Reverse(host.as_str()))
}

/// The kinds of verifiers of these accounts, for users that do not exist.
fn kinds(by_user: &HashMap<String, Vec<Arc<KnownAccount>>>) -> Vec<Verifier> {
    let accounts = by_user.values().flatten();
    let mut kinds: Vec<Verifier> = accounts.filter_map(|it| kind(it)).collect();
    // A map has no order, but an unknown user must get the same plugin each time.
    kinds.sort_by_key(number_of);
    kinds
}

/// The verifier that decides how an account's login looks from outside, without its secret.
fn kind(account: &Account) -> Option<Verifier> {
    let LoginMethod::Examined(verifiers) = &account.login_method else {
        return None;
    };
    verifiers.first().map(|verifier| verifier.unknown([0; 32]))
}

fn number_of(kind: &Verifier) -> u8 {
    match (kind.plugin(None, Plugin::Native), kind) {
        (_, Verifier::Never(inner)) if matches!(**inner, Verifier::Password(_)) => 0,
        (Plugin::Native, _) => 1,
        (Plugin::CachingSha2, _) => 2,
        (Plugin::Ed25519, _) => 3,
    }
}

impl HostPattern {
    /// `%`: every host.
    pub fn any(dialect: Dialect) -> Self {
        Self::new("%", dialect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Names, NativeHash, PassThrough};

    fn rules(dialect: Dialect) -> Rules {
        Rules {
            dialect,
            names: Names::Resolved,
        }
    }

    fn account(user: &str, host: &str, verifier: Verifier) -> Account {
        Account::new(user, HostPattern::new(host, Dialect::MySql), vec![verifier])
    }

    fn native(password: &str) -> Verifier {
        Verifier::Native(NativeHash::of(password.as_bytes()))
    }

    #[test]
    fn a_cleartext_password_authenticates_only_its_own_user() {
        let of = |password: &str| Verifier::Password(Password::new(password));
        let accounts = [
            account("root", "%", of("all")),
            account("look", "%", of("some")),
        ];
        let directory = Directory::new(rules(Dialect::MySql), accounts, [7; 32]);
        let origin = Origin::unix();
        let proves = |user: &str, password| {
            directory.proves(user.as_bytes(), &origin, &Password::new(password))
        };
        assert!(proves("root", "all") && proves("look", "some"));
        for (user, password) in [("root", "some"), ("root", ""), ("nobody", "all"), ("", "")] {
            assert!(!proves(user, password), "{user} {password}");
        }
    }

    #[test]
    fn an_anonymous_account_of_a_nearer_host_comes_first() {
        // The manual's example of a surprising order of accounts.
        let accounts = [
            account("jeffrey", "%", native("a")),
            account("", "h1", native("b")),
        ];
        let directory = Directory::new(rules(Dialect::MySql), accounts, [0; 32]);
        let host = |name: &str| Origin::tcp([10, 0, 0, 1].into(), Some(name.to_owned()));
        let found = |name| directory.find(b"jeffrey", &host(name)).map(|it| it.name());
        assert_eq!(found("h1").as_deref(), Some("''@'h1'"));
        assert_eq!(found("h2").as_deref(), Some("'jeffrey'@'%'"));
        assert_eq!(directory.find(b"joe", &host("h2")), None);
        assert_eq!(directory.find(b"\xff", &host("h2")), None);
        assert!(directory.needs_host_names());
    }

    #[test]
    fn the_accounts_of_one_user_can_be_replaced() {
        let a_b = || {
            [
                account("a", "%", native("1")),
                account("b", "%", native("1")),
            ]
        };
        let directory = Directory::new(rules(Dialect::MySql), a_b(), [7; 32]);
        let users = ["a".to_owned(), "c".to_owned()];
        let same = || vec![account("a", "%", native("1"))];
        assert!(directory.with_users(&users, same()).is_none());
        let changed = directory.with_users(&users, vec![account("c", "%", native("2"))]);
        let changed = changed.expect("one is gone, another one is new");
        let expected = [
            account("b", "%", native("1")),
            account("c", "%", native("2")),
        ];
        assert!(changed.is_same(&Directory::new(rules(Dialect::MySql), expected, [7; 32])));
    }

    #[test]
    fn an_unknown_user_always_gets_the_same_decoy_plugin() {
        let accounts = || {
            let mut passed = account("pam", "%", native("x"));
            passed.login_method = LoginMethod::PassedThrough(PassThrough::Factors);
            let plain = Verifier::Password(Password::new("c"));
            [
                account("a", "%", native("a")),
                account("b", "%", Verifier::Empty(Plugin::CachingSha2)),
                account("c", "%", plain),
                passed,
            ]
        };
        let directory = || Directory::new(rules(Dialect::MySql), accounts(), [7; 32]);
        let (first, second) = (directory(), directory());
        let mut met = [0; 4];
        for number in 0..100 {
            let name = format!("stranger {number}");
            let decoy = first.decoy(name.as_bytes());
            assert_eq!(decoy, second.decoy(name.as_bytes()));
            assert!(decoy.iter().all(|it| matches!(it, Verifier::Never(_))));
            met[usize::from(number_of(&decoy[0]))] += 1;
        }
        assert!(met[..3].iter().all(|count| *count > 10), "{met:?}");
        assert_eq!(met[3], 0);
        let other = Directory::new(rules(Dialect::MySql), accounts(), [8; 32]);
        assert_ne!(first.decoy(b"stranger 1"), other.decoy(b"stranger 1"));
    }

    #[test]
    fn the_decoy_of_an_empty_directory_has_the_familys_default_plugin() {
        for (dialect, plugin) in [
            (Dialect::MariaDb, Plugin::Native),
            (Dialect::MySql, Plugin::CachingSha2),
        ] {
            let directory = Directory::new(rules(dialect), [], [0; 32]);
            let decoy = directory.decoy(b"anybody");
            assert_eq!(decoy[0].plugin(None, Plugin::Ed25519), plugin);
        }
    }
}
