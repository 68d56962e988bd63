//! Rows of MariaDB's `mysql.global_priv`, whose `Priv` is a JSON object.

use serde::Deserialize;

use super::columns::{empty_account, expiry, login_method, verifier};
use super::row::{MalformedRow, Row, Values, some_text};
use crate::{Account, Conditions, Dialect, Expiry, LoginMethod, PassThrough, TlsRequirement};

pub(super) const QUERY: &str =
    "SELECT User, Host, Priv, @@global.default_password_lifetime FROM mysql.global_priv";

/// This plugin checks the user of the client's process at the other end of a Unix socket. Behind a proxy
/// that process is the proxy itself.
const UNIX_SOCKET: &str = "unix_socket";

/// `Priv`, as far as it concerns logins (`User_table_json` of `sql_acl.cc`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Priv {
    is_role: bool,
    #[serde(flatten)]
    first: Alternative,
    /// Alternatives, tried in this order, any one of which suffices; an empty one stands for `first`.
    auth_or: Option<Vec<Option<Alternative>>>,
    account_locked: bool,
    ssl_type: u8,
    ssl_cipher: String,
    x509_issuer: String,
    x509_subject: String,
    /// Seconds since 1970; 0: the password must be changed at once.
    password_last_changed: Option<u64>,
    /// Days; -1: the server's default.
    password_lifetime: Option<i64>,
    max_user_connections: i64,
    default_role: Option<String>,
}

#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(default)]
struct Alternative {
    plugin: Option<String>,
    authentication_string: Option<String>,
}

pub(super) fn account(row: Row<'_>) -> Result<Option<Account>, MalformedRow> {
    let values = Values(row);
    let json = values.bytes(2).ok_or(MalformedRow("Priv"))?;
    let found: Priv = serde_json::from_slice(json).map_err(|_| MalformedRow("Priv"))?;
    if found.is_role {
        return Ok(None);
    }
    let default_days = values.number(3, "default_password_lifetime")?.unwrap_or(0);
    let (user, host) = (values.text(0, "User")?, values.text(1, "Host")?);
    Ok(Some(Account {
        login_method: login_method_of(&found),
        conditions: Conditions {
            tls: tls(&found)?,
            locked: found.account_locked,
            expiry: match (found.password_last_changed, found.password_lifetime) {
                (Some(0), _) => Expiry::Expired,
                (changed, lifetime) => {
                    let days = lifetime.and_then(|days| u64::try_from(days).ok());
                    expiry(changed, days.unwrap_or(default_days))
                }
            },
            user_connections_max: u32::try_from(found.max_user_connections)
                .ok()
                .filter(|max| *max > 0),
            ..Conditions::default()
        },
        default_role: found.default_role.filter(|role| !role.is_empty()),
        ..empty_account(user, host, Dialect::MariaDb)
    }))
}

fn login_method_of(found: &Priv) -> LoginMethod {
    if found.max_user_connections < 0 {
        return LoginMethod::PassedThrough(PassThrough::NoConnection);
    }
    let listed = found.auth_or.as_deref().unwrap_or(&[None]);
    let all = listed.iter().map(|listed| match listed {
        Some(alternative) if alternative.plugin.is_some() => alternative,
        _ => &found.first,
    });
    let name = |it: &Alternative| it.plugin.clone().unwrap_or_default();
    let (sockets, others): (Vec<_>, Vec<_>) = all.partition(|it| name(it) == UNIX_SOCKET);
    let asked = if others.is_empty() { sockets } else { others };
    let verifiers = asked.into_iter().map(|it| {
        let stored = it.authentication_string.as_deref().unwrap_or_default();
        verifier(&name(it), stored.as_bytes())
    });
    login_method(verifiers.collect())
}

fn tls(found: &Priv) -> Result<TlsRequirement, MalformedRow> {
    Ok(match found.ssl_type {
        0 => TlsRequirement::None,
        1 => TlsRequirement::Any,
        2 => TlsRequirement::X509,
        3 => TlsRequirement::Specified {
            has_certificate: false,
            cipher: some_text(&found.ssl_cipher),
            issuer: some_text(&found.x509_issuer),
            subject: some_text(&found.x509_subject),
        },
        _ => return Err(MalformedRow("ssl_type")),
    })
}
