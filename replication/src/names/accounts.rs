//! The users and roles in statements about accounts and privileges.

use sql::{Flags, StatementKind, TokenKind, Word};

use super::Names;
use crate::object::{ObjectKind, ObjectName};

/// The maximum number of accounts of one statement.
const ACCOUNTS_MAX: usize = 1024;

/// The effect of a statement on accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountChange {
    /// The kind of statement, such as `CREATE ROLE`.
    pub kind: &'static str,
    /// The accounts that it changes.
    pub accounts: Vec<ObjectName>,
}

/// Returns the change that a statement makes; none if it changes no account. `invoker` is the account that executes it.
pub fn account_change(
    text: &str,
    flags: Flags,
    statement: StatementKind,
    invoker: Option<&(String, String)>,
) -> Option<AccountChange> {
    let mut names = Names::new(text, flags);
    let change = |kind, accounts| Some(AccountChange { kind, accounts });
    match statement {
        StatementKind::Grant => {
            names.skip_to_word("to");
            change("GRANT", names.accounts(invoker))
        }
        StatementKind::Revoke => {
            names.skip_to_word("from");
            change("REVOKE", names.accounts(invoker))
        }
        StatementKind::Set => names.of_set(invoker),
        _ => {
            let is_role = names.skip_to_noun();
            names.skip_condition();
            let kind = kind(statement, is_role)?;
            change(kind, names.accounts(invoker))
        }
    }
}

fn kind(statement: StatementKind, is_role: bool) -> Option<&'static str> {
    Some(match (statement, is_role) {
        (StatementKind::Create(_), false) => "CREATE USER",
        (StatementKind::Create(_), true) => "CREATE ROLE",
        (StatementKind::Alter(_), _) => "ALTER USER",
        (StatementKind::Drop(_), false) => "DROP USER",
        (StatementKind::Drop(_), true) => "DROP ROLE",
        (StatementKind::Rename(_), _) => "RENAME USER",
        _ => return None,
    })
}

impl Names<'_> {
    /// Advances to the token after a keyword.
    fn skip_to_word(&mut self, word: &str) {
        while !self.is_at_end() {
            let is_it = self.is_word(word);
            self.advance();
            if is_it {
                return;
            }
        }
    }

    /// Advances to the token after USER or ROLE. Returns true for ROLE.
    fn skip_to_noun(&mut self) -> bool {
        while !self.is_at_end() && !self.is(Word::User) && !self.is(Word::Role) {
            self.advance();
        }
        let is_role = self.is(Word::Role);
        self.advance();
        is_role
    }

    fn is_word(&self, word: &str) -> bool {
        self.here.kind == TokenKind::Word && self.word().eq_ignore_ascii_case(word)
    }

    /// SET PASSWORD [FOR account] …, SET DEFAULT ROLE … [{TO | FOR} account, …]
    fn of_set(&mut self, invoker: Option<&(String, String)>) -> Option<AccountChange> {
        self.advance();
        let own = invoker.map(|(user, host)| account(user, host));
        if self.is_word("password") {
            self.advance();
            let accounts = match self.is_word("for") {
                true => {
                    self.advance();
                    self.account(invoker)
                }
                false => own,
            };
            return Some(AccountChange {
                kind: "SET PASSWORD",
                accounts: accounts.into_iter().collect(),
            });
        }
        if !self.is(Word::Default) {
            return None;
        }
        while !self.is_at_end() && !self.is(Word::To) && !self.is_word("for") {
            self.advance();
        }
        let names_accounts = !self.is_at_end();
        self.advance();
        Some(AccountChange {
            kind: "SET DEFAULT ROLE",
            accounts: match names_accounts {
                true => self.accounts(invoker),
                false => own.into_iter().collect(),
            },
        })
    }

    /// Reads accounts such as `'user'@'host'`, separated by commas or TO, up to the first option.
    fn accounts(&mut self, invoker: Option<&(String, String)>) -> Vec<ObjectName> {
        let mut accounts = Vec::new();
        while accounts.len() < ACCOUNTS_MAX && self.is_name() {
            accounts.extend(self.account(invoker));
            if !self.skip_to_next_account() {
                break;
            }
        }
        accounts
    }

    fn is_name(&self) -> bool {
        matches!(
            self.here.kind,
            TokenKind::Word | TokenKind::Quoted | TokenKind::String
        )
    }

    /// Reads one account. CURRENT_USER and USER() mean the invoker; none if the invoker is not known.
    fn account(&mut self, invoker: Option<&(String, String)>) -> Option<ObjectName> {
        if !self.is_name() {
            return None;
        }
        let (is_current, may_call) = (self.is_word("current_user"), self.is(Word::User));
        let user = self.name();
        if is_current || (may_call && self.here.kind == TokenKind::Open) {
            return invoker.map(|(user, host)| account(user, host));
        }
        Some(match self.here.kind {
            TokenKind::UserVariable => account(&user, &self.name()),
            _ => account(&user, "%"),
        })
    }

    /// Advances to the next account, after a comma or TO. A comma can also follow the options of the previous
    /// account. After ROLE (DEFAULT ROLE, WITH ROLE) the list contains roles, so the search ends.
    fn skip_to_next_account(&mut self) -> bool {
        while !self.is_at_end() && !self.is(Word::Role) {
            let is_next = self.here.kind == TokenKind::Comma || self.is(Word::To);
            self.advance();
            if is_next {
                return true;
            }
        }
        false
    }
}

fn account(user: &str, host: &str) -> ObjectName {
    ObjectName {
        schema: String::new(),
        name: format!("{user}@{host}"),
        kind: ObjectKind::Account,
    }
}
