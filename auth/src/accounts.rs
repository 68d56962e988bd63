//! A snapshot of all accounts: the configured accounts before the learned ones. It finds the account of a
//! client's user.
//!
//! ```text
//!   configured ── has it ────────────────────────────► Account
//!       │ has not
//!   learned ───── has it ────────────────────────────► Account
//!       │ has not        │ off, or not loaded yet,
//!       │                │ or decided by a name that is not known
//!       │                ├─ the user is configured for other hosts,
//!       │                │  or others are refused
//!       ├────────────────┘         │ neither
//!    Nobody                    PassThrough
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::digest::sha256;
use crate::directory::Search;
use crate::{
    Account, AccountId, Dialect, Directory, KnownAccount, LoginMethod, Names, Origin, Rules,
    SecureTransport, TlsRequirement, Verifier,
};

/// An immutable snapshot of all accounts; cheap to clone.
#[derive(Debug, Clone)]
pub struct Accounts {
    configured: Arc<Directory>,
    learned: Learned,
    asked_at: Option<Duration>,
    checks: Checks,
    /// The number of the last check whose accounts are in this snapshot.
    last_check: u64,
}

/// When users' accounts were last asked for by name. All snapshots share the checks. A snapshot reads only the checks
/// whose accounts are in it.
#[derive(Debug, Clone, Default)]
struct Checks(Arc<Mutex<HashMap<String, Check>>>);

/// A query to the servers for a user's accounts.
#[derive(Debug, Clone, Copy)]
struct Check {
    number: u64,
    /// The time of the query, since the process began.
    asked_at: Duration,
}

/// Users whose checks are remembered. With more users all checks are forgotten, and the servers are asked again.
const CHECKS_MAX: usize = 10_000;

impl Checks {
    fn note(&self, users: &[String], check: Check) {
        let mut known = self.known();
        if known.len() + users.len() > CHECKS_MAX {
            known.clear();
        }
        for user in users {
            known.insert(user.clone(), check);
        }
    }

    /// When a user's accounts were asked for. `None`: they were not, or the answer is newer than `last_check`.
    fn of(&self, user: &str, last_check: u64) -> Option<Duration> {
        let check = self.known().get(user).copied();
        check
            .filter(|it| it.number <= last_check)
            .map(|it| it.asked_at)
    }

    fn forget(&self) {
        self.known().clear();
    }

    /// Nothing is left half done under this lock.
    fn known(&self) -> MutexGuard<'_, HashMap<String, Check>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the proxy knows of the servers' own accounts.
#[derive(Debug, Clone, Default)]
pub enum Learned {
    /// Nothing: learning is off.
    #[default]
    Off,
    /// Nothing yet.
    Awaited,
    /// All of them.
    Known(Arc<Directory>),
}

/// The result of a search for a client's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'a> {
    /// This account; [`crate::Account::treatment`] says how the client logs in.
    Account(&'a Arc<KnownAccount>),
    /// No server has this user. The client is examined by [`Accounts::decoy`].
    Nobody,
    /// The proxy does not know the user, but a backend may: the login passes through.
    PassThrough,
}

impl Accounts {
    /// Joins configured and learned accounts.
    pub fn new(configured: Directory, learned: Learned) -> Self {
        Self {
            configured: Arc::new(configured),
            learned,
            asked_at: None,
            checks: Checks::default(),
            last_check: 0,
        }
    }

    /// The snapshot with other configured accounts. `learns`: whether the servers' accounts are still wanted. If so,
    /// the known ones stay.
    #[must_use]
    pub fn reconfigured(&self, configured: Directory, learns: bool) -> Self {
        let learned = match (learns, &self.learned) {
            (false, _) => Learned::Off,
            (true, Learned::Off) => Learned::Awaited,
            (true, known) => known.clone(),
        };
        Self {
            configured: Arc::new(configured),
            learned,
            asked_at: self.asked_at,
            checks: self.checks.clone(),
            last_check: self.last_check,
        }
    }

