//! A server that takes no client in clear (`require_secure_transport`).

use crate::host::release;
use crate::{Denial, Dialect};

/// Whether a server takes clients in clear. A Unix socket is as good as TLS to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecureTransport {
    /// It does.
    #[default]
    Optional,
    /// It does not, and says why.
    Required,
    /// It does not, and says what it says to a wrong password: MariaDB 10.11 does, 11.8 says why.
    RequiredInSilence,
}

impl SecureTransport {
    /// What a server of this version demands whose variable is on or off.
    pub fn of(version: &str, is_on: bool) -> Self {
        let is_mariadb = Dialect::of_version(version) == Dialect::MariaDb;
        match is_on {
            false => Self::Optional,
            true if is_mariadb && release(version) < (11, 0, 0) => Self::RequiredInSilence,
            true => Self::Required,
        }
    }

    /// What a client in clear is told.
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
