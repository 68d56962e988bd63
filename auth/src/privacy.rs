//! Who could listen in on a connection, which decides how a password may pass there.

use wire::auth::{CACHING_SHA2_PASSWORD, SHA256_PASSWORD};

use crate::plugin::{DIALOG, MYSQL_CLEAR_PASSWORD};

/// Who could listen on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// Every machine on the network path.
    Open,
    /// Only this machine's root: a Unix socket.
    Local,
    /// No one: the connection is encrypted with TLS.
    Tls,
}

impl Privacy {
    /// Whether `plugin` (its client's name) may send a password in clear over this connection.
    ///
    /// A Unix socket is private enough for caching_sha2_password, on both ends
    /// (`is_secure_transport`), but not for sha256_password, which wants TLS (`my_vio_is_encrypted`).
    pub fn lets_pass(self, plugin: &[u8]) -> bool {
        match plugin {
            CACHING_SHA2_PASSWORD | MYSQL_CLEAR_PASSWORD | DIALOG => self != Self::Open,
            SHA256_PASSWORD => self == Self::Tls,
            _ => false,
        }
    }
}