    /// The snapshot after one more attempt to learn. The attempt began when the process had run for `asked_at`. It
    /// brought these accounts or, with `None`, nothing new. If learning is off by now, it stays off.
    #[must_use]
    pub fn taught(&self, news: Option<Arc<Directory>>, asked_at: Duration) -> Self {
        let learned = match (&self.learned, news) {
            (Learned::Off, _) => Learned::Off,
            (_, Some(directory)) => {
                // The directory may be older than accounts that were asked for by name meanwhile.
                self.checks.forget();
                Learned::Known(directory)
            }
            (before, None) => before.clone(),
        };
        Self {
            configured: Arc::clone(&self.configured),
            learned,
            asked_at: Some(asked_at),
            checks: self.checks.clone(),
            last_check: self.last_check,
        }
    }

    /// The snapshot after the accounts of `users` were asked for by name, at `asked_at`. `found`: the answer. `None`:
    /// there was no answer, and the accounts stay as they were.
    #[must_use]
    pub fn checked(
        &self,
        users: &[String],
        found: Option<Vec<Account>>,
        asked_at: Duration,
    ) -> Self {
        let number = self.last_check + 1;
        self.checks.note(users, Check { number, asked_at });
        let changed = match (&self.learned, found) {
            (Learned::Known(directory), Some(found)) => directory.with_users(users, found),
            _ => None,
        };
        let learned = match changed {
            Some(directory) => Learned::Known(Arc::new(directory)),
            None => self.learned.clone(),
        };
        Self {
            learned,
            last_check: number,
            ..self.clone()
        }
    }

    /// When a user's accounts were last asked for, successfully or not, in time since the process began. The known
    /// accounts are as of that time.
    pub fn known_since(&self, user: &[u8]) -> Option<Duration> {
        let user = String::from_utf8_lossy(user);
        let checked_at = self.checks.of(&user, self.last_check);
        self.asked_at.max(checked_at)
    }

    /// Whether the proxy answers logins at all. If not, every session is transparent from the backend's
    /// greeting on.
    pub fn answers_logins(&self) -> bool {
        self.configured.accounts().next().is_some() || !matches!(self.learned, Learned::Off)
    }

    /// Finds the account of `user` from `origin`.
    pub fn find(&self, user: &[u8], origin: &Origin) -> Found<'_> {
        if let Search::Found(account) = self.configured.search(user, origin) {
            return Found::Account(account);
        }
        // A backend may know a user that the proxy does not. But a user of an `[[account]]` does not get past the
        // proxy because it comes from another host.
        let is_refused = self.configured.refuses_unknown_users() || self.configured.names(user);
        let unknown = match is_refused {
            true => Found::Nobody,
            false => Found::PassThrough,
        };
        let Learned::Known(directory) = &self.learned else {
            return unknown;
        };
        match directory.search(user, origin) {
            Search::Found(account) => Found::Account(account),
            Search::Unsure => unknown,
            Search::Nobody => Found::Nobody,
        }
    }

    /// The verifiers that examine [`Found::Nobody`]; see [`Directory::decoy`].
    pub fn decoy(&self, user: &[u8]) -> Arc<[Verifier]> {
        match &self.learned {
            Learned::Known(directory) => directory.decoy(user),
            Learned::Off | Learned::Awaited => self.configured.decoy(user),
        }
    }

    /// The TLS requirements on the connection of a client that logs in as `user`: those of the configured account, and
    /// those of the server's own account `there`, with which the session logs in to the server.
    pub fn tls_requirements(
        &self,
        user: &[u8],
        there: &[u8],
        origin: &Origin,
    ) -> impl Iterator<Item = &TlsRequirement> {
        let learned = self.learned().map(|learned| learned.search(there, origin));
        let found = [Some(self.configured.search(user, origin)), learned];
        found.into_iter().flatten().filter_map(|found| match found {
            Search::Found(account) => Some(&account.conditions.tls),
            Search::Nobody | Search::Unsure => None,
        })
    }

    /// Whether the servers demand a secure transport of all clients, as far as the proxy knows.
    pub fn secure_transport(&self) -> SecureTransport {
        let learned = self.learned();
        learned.map_or_else(Default::default, |learned| learned.secure_transport())
    }

