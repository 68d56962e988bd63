//! How the proxy may send a password to a backend: whether attackers could listen on the connection, and for which key
//! the password may be encrypted if they could.
//!
//! A key that a server presents on a connection in clear proves nothing: any server that answers can present its own
//! key, and gets the password.

use crate::Privacy;

/// The RSA key for which a password may be encrypted on a connection that attackers may listen to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKey<'a> {
    /// No key.
    Refused,
    /// The key that the server presents.
    Asked,
    /// This key, in PEM.
    Known(&'a [u8]),
}

/// A connection to a backend, as far as passwords are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel<'a> {
    /// Who could listen on the connection.
    pub privacy: Privacy,
    /// The key for which a password may be encrypted.
    pub key: ServerKey<'a>,
}

/// The server wants the whole password, which must not be sent on this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server asks for the full password, which the proxy does not send over a connection in clear. Use TLS \
     (backend_tls.mode), or set backend_tls.server_public_key or backend_tls.get_server_public_key"
)]
pub struct NotPrivate;

impl<'a> Channel<'a> {
    /// A connection without any configured key.
    pub fn keyless(privacy: Privacy) -> Self {
        let key = ServerKey::Refused;
        Self { privacy, key }
    }

    /// The key that may be used. The server's own key is good enough if no attacker can answer on the connection.
    pub fn server_key(self) -> ServerKey<'a> {
        match (self.key, self.privacy) {
            (ServerKey::Refused, Privacy::Local | Privacy::Tls) => ServerKey::Asked,
            (key, _) => key,
        }
    }
}
