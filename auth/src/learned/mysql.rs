//! Rows of MySQL's `mysql.user`.

use serde::Deserialize;

use super::columns::{empty_account, expiry, login_method, verifier};
use super::row::{MalformedRow, Row, Values, some_text};
use crate::{Account, Conditions, Dialect, Expiry, LoginMethod, PassThrough, TlsRequirement};

macro_rules! query {
    ($attributes:literal) => {
        concat!(
            "SELECT User, Host, plugin, authentication_string, ",
            "ssl_type, ssl_cipher, x509_issuer, x509_subject, ",
            "max_user_connections, account_locked, password_expired, ",
            "UNIX_TIMESTAMP(password_last_changed), ",
            "IFNULL(password_lifetime, @@global.default_password_lifetime), ",
            $attributes,
            " FROM mysql.user"
        )
    };
}

pub(super) const QUERY: &str = query!("User_attributes");
/// The column came with 8.0.14.
pub(super) const QUERY_WITHOUT_ATTRIBUTES: &str = query!("NULL");

/// What `User_attributes` holds, as far as it concerns logins.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attributes {
    /// The former password's hash (`RETAIN CURRENT PASSWORD`).
    additional_password: Option<String>,
    #[serde(alias = "Multi_factor_authentication")]
    multi_factor_authentication: Option<serde_json::Value>,
    #[serde(rename = "Password_locking")]
    password_locking: Option<Locking>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Locking {
    failed_login_attempts: i64,
    password_lock_time_days: i64,
}

pub(super) fn account(row: Row<'_>, dialect: Dialect) -> Result<Account, MalformedRow> {
    let values = Values(row);
    let user = values.text(0, "User")?;
    let attributes = match values.bytes(13) {
        None => Attributes::default(),
        Some(json) => serde_json::from_slice(json).map_err(|_| MalformedRow("User_attributes"))?,
    };
    let lifetime_days = values.number(12, "password_lifetime")?.unwrap_or(0);
    let changed = values.number(11, "password_last_changed")?;
    let connections = values.number(8, "max_user_connections")?.unwrap_or(0);
    Ok(Account {
        login_method: login_method_of(&values, &attributes)?,
        conditions: Conditions {
            tls: tls(&values)?,
            locked: values.is_yes(9),
            expiry: match values.is_yes(10) {
                true => Expiry::Expired,
                false => expiry(changed, lifetime_days),
            },
            user_connections_max: u32::try_from(connections).ok().filter(|max| *max > 0),
            ..Conditions::default()
        },
        ..empty_account(user, values.text(1, "Host")?, dialect)
    })
}

fn login_method_of(
    values: &Values<'_>,
    attributes: &Attributes,
) -> Result<LoginMethod, MalformedRow> {
    if attributes.multi_factor_authentication.is_some() {
        return Ok(LoginMethod::PassedThrough(PassThrough::Factors));
    }
    if let Some(locking) = &attributes.password_locking
        && locking.failed_login_attempts != 0
        && locking.password_lock_time_days != 0
    {
        return Ok(LoginMethod::PassedThrough(PassThrough::CountsFailures));
    }
    let plugin = values.text(2, "plugin")?;
    let stored = values.bytes(3).unwrap_or_default();
    let former = attributes.additional_password.as_ref();
    let stored = [stored].into_iter().chain(former.map(String::as_bytes));
    Ok(login_method(
        stored.map(|stored| verifier(plugin, stored)).collect(),
    ))
}

fn tls(values: &Values<'_>) -> Result<TlsRequirement, MalformedRow> {
    Ok(match values.text(4, "ssl_type")? {
        "" => TlsRequirement::None,
        "ANY" => TlsRequirement::Any,
        "X509" => TlsRequirement::X509,
        "SPECIFIED" => TlsRequirement::Specified {
            // `acl_check_ssl` looks for a certificate before it looks for an issuer or a subject.
            has_certificate: true,
            cipher: some_text(values.text(5, "ssl_cipher")?),
            issuer: some_text(values.text(6, "x509_issuer")?),
            subject: some_text(values.text(7, "x509_subject")?),
        },
        _ => return Err(MalformedRow("ssl_type")),
    })
}