    /// The verifiers for a client that is refused in any case and must not learn the reason: the plugins
    /// of its account if they are known, and [`Self::decoy`]'s otherwise.
    pub fn in_vain(&self, user: &[u8], origin: &Origin) -> Arc<[Verifier]> {
        let decoy = self.decoy(user);
        let Found::Account(account) = self.find(user, origin) else {
            return decoy;
        };
        match &account.login_method {
            LoginMethod::Examined(verifiers) if !verifiers.is_empty() => {
                let random = sha256(&[user]);
                verifiers.iter().map(|it| it.unknown(random)).collect()
            }
            LoginMethod::Examined(_) | LoginMethod::PassedThrough(_) => decoy,
        }
    }

    /// Whether this account still exists unchanged.
    pub fn has(&self, id: &AccountId) -> bool {
        self.configured.has(id) || self.learned().is_some_and(|learned| learned.has(id))
    }

    /// The configured accounts.
    pub fn configured(&self) -> &Directory {
        &self.configured
    }

    /// The servers' accounts, once they are known.
    pub fn learned(&self) -> Option<&Arc<Directory>> {
        match &self.learned {
            Learned::Known(directory) => Some(directory),
            Learned::Off | Learned::Awaited => None,
        }
    }

    /// Whether accounts are learned from servers.
    pub fn learns(&self) -> bool {
        !matches!(self.learned, Learned::Off)
    }

    /// When the last finished attempt to learn was begun, successful or not, in time since the process
    /// began. A session that asks for an attempt (`route::Report::UnknownAccount`) waits for one that begins later: an
    /// attempt that was under way may have read the tables too early.
    pub fn asked_at(&self) -> Option<Duration> {
        self.asked_at
    }

    /// Whether some account's host is a name, see [`Directory::needs_host_names`].
    pub fn needs_host_names(&self) -> bool {
        self.configured.needs_host_names() || self.learned().is_some_and(|it| it.needs_host_names())
    }
}

impl Default for Accounts {
    /// No accounts, and learning is off: all logins pass through.
    fn default() -> Self {
        Self::new(Directory::new(CONFIGURED_RULES, [], [0; 32]), Learned::Off)
    }
}

