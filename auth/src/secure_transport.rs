//! Servers that accept no clients without TLS (`require_secure_transport`).

use crate::host::release;
use crate::{Denial, Dialect};

/// Whether a server accepts clients without TLS. A Unix socket counts as secure, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecureTransport {
    /// The server accepts them.
    #[default]
    Optional,
    /// The server refuses them, with an error that names the reason.
    Required,
    /// The server refuses them with the error for a wrong password. MariaDB 10.11 does so; 11.8 names the reason.
    RequiredInSilence,
}

impl SecureTransport {
    /// The requirement of a server of this version. `is_on`: its variable.
    pub fn of(version: &str, is_on: bool) -> Self {
        let is_mariadb = Dialect::of_version(version) == Dialect::MariaDb;
        match is_on {
            false => Self::Optional,
            true if is_mariadb && release(version) < (11, 0, 0) => Self::RequiredInSilence,
            true => Self::Required,
        }
    }

    /// The error for a client without TLS, if it is refused.
    pub fn denial(self, password_used: bool) -> Option<Denial> {
        match self {
            Self::Optional => None,
            Self::Required => Some(Denial::InsecureTransport),
            Self::RequiredInSilence => Some(Denial::Access { password_used }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_tls_gets_the_servers_error() {
        let told = |version, is_on| SecureTransport::of(version, is_on).denial(true);
        let as_wrong = Some(Denial::Access {
            password_used: true,
        });
        assert_eq!(told("10.11.19-MariaDB", true), as_wrong);
        assert_eq!(
            told("11.8.9-MariaDB", true),
            Some(Denial::InsecureTransport)
        );
        assert_eq!(told("9.7.4", true), Some(Denial::InsecureTransport));
        for version in ["10.11.19-MariaDB", "11.8.9-MariaDB", "9.7.4"] {
            assert_eq!(told(version, false), None);
        }
    }
}
