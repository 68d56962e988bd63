//! Accounts learned from a server: what to ask its grant tables, and what an answered row means.
//!
//! ```text
//!   query(version) ─► the server ─► rows ─► account(version, row) ─► Directory
//! ```
//!
//! An account that cannot be examined here, or that the server watches in ways of its own, becomes one
//! that is passed through; what it may do is the server's affair in any case.

mod mariadb;
mod mysql;

use std::time::Duration;

use crate::host::release;
use crate::{
    Account, Dialect, Expiry, HostPattern, LoginMethod, PassThrough, Plugin, Source, Verifier,
};

/// A row's values in the order of [`query`]'s columns; `None` is NULL.
pub type Row<'a> = &'a [Option<&'a [u8]>];

/// A row that is not as the named column promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unexpected value in the grant table: {0}")]
pub struct MalformedRow(pub &'static str);

/// The statement that lists a server's accounts. Needs SELECT on `mysql.user` (MySQL 5.7 and later)
/// or `mysql.global_priv` (MariaDB 10.4 and later).
pub fn query(version: &str) -> &'static str {
    match Dialect::of_version(version) {
        Dialect::MariaDb => mariadb::QUERY,
        Dialect::MySql | Dialect::MySqlWithoutCidr => match release(version) < (8, 0, 14) {
            true => mysql::QUERY_WITHOUT_ATTRIBUTES,
            false => mysql::QUERY,
        },
    }
}

/// The same statement for the accounts of these users alone. Names are written as hexadecimal numbers, which need no
/// quoting.
pub fn query_of(version: &str, users: &[String]) -> String {
    let hex = |user: &String| -> String {
        let digits = user.bytes().map(|byte| format!("{byte:02X}"));
        format!("X'{}'", digits.collect::<String>())
    };
    let names: Vec<String> = users.iter().map(hex).collect();
    format!("{} WHERE User IN ({})", query(version), names.join(", "))
}

/// The account that a row describes; `None` for a role, which nobody logs in as.
///
/// # Errors
/// When the row is not one that [`query`] brings.
pub fn account(version: &str, row: Row<'_>) -> Result<Option<Account>, MalformedRow> {
    match Dialect::of_version(version) {
        Dialect::MariaDb => mariadb::account(row),
        dialect => mysql::account(row, dialect).map(Some),
    }
}

/// The account of a row that [`account`] could not read: known by its name, which MySQL and MariaDB
/// both have in the first two columns, and passed through. `None` where even that cannot be read.
pub fn unreadable(version: &str, row: Row<'_>, malformed: MalformedRow) -> Option<Account> {
    let values = Values(row);
    let (user, host) = (values.bytes(0)?, values.bytes(1)?);
    let (user, host) = (std::str::from_utf8(user), std::str::from_utf8(host));
    Some(Account {
        way: LoginMethod::PassedThrough(PassThrough::Unreadable(malformed)),
        ..empty_account(user.ok()?, host.ok()?, Dialect::of_version(version))
    })
}

/// By what an account is examined whose plugin (by its server's name) and stored hash are these.
fn verifier(plugin: &str, stored: &[u8]) -> Result<Verifier, PassThrough> {
    let known = match plugin {
        // Of old rows, before there were plugins.
        "" | "mysql_native_password" => Plugin::Native,
        "caching_sha2_password" => Plugin::CachingSha2,
        // Its proof yields nothing that a backend would take.
        _ => return Err(PassThrough::Plugin(plugin.to_owned())),
    };
    let parsed = Verifier::parse(known, stored);
    // As with the servers: no password gives this hash ("invalid", the `mysql.sys` of MySQL).
    Ok(parsed.unwrap_or_else(|_| Verifier::Empty(known).unknown([0; 32])))
}

/// When a password expires that was last changed then (seconds since 1970) and lives for so many
/// days; 0 days: for ever.
fn expiry(last_changed: Option<u64>, lifetime_days: u64) -> Expiry {
    const DAY: u64 = 24 * 60 * 60;
    match (last_changed, lifetime_days) {
        (None, _) | (_, 0) => Expiry::Never,
        (Some(changed), days) => {
            let at = changed.saturating_add(days.saturating_mul(DAY));
            Expiry::At(Duration::from_secs(at))
        }
    }
}

/// A row's values by number.
struct Values<'a>(Row<'a>);

impl<'a> Values<'a> {
    fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        self.0.get(column).copied().flatten()
    }

    /// NULL is the empty text.
    fn text(&self, column: usize, name: &'static str) -> Result<&'a str, MalformedRow> {
        let bytes = self.bytes(column).unwrap_or_default();
        std::str::from_utf8(bytes).map_err(|_| MalformedRow(name))
    }

    /// A whole number, or NULL; a fraction is cut off (`UNIX_TIMESTAMP`).
    fn number(&self, column: usize, name: &'static str) -> Result<Option<u64>, MalformedRow> {
        let Some(text) = self.bytes(column) else {
            return Ok(None);
        };
        let text = std::str::from_utf8(text).map_err(|_| MalformedRow(name))?;
        let whole = text.split('.').next().unwrap_or_default();
        whole.parse().map(Some).map_err(|_| MalformedRow(name))
    }

    fn is_yes(&self, column: usize) -> bool {
        self.bytes(column) == Some(b"Y")
    }
}

fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn empty_account(user: &str, host: &str, dialect: Dialect) -> Account {
    Account {
        source: Source::Learned,
        ..Account::new(user, HostPattern::new(host, dialect), Vec::new())
    }
}

/// The way of an account that has these ways to prove it, of which any will do.
fn way(verifiers: Vec<Result<Verifier, PassThrough>>) -> LoginMethod {
    match verifiers.into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(verifiers) => LoginMethod::Examined(verifiers.into()),
        Err(reason) => LoginMethod::PassedThrough(reason),
    }
}

#[cfg(test)]
mod tests;