/// The rules by which configured accounts are found: the rules that know the most kinds of hosts.
pub(crate) const CONFIGURED_RULES: Rules = Rules {
    dialect: Dialect::MySql,
    names: Names::Resolved,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Conditions, HostPattern, Password, Plugin, Source};

    const ASKED_AT: Duration = Duration::from_secs(7);

    fn account(name: &str, source: Source) -> Account {
        let (user, host) = name.split_once('@').unwrap();
        let verifier = Verifier::Password(Password::new(name));
        let account = Account::new(user, HostPattern::new(host, Dialect::MySql), vec![verifier]);
        Account { source, ..account }
    }

    fn directory(names: &[&str], source: Source) -> Directory {
        let accounts = names.iter().map(|name| account(name, source));
        Directory::new(CONFIGURED_RULES, accounts, [7; 32])
    }

    fn configured(names: &[&str]) -> Directory {
        directory(names, Source::Configured)
    }

    fn learned(names: &[&str]) -> Learned {
        Learned::Known(Arc::new(directory(names, Source::Learned)))
    }

    /// The account found for a client from 10.0.0.1, or the other outcome.
    fn found(accounts: &Accounts, user: &str) -> String {
        let origin = Origin::tcp([10, 0, 0, 1].into(), None);
        match accounts.find(user.as_bytes(), &origin) {
            Found::Account(account) => format!("{:?}", account.id()),
            Found::Nobody => "nobody".to_owned(),
            Found::PassThrough => "passed through".to_owned(),
        }
    }

    #[test]
    fn a_configured_account_comes_before_a_learned_one_of_a_nearer_host() {
        let accounts = Accounts::new(configured(&["app@%"]), learned(&["app@10.0.0.1", "b@%"]));
        assert_eq!(found(&accounts, "app"), "'app'@'%' (Configured)");
        assert_eq!(found(&accounts, "b"), "'b'@'%' (Learned)");
        assert_eq!(found(&accounts, "c"), "nobody");
    }

    #[test]
    fn a_configured_user_from_another_host_is_not_passed_through() {
        for learned in [Learned::Off, Learned::Awaited] {
            let accounts = Accounts::new(configured(&["app@10.0.0.9"]), learned);
            assert_eq!(found(&accounts, "app"), "nobody");
            assert_eq!(found(&accounts, "b"), "passed through");
        }
        let accounts = Accounts::new(configured(&["app@10.0.0.9"]), learned(&["app@%"]));
        assert_eq!(found(&accounts, "app"), "'app'@'%' (Learned)");
    }

    #[test]
    fn the_age_of_a_learned_user_counts_from_its_last_query() {
        let accounts = Accounts::new(configured(&[]), learned(&["a@%", "b@%"]));
        let accounts = accounts.taught(None, ASKED_AT);
        let second = Duration::from_secs(1);
        let users = ["a".to_owned(), String::new()];
        let checked = accounts.checked(&users, Some(Vec::new()), ASKED_AT + second);
        assert_eq!(found(&checked, "a"), "nobody");
        assert_eq!(found(&checked, "b"), "'b'@'%' (Learned)");
        assert_eq!(checked.known_since(b"a"), Some(ASKED_AT + second));
        // The earlier snapshot does not have the answer.
        assert_eq!(accounts.known_since(b"a"), Some(ASKED_AT));
        assert_eq!(checked.known_since(b"b"), Some(ASKED_AT));
        let in_vain = checked.checked(&users, None, ASKED_AT + 2 * second);
        assert_eq!(in_vain.known_since(b"a"), Some(ASKED_AT + 2 * second));
        assert_eq!(found(&in_vain, "a"), "nobody");
        // All accounts, from a query that was sent earlier.
        let Learned::Known(all) = learned(&["a@%"]) else {
            return;
        };
        let taught = in_vain.taught(Some(all), ASKED_AT);
        assert_eq!(taught.known_since(b"a"), Some(ASKED_AT));
    }

    #[test]
    fn unknown_users_are_refused_if_configured() {
        for learned in [Learned::Off, Learned::Awaited] {
            let configured = configured(&["app@%"]).refusing_unknown_users(true);
            let accounts = Accounts::new(configured, learned);
            assert_eq!(found(&accounts, "b"), "nobody");
        }
    }

    #[test]
    fn an_unknown_user_is_refused_only_if_all_accounts_are_known() {
        let with = |learned| Accounts::new(configured(&["app@%"]), learned);
        assert_eq!(found(&with(Learned::Off), "b"), "passed through");
        assert_eq!(found(&with(Learned::Awaited), "b"), "passed through");
        assert_eq!(found(&with(learned(&[])), "b"), "nobody");
    }

    #[test]
    fn an_account_by_a_name_that_is_not_known_leaves_it_to_the_backend() {
        let accounts = Accounts::new(
            configured(&[]),
            learned(&[
                "a@web.example",
                "a@%",
                "b@10.0.0.1",
                "b@%.example",
                "c@%.example",
            ]),
        );
        assert!(accounts.needs_host_names());
        assert_eq!(found(&accounts, "a"), "passed through");
        assert_eq!(found(&accounts, "b"), "'b'@'10.0.0.1' (Learned)");
        assert_eq!(found(&accounts, "c"), "passed through");
        assert_eq!(found(&accounts, "d"), "nobody");

        let named = |name: &str| Origin::tcp([10, 0, 0, 1].into(), Some(name.to_owned()));
        let host = |user: &[u8], name| match accounts.find(user, &named(name)) {
            Found::Account(account) => account.host.as_str().to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(host(b"a", "web.example"), "web.example");
        assert_eq!(host(b"a", "db.example"), "%");
        assert_eq!(host(b"c", "web.elsewhere"), "Nobody");
    }

    /// MariaDB's installation creates an anonymous account for the machine's host name. This account must
    /// not make the logins of all users pass through.
    #[test]
    fn an_anonymous_account_does_not_hide_a_named_account() {
        let accounts = Accounts::new(configured(&[]), learned(&["@web.example", "a@%"]));
        assert_eq!(found(&accounts, "a"), "'a'@'%' (Learned)");
        assert_eq!(found(&accounts, "b"), "passed through");
    }

    #[test]
    fn a_client_must_meet_the_requirements_of_both_accounts() {
        let with = |name: &str, source, tls: TlsRequirement| Account {
            conditions: Conditions {
                tls,
                ..Conditions::default()
            },
            ..account(name, source)
        };
        let of = |name: &str, source, tls| {
            Directory::new(CONFIGURED_RULES, [with(name, source, tls)], [7; 32])
        };
        let configured = of("app@%", Source::Configured, TlsRequirement::Any);
        let learned = of("pool@%", Source::Learned, TlsRequirement::X509);
        let learned = learned.with_secure_transport(SecureTransport::Required);
        let accounts = Accounts::new(configured, Learned::Known(Arc::new(learned)));
        let origin = Origin::tcp([10, 0, 0, 1].into(), None);
        let demands = |user: &str, there: &str| {
            let demands = accounts.tls_requirements(user.as_bytes(), there.as_bytes(), &origin);
            demands.cloned().collect::<Vec<_>>()
        };
        assert_eq!(demands("app", "app"), [TlsRequirement::Any]);
        let both = [TlsRequirement::Any, TlsRequirement::X509];
        assert_eq!(demands("app", "pool"), both);
        assert_eq!(demands("pool", "pool"), [TlsRequirement::X509]);
        assert_eq!(demands("nobody", "nobody"), []);
        assert_eq!(accounts.secure_transport(), SecureTransport::Required);
        let in_vain = accounts.in_vain(b"app", &origin);
        let plugins = in_vain
            .iter()
            .map(|it| it.plugin(None, Plugin::CachingSha2));
        assert_eq!(plugins.collect::<Vec<_>>(), [Plugin::CachingSha2]);
        assert!(in_vain.iter().all(|it| matches!(it, Verifier::Never(_))));
        let unknown = Accounts::default().secure_transport();
        assert_eq!(unknown, SecureTransport::Optional);
    }

    #[test]
    fn logins_are_answered_as_soon_as_one_account_is_known() {
        assert!(!Accounts::default().answers_logins());
        let only_configured = Accounts::new(configured(&["a@%"]), Learned::Off);
        assert!(only_configured.answers_logins());
        let only_learned = Accounts::new(configured(&[]), Learned::Awaited);
        assert!(only_learned.answers_logins());
    }

    #[test]
    fn a_reload_keeps_learned_accounts_while_learning_is_on() {
        let before = Accounts::new(configured(&["a@%"]), Learned::Awaited);
        let known = Arc::new(directory(&["l@%"], Source::Learned));
        let before = before.taught(Some(known), ASKED_AT);
        assert_eq!(before.asked_at(), Some(ASKED_AT));

        let after = before.reconfigured(configured(&["b@%"]), true);
        assert_eq!(found(&after, "a"), "nobody");
        assert_eq!(found(&after, "b"), "'b'@'%' (Configured)");
        assert_eq!(
            found(&after.taught(None, ASKED_AT), "l"),
            "'l'@'%' (Learned)"
        );

        let off = after.reconfigured(configured(&[]), false);
        let late = off.taught(
            Some(Arc::new(directory(&["l@%"], Source::Learned))),
            ASKED_AT,
        );
        assert!(
            !late.answers_logins(),
            "what comes too late changes nothing"
        );
        assert!(matches!(
            late.reconfigured(configured(&[]), true).learned,
            Learned::Awaited
        ));
    }

    #[test]
    fn a_snapshot_has_the_ids_of_its_accounts_only() {
        let accounts = Accounts::new(configured(&["a@%"]), learned(&["b@%"]));
        let origin = Origin::unix();
        for user in [b"a", b"b"] {
            let Found::Account(account) = accounts.find(user, &origin) else {
                unreachable!("both are there");
            };
            assert!(accounts.has(account.id()));
            assert!(!Accounts::default().has(account.id()));
        }
    }
}
