//! The current configuration, as sessions and connections use it.

use std::sync::Arc;

use auth::ServerKey;
use config::Config;
use net::tls::{ClientTls, ServerTls};
use route::rules::Compiled;

/// A snapshot of the configuration that sessions read, made anew at each reload. A session keeps
/// the snapshot that it began with.
#[derive(Clone)]
pub struct Settings {
    /// The configuration.
    pub config: Arc<Config>,
    /// Its rules, and the meaning of hints.
    pub rules: Arc<Compiled>,
    /// TLS towards clients; `None` when it is off.
    pub client_tls: Option<Arc<ServerTls>>,
    /// TLS towards backends; `None` when it is off.
    pub backend_tls: Option<Arc<ClientTls>>,
    /// TLS for backends that ask for a full password, when it is off otherwise.
    pub password_tls: Option<Arc<ClientTls>>,
    /// The backends' public key, in PEM.
    pub backend_key: Option<Arc<[u8]>>,
}

impl Settings {
    /// The key with which a password may be encrypted on a connection without TLS.
    pub fn server_key(&self) -> ServerKey<'_> {
        match &self.backend_key {
            Some(key) => ServerKey::Known(key),
            None if self.config.backend_tls.get_server_public_key => ServerKey::Asked,
            None => ServerKey::Refused,
        }
    }
}
