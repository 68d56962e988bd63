//! Changes of accounts and privileges. A server reads most privileges when a connection logs in, so a
//! pooled connection that logged in before a change must not serve a session after it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use auth::{Account, Accounts};
use session::Outcome;
use sql::{Facts, Flush, Object, StatementKind, Target};

/// The changes of privileges since the process began, over all workers. A login's time is the number of changes so far.
#[derive(Default)]
pub struct PrivilegeChanges {
    changes: AtomicU64,
    latest: Mutex<Latest>,
}

/// For how many users the latest change is remembered. Beyond that number, a change counts for all users.
const USERS_MAX: usize = 10_000;

/// The number of the latest change.
#[derive(Default)]
struct Latest {
    of_all: u64,
    /// By the user that connections log in as.
    of_user: HashMap<Vec<u8>, u64>,
}

/// Which users a change affects.
#[derive(Debug, PartialEq, Eq)]
pub enum AffectedUsers {
    /// Any account.
    All,
    /// Connections that log in as these users.
    Users(Vec<Vec<u8>>),
}

impl PrivilegeChanges {
    /// Returns how many changes there have been.
    pub fn now(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Records a change that affects these users.
    pub fn change(&self, concerned: AffectedUsers) {
        let mut latest = self.latest();
        let number = self.now() + 1;
        match concerned {
            AffectedUsers::All => {
                latest.of_all = number;
                latest.of_user.clear();
            }
            AffectedUsers::Users(users) => {
                for user in users {
                    latest.of_user.insert(user, number);
                }
                if latest.of_user.len() > USERS_MAX {
                    latest.of_all = number;
                    latest.of_user.clear();
                }
            }
        }
        self.changes.store(number, Ordering::Release);
    }

    /// Whether a connection that logged in as `user` after `then` changes has old privileges.
    #[cold]
    pub fn have_changed(&self, user: &[u8], then: u64) -> bool {
        let latest = self.latest();
        let of_user = latest.of_user.get(user).copied().unwrap_or_default();
        latest.of_all.max(of_user) > then
    }

    /// No panic leaves the data under this lock half changed, so a panic in another thread is no reason to stop.
    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a statement with these facts may change accounts or privileges. If the statement runs
/// other statements, the words in its text decide.
#[inline]
pub fn may_change(facts: &Facts, text: &[u8]) -> bool {
    match facts.kind {
        StatementKind::Multi => {
            facts.statements.iter().any(|part| is_kind(part.kind)) && is_change(facts, text)
        }
        kind => is_kind(kind) && is_change(facts, text),
    }
}

fn is_kind(kind: StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Grant
            | StatementKind::Revoke
            | StatementKind::Create(Object::Account)
            | StatementKind::Alter(Object::Account)
            | StatementKind::Drop(Object::Account)
            | StatementKind::Rename(Object::Account)
            | StatementKind::Flush(Flush::Other)
            | StatementKind::Set
            | StatementKind::ExecuteImmediate
            | StatementKind::Compound
    )
}

fn is_change(facts: &Facts, text: &[u8]) -> bool {
    let sets_account = || {
        let mut all = facts.assignments.iter();
        all.any(|it| matches!(it.target, Target::Password | Target::DefaultRole))
    };
    match facts.kind {
        StatementKind::Set => sets_account(),
        StatementKind::Flush(_) => has_word(text, b"PRIVILEGES"),
        StatementKind::ExecuteImmediate | StatementKind::Compound | StatementKind::Multi => {
            let words: [&[u8]; 6] = [
                b"GRANT",
                b"REVOKE",
                b"USER",
                b"ROLE",
                b"PRIVILEGES",
                b"PASSWORD",
            ];
            words.iter().any(|word| has_word(text, word))
        }
        _ => true,
    }
}

/// Whether the text contains the word. The empty name of an anonymous account is not a word.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let mut windows = text.windows(word.len().max(1));
    !word.is_empty() && windows.any(|window| window.eq_ignore_ascii_case(word))
}

/// Whether a statement that ended this way has changed nothing, because the server did not
/// understand it or the account may not run it. After any other error a part of the statement may
/// be done: MariaDB grants to the first of two users although the second does not exist.
pub fn has_done_nothing(facts: &Facts, outcome: Outcome) -> bool {
    /// The statement was not understood, or the account has no right to run it.
    const REFUSED: [u16; 7] = [1064, 1044, 1045, 1142, 1227, 1295, 1410];
    match outcome {
        Outcome::Ok => false,
        Outcome::Err(number) => facts.kind != StatementKind::Multi && REFUSED.contains(&number),
    }
}

