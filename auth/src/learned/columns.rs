//! The meaning of single columns of a grant table, for MySQL and MariaDB.

use std::time::Duration;

use crate::{
    Account, Dialect, Expiry, HostPattern, LoginMethod, PassThrough, Plugin, Source, Verifier,
};

/// The verifier of an account with this plugin (by its server's name) and this stored hash.
pub(super) fn verifier(plugin: &str, stored: &[u8]) -> Result<Verifier, PassThrough> {
    let known = match plugin {
        // Empty in old rows, from before there were plugins.
        "" | "mysql_native_password" => Plugin::Native,
        "caching_sha2_password" => Plugin::CachingSha2,
        // The plugin's proof yields no credential for a backend.
        _ => return Err(PassThrough::Plugin(plugin.to_owned())),
    };
    let parsed = Verifier::parse(known, stored);
    // As with the servers: no password gives this hash ("invalid", the `mysql.sys` of MySQL).
    Ok(parsed.unwrap_or_else(|_| Verifier::Empty(known).unknown([0; 32])))
}

/// When a password expires. `last_changed`: seconds since 1970. `lifetime_days`: 0 means that it never expires.
pub(super) fn expiry(last_changed: Option<u64>, lifetime_days: u64) -> Expiry {
    const DAY: u64 = 24 * 60 * 60;
    match (last_changed, lifetime_days) {
        (None, _) | (_, 0) => Expiry::Never,
        (Some(changed), days) => {
            let at = changed.saturating_add(days.saturating_mul(DAY));
            Expiry::At(Duration::from_secs(at))
        }
    }
}

pub(super) fn empty_account(user: &str, host: &str, dialect: Dialect) -> Account {
    Account {
        source: Source::Learned,
        ..Account::new(user, HostPattern::new(host, dialect), Vec::new())
    }
}

/// The login method of an account with these verifiers, any one of which suffices.
pub(super) fn login_method(verifiers: Vec<Result<Verifier, PassThrough>>) -> LoginMethod {
    match verifiers.into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(verifiers) => LoginMethod::Examined(verifiers.into()),
        Err(reason) => LoginMethod::PassedThrough(reason),
    }
}
