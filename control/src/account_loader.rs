//! One attempt to load the servers' accounts: from one backend, or else from the next.

use std::sync::Arc;
use std::time::Duration;

use auth::learned::{account, query, unreadable};
use auth::{Account, Dialect, Directory, Names, Rules, SecureTransport};
use tokio::time::timeout;

use crate::connection::Connection;
use crate::failure::{Failure, printable};
use crate::grant::grant;
use crate::login::{Access, Destination, Entry};
use crate::rows::Bounds;

/// A backend that may be asked.
#[derive(Debug, Clone)]
pub(crate) struct Teacher {
    pub name: String,
    pub destination: Destination,
}

/// The accounts that an attempt has loaded.
#[derive(Debug)]
pub(crate) struct LoadedAccounts {
    /// The name of the backend that was asked.
    pub backend: String,
    /// All accounts; `None` if they are unchanged.
    pub news: Option<Arc<Directory>>,
}

/// Why no accounts were loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadError {
    /// The backend that was asked first; `None` if there is no backend to ask.
    pub backend: Option<String>,
    /// The cause, in words.
    pub cause: String,
    /// The statement that would help, if a privilege is missing.
    pub missing: Option<String>,
}

/// For one server's accounts: a million accounts of some hundred bytes each.
const BOUNDS: Bounds = Bounds {
    rows: 1_000_000,
    bytes: 256 << 20,
};

/// For the one row about the server.
const PARTICULARS_BOUNDS: Bounds = Bounds {
    rows: 1,
    bytes: 16 << 10,
};

/// The longest that one server may take for all its accounts.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Asks for the server's version, its matching rules, and the proxy's own account as GRANT takes it.
const PARTICULARS: &str = "SELECT VERSION(), @@global.skip_name_resolve, CURRENT_USER()";

/// Servers before MySQL 5.7.8 and MariaDB 10.5 do not have this variable, so they return no row.
const SECURE_TRANSPORT: &str = "SHOW GLOBAL VARIABLES LIKE 'require_secure_transport'";

/// Errors that mean a missing privilege.
const NO_PRIVILEGE: [u16; 3] = [
    1044, // ER_DBACCESS_DENIED_ERROR
    1142, // ER_TABLEACCESS_DENIED_ERROR
    1143, // ER_COLUMNACCESS_DENIED_ERROR
];

/// Asks the teachers in turn until one answers. `before` is the directory that was learned last, `secret` is for
/// [`Directory::new`].
///
/// # Errors
/// The error of the first teacher, if none answers.
pub(crate) async fn learn(
    access: &Access,
    teachers: &[Teacher],
    before: Option<Arc<Directory>>,
    secret: [u8; 32],
) -> Result<LoadedAccounts, LoadError> {
    if access.account.is_none() {
        return Err(LoadError::without_teacher(
            "there is no health.monitor_user",
        ));
    }
    let mut trouble = None;
    for teacher in teachers {
        match learn_from(access, teacher).await {
            Ok(learned) => {
                let news = build(learned, before, secret).await;
                let backend = teacher.name.clone();
                return Ok(LoadedAccounts { backend, news });
            }
            Err(met) => trouble = trouble.or(Some(met)),
        }
    }
    Err(trouble.unwrap_or_else(|| LoadError::without_teacher("no backend is up")))
}

async fn learn_from(access: &Access, teacher: &Teacher) -> Result<Learned, LoadError> {
    let trouble = |cause: String| LoadError {
        backend: Some(teacher.name.clone()),
        cause,
        missing: None,
    };
    let entry = access.log_in(&teacher.destination).await;
    let mut connection = match entry.map_err(|failure| trouble(failure.to_string()))? {
        Entry::In(connection) => connection,
        Entry::Refused { text, .. } => return Err(trouble(text)),
    };
    let asking = timeout(TIME_MAX, ask(access, &mut connection));
    let late = || Failure::Io(format!("its accounts took longer than {TIME_MAX:?}"));
    match asking.await.unwrap_or_else(|_| Err((late(), None))) {
        Ok(learned) => {
            connection.quit().await;
            Ok(learned)
        }
        Err((failure, missing)) => Err(LoadError {
            missing,
            ..trouble(failure.to_string())
        }),
    }
}

/// One server's answers.
struct Learned {
    rules: Rules,
    secure_transport: SecureTransport,
    accounts: Vec<Account>,
}

/// What the server says about itself.
struct Particulars {
    version: String,
    names: Names,
    /// The monitor account as the server knows it, `user@host`.
    current_user: String,
    secure_transport: SecureTransport,
}

