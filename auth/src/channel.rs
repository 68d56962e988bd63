//! How a password may pass to a backend: who could listen on the connection, and by whose key the password may be
//! encrypted if somebody could.
//!
//! A key that a server presents on a connection in clear proves nothing: any server that answers there can present its own
//! and has the password then.

use crate::Privacy;

/// By whose RSA key a password may be encrypted on a connection that others may listen to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKey<'a> {
    /// By none.
    Refused,
    /// By the one that the server presents.
    Asked,
    /// By this one, in PEM.
    Known(&'a [u8]),
}

/// A connection to a backend, as far as passwords are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel<'a> {
    /// Who could listen.
    pub privacy: Privacy,
    /// By whose key a password may be encrypted.
    pub key: ServerKey<'a>,
}

/// A password would have to pass in full, and may not on this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server asks for the full password, which the proxy does not send over a connection in clear. Use TLS \
     (backend_tls.mode), or set backend_tls.server_public_key or backend_tls.get_server_public_key"
)]
pub struct NotPrivate;

impl<'a> Channel<'a> {
    /// Nobody has configured anything about keys.
    pub fn keyless(privacy: Privacy) -> Self {
        let key = ServerKey::Refused;
        Self { privacy, key }
    }

    /// The key that may be used; the one that the server presents is good enough where no stranger can answer.
    pub fn server_key(self) -> ServerKey<'a> {
        match (self.key, self.privacy) {
            (ServerKey::Refused, Privacy::Local | Privacy::Tls) => ServerKey::Asked,
            (key, _) => key,
        }
    }
}