/// Returns which users a statement affects. A statement about passwords and the like affects the users that the text
/// names, or the session's own user. Any other statement may work through a role, or give a name to another account.
pub fn concerned(
    facts: &Facts,
    text: &[u8],
    accounts: &Accounts,
    own_user: &[u8],
) -> AffectedUsers {
    let is_of_user = matches!(
        facts.kind,
        StatementKind::Set | StatementKind::Alter(Object::Account)
    );
    // With escapes or non-ASCII characters, a name may be written in another way.
    let is_plain = text.is_ascii() && !text.contains(&b'\\');
    // Connections of an anonymous account log in with any name.
    let names_anonymous = [b"''", b"\"\"", b"``"].iter().any(|it| has_word(text, *it));
    if !is_of_user || !is_plain || names_anonymous {
        return AffectedUsers::All;
    }
    let all = accounts.configured().accounts();
    let learned = accounts.learned().into_iter();
    let all = all.chain(learned.flat_map(|directory| directory.accounts()));
    let is_named = |user: &&str| !user.is_empty() && has_word(text, user.as_bytes());
    let users = all.map(|account| account.backend_user()).filter(is_named);
    let mut users: Vec<Vec<u8>> = users.map(|user| user.as_bytes().to_vec()).collect();
    users.push(own_user.to_vec());
    users.sort_unstable();
    users.dedup();
    AffectedUsers::Users(users)
}

/// Whether a session of this user may have changed its own account in such a way that the proxy
/// cannot log in for it again: another password, another name, or no account.
pub fn may_lock_out(facts: &Facts, text: &[u8], own_user: &[u8]) -> bool {
    match facts.kind {
        StatementKind::Grant
        | StatementKind::Revoke
        | StatementKind::Flush(_)
        | StatementKind::Create(_) => false,
        StatementKind::Set => !has_word(text, b"FOR") || has_word(text, own_user),
        _ => has_word(text, own_user) || has_word(text, b"CURRENT_USER"),
    }
}

