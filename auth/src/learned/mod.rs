//! Accounts learned from a server: the query for its grant tables, and the meaning of the rows.
//!
//! ```text
//!   query(version) ─► the server ─► rows ─► account(version, row) ─► Directory
//! ```
//!
//! If the proxy cannot examine an account, or the server has its own checks for it, its logins are passed
//! through. The server checks the account's privileges in any case.

mod columns;
mod mariadb;
mod mysql;
mod row;

use crate::host::release;
use crate::{Account, Dialect, LoginMethod, PassThrough};
use columns::empty_account;
use row::Values;

pub use row::{MalformedRow, Row};

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

/// The statement for the accounts of these users only. Names are written as hexadecimal literals, which need no
/// quoting.
pub fn query_of(version: &str, users: &[String]) -> String {
    let hex = |user: &String| -> String {
        let digits = user.bytes().map(|byte| format!("{byte:02X}"));
        format!("X'{}'", digits.collect::<String>())
    };
    let names: Vec<String> = users.iter().map(hex).collect();
    format!("{} WHERE User IN ({})", query(version), names.join(", "))
}

/// The account that a row describes; `None` for a role, because no client logs in as a role.
///
/// # Errors
/// The row is not a row of [`query`]'s result.
pub fn account(version: &str, row: Row<'_>) -> Result<Option<Account>, MalformedRow> {
    match Dialect::of_version(version) {
        Dialect::MariaDb => mariadb::account(row),
        dialect => mysql::account(row, dialect).map(Some),
    }
}

/// The account of a row that [`account`] could not read. Its logins are passed through. Its name is in the
/// first two columns, for MySQL and MariaDB. `None` if even the name cannot be read.
pub fn unreadable(version: &str, row: Row<'_>, malformed: MalformedRow) -> Option<Account> {
    let values = Values(row);
    let (user, host) = (values.bytes(0)?, values.bytes(1)?);
    let (user, host) = (std::str::from_utf8(user), std::str::from_utf8(host));
    Some(Account {
        login_method: LoginMethod::PassedThrough(PassThrough::Unreadable(malformed)),
        ..empty_account(user.ok()?, host.ok()?, Dialect::of_version(version))
    })
}

#[cfg(test)]
mod tests;
