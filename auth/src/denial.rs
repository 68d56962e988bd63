//! Why a login is refused, and the error that the client gets: the servers' own numbers and texts.

use std::fmt;

use wire::errors::{self, ProxyError};

use crate::Dialect;

/// Why a login is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// An unknown account, a wrong password, or an unmet requirement: the client gets the same error.
    Access {
        /// Whether a password was tried.
        password_used: bool,
    },
    /// The answer has a length that its plugin never gives.
    Handshake,
    /// The client does not support the plugin that the account needs (no PLUGIN_AUTH).
    ClientTooOld,
    /// The password was right; the account is locked.
    Locked,
    /// The client uses no TLS, and the server accepts only clients with TLS.
    InsecureTransport,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Access {
                password_used: true,
            } => "the account or its password is wrong",
            Self::Access {
                password_used: false,
            } => "the account is wrong, or needs a password",
            Self::Handshake => "the answer has a length that its plugin never gives",
            Self::ClientTooOld => "the client cannot be asked by another plugin",
            Self::Locked => "the account is locked",
            Self::InsecureTransport => "the client uses no TLS",
        })
    }
}

impl Denial {
    /// The ERR payload that a server of this family would send for `user` from `host`.
    pub fn payload(self, dialect: Dialect, user: &[u8], host: &str) -> Vec<u8> {
        let user = String::from_utf8_lossy(user);
        let user: String = match dialect {
            Dialect::MariaDb => user.into_owned(),
            // `%-.48s` in MySQL's texts.
            Dialect::MySql | Dialect::MySqlWithoutCidr => user.chars().take(48).collect(),
        };
        self.error(dialect, &user, host).payload()
    }

    fn error(self, dialect: Dialect, user: &str, host: &str) -> ProxyError {
        match (self, dialect) {
            (Self::Access { password_used }, _) => {
                let used = if password_used { "YES" } else { "NO" };
                errors::access_denied(user, host, used)
            }
            (Self::Handshake, _) => errors::answer_malformed(),
            (Self::ClientTooOld, dialect) => {
                let product = match dialect {
                    Dialect::MariaDb => "MariaDB",
                    Dialect::MySql | Dialect::MySqlWithoutCidr => "MySQL",
                };
                errors::client_too_old(product)
            }
            (Self::InsecureTransport, dialect) => {
                let mut error = errors::tls_required_by_servers();
                if dialect == Dialect::MariaDb {
                    error.code.sqlstate = *b"08004";
                }
                error
            }
            (Self::Locked, Dialect::MariaDb) => errors::this_account_locked(),
            (Self::Locked, Dialect::MySql | Dialect::MySqlWithoutCidr) => {
                errors::account_locked(user, host)
            }
        }
    }
}
