//! The login dialogue after the handshake response: everything is relayed between client and
//! backend until the backend sends OK or ERR.
//!
//! Plugins that the proxy does not know may send in any order, so the proxy reads from both sides at the
//! same time. One thing is changed on the way. If only one of the two connections is private (TLS or a
//! Unix socket), `caching_sha2_password` and `sha256_password` send a password in clear on the private
//! one and encrypted on the other; see [`auth::key_exchange`]. On a backend connection without TLS, no
//! password is sent for a key that the backend presents, unless that is configured.

use std::fmt::Display;

use auth::key_exchange::encrypt;
use auth::plugin::{FULL_AUTHENTICATION, MORE_DATA, REQUEST_KEY_CACHING_SHA2, REQUEST_KEY_SHA256};
use auth::{Answer, KeyExchangeError, NotPrivate, OwnKey, Privacy, ServerKey};
use tokio::io::{AsyncRead, AsyncWrite};
use wire::auth::{AuthPacket, CACHING_SHA2_PASSWORD, SHA256_PASSWORD};
use wire::{Capabilities, errors};

use crate::failure::{Failure, FailureKind};
use crate::packets::{PacketError, PacketStream};

/// Flags that concern only the login and not the session after it.
pub const LOGIN_ONLY: Capabilities = Capabilities(
    Capabilities::SSL.0
        | Capabilities::COMPRESS.0
        | Capabilities::ZSTD_COMPRESSION_ALGORITHM.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS.0
        | Capabilities::MULTI_FACTOR_AUTHENTICATION.0
        | Capabilities::CAPABILITY_EXTENSION.0
        | Capabilities::SSL_VERIFY_SERVER_CERT.0
        | Capabilities::REMEMBER_OPTIONS.0
        | Capabilities::ODBC.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::IGNORE_SIGPIPE.0
        | Capabilities::RESERVED.0
        | Capabilities::TRANSACTIONS.0,
);

/// The two connections of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Legs {
    /// The privacy of the connection to the client.
    pub client: Privacy,
    /// The privacy of the connection to the backend.
    pub backend: Privacy,
}

/// How a password has to be changed on its way from one connection to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bridge {
    /// The password may be sent in clear on both connections, or on neither: bytes pass unchanged.
    None,
    /// The password arrives in clear and must be encrypted.
    ToOpenBackend,
    /// The password arrives encrypted and must be sent in clear.
    ToPrivateBackend,
}

impl Legs {
    /// Whether any password plugin needs a bridge.
    pub fn differ(self) -> bool {
        self.client != self.backend
    }

    fn bridge(self, plugin: &[u8]) -> Bridge {
        match (
            self.client.lets_pass(plugin),
            self.backend.lets_pass(plugin),
        ) {
            (true, false) => Bridge::ToOpenBackend,
            (false, true) => Bridge::ToPrivateBackend,
            _ => Bridge::None,
        }
    }
}

/// How a dialogue ended; the payload has been relayed.
pub enum AuthEnd {
    /// The payload of the OK packet.
    Ok(Vec<u8>),
    /// The payload of the ERR packet.
    Err(Vec<u8>),
}

/// How far the exchange of a password has come, on a bridge.
#[derive(Debug, Default)]
pub enum Exchange {
    /// No password is being exchanged.
    #[default]
    None,
    /// The client's next payload is the password (in clear, or encrypted for the proxy's key), or
    /// it is `request`: then the client wants the proxy's key.
    PasswordDue {
        /// The byte with which the client asks for a key.
        request: u8,
    },
    /// The backend's next data is its public key, for this password.
    KeyDue {
        /// The password, not yet encrypted.
        password: Answer,
    },
    /// The backend must not receive this password on this connection.
    Withheld {
        /// The password, which is not sent.
        password: Answer,
    },
}

/// Observes the packets that the backend sends during a login.
pub trait LoginObserver {
    /// Called when the two sides have agreed on the capabilities, with the host and the port of the backend, if it has
    /// any.
    fn begins(&mut self, _capabilities: Capabilities, _backend: Option<(&str, u16)>) {}

    /// Returns what the client gets in place of `payload`.
    fn observe(&mut self, payload: &[u8]) -> Relayed;
}

