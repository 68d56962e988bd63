//! Why somebody is not let in, and what he is told: the servers' own numbers and words.

use std::fmt;

use wire::{ErrPacket, ErrorCode};

use crate::Dialect;

/// Why a login is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// No such account here, a wrong password, or a requirement not met: they sound alike.
    Access {
        /// Whether a password was tried.
        password_used: bool,
    },
    /// An answer of a length that its plugin never gives.
    Handshake,
    /// The client cannot be asked for what the account needs (no PLUGIN_AUTH).
    ClientTooOld,
    /// The password was right; the account is locked.
    Locked,
    /// The client uses no TLS, and the server takes no such clients.
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
        let (code, text) = self.words(dialect, &user, host);
        let mut payload = Vec::new();
        ErrPacket {
            number: code.number,
            sqlstate: Some(code.sqlstate),
            text: text.as_bytes(),
        }
        .encode(&mut payload);
        payload
    }

    fn words(self, dialect: Dialect, user: &str, host: &str) -> (ErrorCode, String) {
        let code = |number, sqlstate: &[u8; 5]| ErrorCode {
            number,
            sqlstate: *sqlstate,
        };
        match (self, dialect) {
            (Self::Access { password_used }, _) => {
                let used = if password_used { "YES" } else { "NO" };
                let text =
                    format!("Access denied for user '{user}'@'{host}' (using password: {used})");
                (ErrorCode::ACCESS_DENIED, text)
            }
            (Self::Handshake, _) => (ErrorCode::HANDSHAKE, "Bad handshake".to_owned()),
            (Self::ClientTooOld, dialect) => {
                let product = match dialect {
                    Dialect::MariaDb => "MariaDB",
                    Dialect::MySql | Dialect::MySqlWithoutCidr => "MySQL",
                };
                let text = format!(
                    "Client does not support authentication protocol requested by server; consider upgrading {product} client"
                );
                (code(1251, b"08004"), text) // ER_NOT_SUPPORTED_AUTH_MODE
            }
            (Self::InsecureTransport, dialect) => {
                let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
                let sqlstate = match dialect {
                    Dialect::MariaDb => b"08004",
                    Dialect::MySql | Dialect::MySqlWithoutCidr => b"HY000",
                };
                (code(3159, sqlstate), text.to_owned()) // ER_SECURE_TRANSPORT_REQUIRED
            }
            (Self::Locked, Dialect::MariaDb) => {
                let text = "Access denied, this account is locked".to_owned();
                (code(4151, b"HY000"), text) // ER_ACCOUNT_HAS_BEEN_LOCKED
            }
            (Self::Locked, Dialect::MySql | Dialect::MySqlWithoutCidr) => {
                let text = format!("Access denied for user '{user}'@'{host}'. Account is locked.");
                (code(3118, b"HY000"), text) // ER_ACCOUNT_HAS_BEEN_LOCKED
            }
        }
    }
}