/// Whether the servers' accounts have changed between two times that the proxy learned them, in
/// anything but passwords. Passwords do not count: connections with another password already have
/// another pool key, and sessions that began with the old password go on, as on the server.
pub fn have_accounts_changed(before: &Accounts, after: &Accounts) -> bool {
    let (Some(before), Some(after)) = (before.learned(), after.learned()) else {
        return false;
    };
    if std::sync::Arc::ptr_eq(before, after) {
        return false;
    }
    let key = |account: &Account| (account.user.clone(), account.host.as_str().to_owned());
    let known: HashMap<_, &Account> = before.accounts().map(|it| (key(it), &***it)).collect();
    let mut count = 0;
    let is_as_before = after.accounts().all(|account| {
        count += 1;
        let before = known.get(&key(account)).copied();
        before.is_some_and(|before| {
            let login_method = before.login_method.clone();
            let account: &Account = account;
            *before
                == Account {
                    login_method,
                    ..account.clone()
                }
        })
    });
    !is_as_before || count != known.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> Facts {
        sql::facts(text.as_bytes(), sql::Flags::default())
    }

    #[test]
    fn statements_that_change_accounts_and_privileges_are_known() {
        for text in [
            "GRANT SELECT ON d.* TO a",
            "grant r to a",
            "REVOKE ALL ON *.* FROM a",
            "CREATE USER a",
            "CREATE OR REPLACE USER a IDENTIFIED BY 'x'",
            "ALTER USER a IDENTIFIED BY 'x'",
            "ALTER USER CURRENT_USER() IDENTIFIED BY 'x'",
            "DROP USER IF EXISTS a",
            "RENAME USER a TO b",
            "CREATE ROLE r",
            "DROP ROLE r",
            "SET PASSWORD = 'x'",
            "SET PASSWORD FOR a = PASSWORD('x')",
            "SET DEFAULT ROLE r FOR a",
            "SET DEFAULT ROLE ALL TO a",
            "FLUSH PRIVILEGES",
            "FLUSH LOCAL PRIVILEGES",
            "SELECT 1; GRANT r TO a",
            "EXECUTE IMMEDIATE 'GRANT r TO a'",
            "BEGIN NOT ATOMIC GRANT r TO a; END",
        ] {
            assert!(may_change(&facts(text), text.as_bytes()), "{text}");
        }
        for text in [
            "SELECT 1",
            "SET ROLE r",
            "SET NAMES latin1",
            "SET @password = 'x'",
            "FLUSH TABLES",
            "SHOW GRANTS",
            "CREATE TABLE user (n INT)",
            "SELECT 1; SELECT 'GRANT'",
            "EXECUTE IMMEDIATE 'SELECT 1'",
        ] {
            assert!(!may_change(&facts(text), text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_grant_that_is_denied_as_a_whole_changes_nothing() {
        let grant = facts("GRANT r TO a, b");
        assert!(!has_done_nothing(&grant, Outcome::Ok));
        assert!(
            !has_done_nothing(&grant, Outcome::Err(1396)),
            "b alone may be missing"
        );
        assert!(has_done_nothing(&grant, Outcome::Err(1045)));
        let several = facts("GRANT r TO a; GRANT r TO b");
        assert!(!has_done_nothing(&several, Outcome::Err(1064)));
    }

    #[test]
    fn a_change_concerns_the_logins_before_it() {
        let privileges = PrivilegeChanges::default();
        let before = privileges.now();
        privileges.change(AffectedUsers::Users(vec![b"a".to_vec()]));
        let between = privileges.now();
        assert_ne!(before, between);
        assert!(privileges.have_changed(b"a", before));
        assert!(!privileges.have_changed(b"b", before));
        assert!(!privileges.have_changed(b"a", between));
        privileges.change(AffectedUsers::All);
        assert!(privileges.have_changed(b"a", between));
        assert!(privileges.have_changed(b"b", between));
        assert!(!privileges.have_changed(b"b", privileges.now()));
    }

    #[test]
    fn set_password_affects_the_named_accounts_and_its_own_session() {
        let accounts = Accounts::default();
        let of = |text: &str| concerned(&facts(text), text.as_bytes(), &accounts, b"me");
        assert_eq!(
            of("SET PASSWORD = 'x'"),
            AffectedUsers::Users(vec![b"me".to_vec()])
        );
        assert_eq!(of("GRANT r TO a"), AffectedUsers::All);
        assert_eq!(of("SET PASSWORD = 'x\\'"), AffectedUsers::All);
        assert_eq!(of("DROP USER a"), AffectedUsers::All);
        for text in [
            "ALTER USER ''@'%' ACCOUNT LOCK",
            "SET PASSWORD FOR \"\"@'%' = 'x'",
        ] {
            assert_eq!(of(text), AffectedUsers::All, "{text}");
        }
    }

    #[test]
    fn an_empty_name_is_found_nowhere() {
        assert!(!has_word(b"ALTER USER a", b""));
        assert!(!has_word(b"", b""));
        let text = "ALTER USER a ACCOUNT LOCK";
        assert!(!may_lock_out(&facts(text), text.as_bytes(), b""));
    }

    #[test]
    fn too_many_changed_users_mark_the_privileges_of_all_users_as_changed() {
        let privileges = PrivilegeChanges::default();
        let before = privileges.now();
        let name = |number: usize| number.to_string().into_bytes();
        for number in 0..=USERS_MAX {
            privileges.change(AffectedUsers::Users(vec![name(number)]));
        }
        assert!(privileges.latest().of_user.len() <= USERS_MAX);
        for number in [0, USERS_MAX] {
            assert!(privileges.have_changed(&name(number), before));
        }
    }

    #[test]
    fn a_session_may_lock_itself_out() {
        let may = |text: &str| may_lock_out(&facts(text), text.as_bytes(), b"me");
        for text in [
            "SET PASSWORD = 'x'",
            "SET PASSWORD FOR me = 'x'",
            "ALTER USER CURRENT_USER() IDENTIFIED BY 'x'",
            "ALTER USER 'me'@'%' ACCOUNT LOCK",
            "RENAME USER me TO you",
            "DROP USER you, me",
        ] {
            assert!(may(text), "{text}");
        }
        for text in [
            "SET PASSWORD FOR you = 'x'",
            "ALTER USER you ACCOUNT LOCK",
            "GRANT SELECT ON *.* TO me",
            "FLUSH PRIVILEGES",
        ] {
            assert!(!may(text), "{text}");
        }
    }
}