/// The packet that the client gets for a packet of the backend.
pub enum Relayed {
    /// The packet itself.
    AsItIs,
    /// These packets instead.
    Instead(Vec<Vec<u8>>),
    /// These packets instead, and nothing after them; the text says why the session ends.
    Last(Vec<Vec<u8>>, &'static str),
}

/// One login dialogue.
pub struct Dialogue<'a, T> {
    /// The client.
    pub client: &'a mut PacketStream<T>,
    /// The backend.
    pub backend: &'a mut PacketStream<T>,
    /// The name of the backend, for messages.
    pub backend_name: &'a str,
    /// How private both connections are.
    pub legs: Legs,
    /// The RSA key of the proxy.
    pub own_key: &'a OwnKey,
    /// The key with which a password may be encrypted for the backend.
    pub server_key: ServerKey<'a>,
    /// The name of the current plugin.
    pub plugin: Vec<u8>,
    /// The last scramble that the plugin was given.
    pub scramble: Vec<u8>,
    /// How far the exchange of a password has come.
    pub exchange: Exchange,
    /// Observes the backend's packets.
    pub observer: Option<&'a mut dyn LoginObserver>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Dialogue<'_, T> {
    /// Relays packets until the backend sends OK or ERR.
    pub async fn run(&mut self) -> Result<AuthEnd, Failure> {
        loop {
            tokio::select! {
                biased;
                payload = self.backend.read() => {
                    if let Some(end) = self.relay_from_backend(payload.map_err(|error| backend_broke(self.backend_name, error))?).await? {
                        return Ok(end);
                    }
                }
                payload = self.client.read() => {
                    self.relay_from_client(payload.map_err(client_broke)?).await?;
                }
            }
        }
    }

    /// Returns what the backend gets for the answer in the handshake response itself. sha256_password begins there.
    pub async fn first_answer(&mut self, answer: &[u8]) -> Result<Answer, Failure> {
        match (
            self.plugin == SHA256_PASSWORD,
            self.legs.bridge(SHA256_PASSWORD),
        ) {
            (true, Bridge::ToOpenBackend) if answer.len() > 1 => {
                self.encrypted(answer.to_vec().into(), REQUEST_KEY_SHA256)
            }
            (true, Bridge::ToPrivateBackend) if answer == [REQUEST_KEY_SHA256] => {
                self.offer_key().await?;
                let encrypted = self.client.read().await.map_err(client_broke)?;
                self.decrypt(&encrypted)
            }
            _ => Ok(answer.to_vec().into()),
        }
    }

    /// Returns what the backend gets for a password that arrived in clear: the encrypted password
    /// if the key is known, or the request for the backend's key.
    fn encrypted(&mut self, password: Answer, request: u8) -> Result<Answer, Failure> {
        match self.server_key {
            ServerKey::Known(key) => {
                let encrypted = encrypt(&password, &self.scramble, key);
                encrypted.map(Answer::new).map_err(key_exchange)
            }
            ServerKey::Asked => {
                self.exchange = Exchange::KeyDue { password };
                Ok(vec![request].into())
            }
            ServerKey::Refused => {
                self.exchange = Exchange::Withheld { password };
                Err(not_private(self.backend_name))
            }
        }
    }

    /// Relays the packet that ends a login.
    pub async fn conclude(&mut self, payload: Vec<u8>) -> Result<AuthEnd, Failure> {
        let end = self.relay_from_backend(payload).await?;
        end.ok_or_else(|| backend_failed(self.backend_name, "its login has no end"))
    }

    async fn relay_from_backend(&mut self, payload: Vec<u8>) -> Result<Option<AuthEnd>, Failure> {
        let packet = AuthPacket::decode(&payload).map_err(|error| {
            let cause = format!("its login packet makes no sense: {error}");
            backend_failed(self.backend_name, cause)
        })?;
        match (packet, std::mem::take(&mut self.exchange)) {
            (AuthPacket::MoreData(key), Exchange::KeyDue { password }) => {
                let encrypted = encrypt(&password, &self.scramble, key).map_err(key_exchange)?;
                self.send(&encrypted).await?;
                return Ok(None);
            }
            (AuthPacket::Switch { plugin, data } | AuthPacket::NextFactor { plugin, data }, _) => {
                self.plugin = plugin.to_vec();
                self.scramble = data.strip_suffix(&[0]).unwrap_or(data).to_vec();
                self.expect_password(SHA256_PASSWORD, REQUEST_KEY_SHA256);
            }
            (AuthPacket::MoreData([FULL_AUTHENTICATION]), _) => {
                self.expect_password(CACHING_SHA2_PASSWORD, REQUEST_KEY_CACHING_SHA2);
            }
            (_, exchange) => self.exchange = exchange,
        }
        let end: Option<fn(Vec<u8>) -> AuthEnd> = match packet {
            AuthPacket::Ok => Some(AuthEnd::Ok),
            AuthPacket::Err => Some(AuthEnd::Err),
            _ => None,
        };
        let said = match &mut self.observer {
            Some(observer) => observer.observe(&payload),
            None => Relayed::AsItIs,
        };
        match said {
            Relayed::AsItIs => self.tell(&payload).await?,
            Relayed::Instead(payloads) => self.tell_all(&payloads).await?,
            Relayed::Last(payloads, why) => {
                self.tell_all(&payloads).await?;
                return Err(Failure::new(FailureKind::ScriptEnded, why));
            }
        }
        Ok(end.map(|end| end(payload)))
    }

    async fn tell(&mut self, payload: &[u8]) -> Result<(), Failure> {
        let sent = self.client.write(payload).await;
        sent.map_err(|error| client_broke(error.into()))
    }

    async fn tell_all(&mut self, payloads: &[Vec<u8>]) -> Result<(), Failure> {
        for payload in payloads {
            self.tell(payload).await?;
        }
        Ok(())
    }

    async fn relay_from_client(&mut self, payload: Vec<u8>) -> Result<(), Failure> {
        match (&self.exchange, self.legs.bridge(&self.plugin)) {
            // A lone NUL is the empty password, which is passed on unchanged.
            (Exchange::PasswordDue { request }, Bridge::ToOpenBackend) if payload != [0] => {
                let request = *request;
                let encrypted = self.encrypted(payload.into(), request)?;
                self.send(&encrypted).await
            }
            (Exchange::PasswordDue { request }, Bridge::ToPrivateBackend)
                if payload == [*request] =>
            {
                self.offer_key().await
            }
            (Exchange::PasswordDue { .. }, Bridge::ToPrivateBackend) if payload != [0] => {
                self.exchange = Exchange::None;
                let password = self.decrypt(&payload)?;
                self.send(&password).await
            }
            _ => self.send(&payload).await,
        }
    }

    fn expect_password(&mut self, plugin: &[u8], request: u8) {
        self.exchange = match self.plugin == plugin && self.legs.bridge(plugin) != Bridge::None {
            true => Exchange::PasswordDue { request },
            false => Exchange::None,
        };
    }

    /// Sends the proxy's public key to the client.
    async fn offer_key(&mut self) -> Result<(), Failure> {
        let mut payload = vec![MORE_DATA];
        payload.extend_from_slice(self.own_key.public_pem().map_err(key_exchange)?);
        self.client
            .write(&payload)
            .await
            .map_err(|error| client_broke(error.into()))
    }

    fn decrypt(&self, encrypted: &[u8]) -> Result<Answer, Failure> {
        self.own_key
            .decrypt(encrypted, &self.scramble)
            .map_err(key_exchange)
    }

    /// Sends a payload to the backend.
    pub async fn send(&mut self, payload: &[u8]) -> Result<(), Failure> {
        self.backend
            .write(payload)
            .await
            .map_err(|error| backend_broke(self.backend_name, error.into()))
    }
}

/// The failure if the backend wants a password in full on a connection that is not private.
pub fn not_private(name: &str) -> Failure {
    Failure::saying(
        FailureKind::FullAuthentication,
        errors::cannot_open(name, NotPrivate),
    )
}

/// The failure if a password cannot be read or encrypted.
pub fn key_exchange(error: KeyExchangeError) -> Failure {
    Failure::saying(FailureKind::KeyExchange, errors::key_exchange_failed(error))
}

/// The failure if the client breaks the protocol, or closes the connection.
pub fn client_broke(error: PacketError) -> Failure {
    match &error {
        PacketError::Closed | PacketError::Truncated | PacketError::Io(_) => {
            let cause = format!("the client has broken off its login: {error}");
            Failure::new(FailureKind::LoginAbandoned, cause)
        }
        PacketError::MemoryFull => {
            Failure::saying(FailureKind::MemoryFull, errors::memory_full("the login"))
        }
        PacketError::OutOfOrder { .. } | PacketError::TooLong(_) | PacketError::ProxyHeader => {
            Failure::saying(FailureKind::LoginMalformed, errors::login_malformed(error))
        }
    }
}

/// The failure if the backend breaks the protocol, or closes the connection.
pub fn backend_broke(name: &str, error: PacketError) -> Failure {
    backend_failed(name, format!("it has broken off the login: {error}"))
}

fn backend_failed(name: &str, cause: impl Display) -> Failure {
    Failure::saying(FailureKind::BackendLogin, errors::cannot_open(name, cause))
}

#[cfg(test)]
mod tests;