/// The accounts and the server's rules; or the failure, with the statement that would help.
async fn ask(
    access: &Access,
    connection: &mut Connection,
) -> Result<Learned, (Failure, Option<String>)> {
    let asked = access.in_time(particulars(connection)).await;
    let server = asked.map_err(|failure| (failure, None))?;
    let rules = Rules {
        dialect: Dialect::of_version(&server.version),
        names: server.names,
    };
    let statement = query(&server.version);
    match read_accounts(access, connection, &server.version, statement).await {
        Ok(accounts) => Ok(Learned {
            rules,
            secure_transport: server.secure_transport,
            accounts,
        }),
        Err(failure) => {
            let missing = missing_grant(&failure, rules.dialect, &server.current_user);
            Err((failure, missing))
        }
    }
}

async fn particulars(connection: &mut Connection) -> Result<Particulars, Failure> {
    let rows = connection.query(PARTICULARS, PARTICULARS_BOUNDS).await?;
    let row = rows.only().await?;
    let values = row.values()?;
    let text = |column: usize| {
        let value = values.get(column).copied().flatten();
        printable(value.unwrap_or_default())
    };
    let (version, skips_names, current_user) = (text(0), text(1), text(2));
    let is_secure = demands_secure_transport(connection).await?;
    Ok(Particulars {
        names: match skips_names.as_str() {
            "1" | "ON" => Names::Skipped,
            _ => Names::Resolved,
        },
        current_user,
        secure_transport: SecureTransport::of(&version, is_secure),
        version,
    })
}

async fn demands_secure_transport(connection: &mut Connection) -> Result<bool, Failure> {
    let mut rows = connection
        .query(SECURE_TRANSPORT, PARTICULARS_BOUNDS)
        .await?;
    let mut is_on = false;
    while let Some(row) = rows.next().await? {
        let values = row.values()?;
        is_on = matches!(values.get(1).copied().flatten(), Some(b"ON" | b"1"));
    }
    Ok(is_on)
}

/// Reads the accounts with a statement of [`auth::learned`].
pub(crate) async fn read_accounts(
    access: &Access,
    connection: &mut Connection,
    version: &str,
    statement: &str,
) -> Result<Vec<Account>, Failure> {
    let asking = connection.query(statement, BOUNDS);
    let mut rows = access.in_time(asking).await?;
    let mut accounts = Vec::new();
    while let Some(row) = access.in_time(rows.next()).await? {
        let values = row.values()?;
        match account(version, &values) {
            Ok(found) => accounts.extend(found),
            Err(malformed) => match unreadable(version, &values, malformed) {
                Some(found) => accounts.push(found),
                None => return Err(Failure::NotMysql(malformed.to_string())),
            },
        }
    }
    Ok(accounts)
}

/// Builds the directory on a blocking thread: for a million accounts it takes seconds, and the loop must not wait.
async fn build(
    learned: Learned,
    before: Option<Arc<Directory>>,
    secret: [u8; 32],
) -> Option<Arc<Directory>> {
    let building = tokio::task::spawn_blocking(move || {
        let directory = Directory::new(learned.rules, learned.accounts, secret);
        let directory = directory.with_secure_transport(learned.secure_transport);
        let is_same = before.is_some_and(|before| before.is_same(&directory));
        (!is_same).then(|| Arc::new(directory))
    });
    building.await.unwrap_or_else(|panic| {
        tracing::error!(%panic, "the proxy has failed to sort the accounts that it has read; please report this line");
        None
    })
}

/// The GRANT statement for the privilege that the server missed when it refused.
fn missing_grant(failure: &Failure, dialect: Dialect, current_user: &str) -> Option<String> {
    let Failure::Refused { number, .. } = failure else {
        return None;
    };
    let table = match dialect {
        Dialect::MariaDb => "mysql.global_priv",
        Dialect::MySql | Dialect::MySqlWithoutCidr => "mysql.user",
    };
    let is_told = NO_PRIVILEGE.contains(number) && current_user.contains('@');
    is_told.then(|| grant(&format!("SELECT ON {table}"), current_user))
}

impl LoadError {
    /// The error of an attempt that panicked.
    pub(crate) fn of(panic: &tokio::task::JoinError) -> LoadError {
        LoadError::without_teacher(&panic.to_string())
    }

    fn without_teacher(cause: &str) -> LoadError {
        LoadError {
            backend: None,
            cause: cause.to_owned(),
            missing: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suggested_grant_for_learning_has_quoted_names() {
        let refused = |number| Failure::Refused {
            number,
            text: "SELECT command denied".to_owned(),
        };
        let missing = |number, dialect| missing_grant(&refused(number), dialect, "o'neil@10.%");
        assert_eq!(
            missing(1142, Dialect::MySql).as_deref(),
            Some("GRANT SELECT ON mysql.user TO 'o''neil'@'10.%'")
        );
        assert_eq!(
            missing(1142, Dialect::MariaDb).as_deref(),
            Some("GRANT SELECT ON mysql.global_priv TO 'o''neil'@'10.%'")
        );
        assert_eq!(missing(1146, Dialect::MariaDb), None);
    }
}
