//! A login of the control plane to a backend: greeting, TLS, authentication.

use std::time::Duration;

use auth::{Challenge, Channel, Credential, NotPrivate, Password, Privacy, ServerKey};
use config::{BackendTlsConfig, BackendTlsMode, Config, HealthConfig, ProxyProtocolSend, Secret};
use net::tls::{ClientTls, ClientTlsSettings, Identity, Verification};
use route::Endpoint;
use system::Entropy;
use tokio::time::timeout;
use wire::auth::AuthPacket;
use wire::handshake::HandshakeHead;
use wire::write::put_lenenc_bytes;
use wire::{Capabilities, ErrPacket, Greeting, HandshakeResponse};

use crate::connection::Connection;
use crate::failure::{Failure, ServerError, printable};

/// How the control plane connects to backends, and its account there.
#[derive(Debug)]
pub(crate) struct Access {
    /// Time limit for all of a backend's endpoints up to the greeting, and again for each answer after it.
    pub timeout: Duration,
    /// `None`: there is no monitor account.
    pub account: Option<Account>,
    /// The default schema.
    schema: Option<String>,
    header: ProxyProtocolSend,
    tls: Tls,
    /// TLS for a password that must pass in full, if TLS is otherwise off.
    password_tls: Option<ClientTls>,
    key: PublicKeyPolicy,
    entropy: Entropy,
}

/// Which public key may encrypt a password on a connection without TLS.
#[derive(Debug)]
enum PublicKeyPolicy {
    Refused,
    Asked,
    Known(Vec<u8>),
}

/// The monitor account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    user: String,
    password: Secret,
}

/// TLS with backends.
#[derive(Debug)]
enum Tls {
    Off,
    /// Used if the server offers it.
    Preferred(ClientTls),
    Required(ClientTls),
    /// The TLS files cannot be read, and no connection goes without TLS; the cause.
    Faulty(String),
}

/// The endpoints of a backend.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    /// The host as configured; none for a Unix socket.
    pub host: Option<String>,
    /// The endpoints to try, in this order.
    pub endpoints: Vec<Endpoint>,
}

/// The result of a login to a server that answers.
pub(crate) enum Entry {
    /// Logged in.
    In(Connection),
    /// The server refuses this account.
    Refused {
        /// The server's words, for a log.
        text: String,
        /// The server's error.
        error: ServerError,
    },
}

/// The user for a probe if there is no monitor account. No server knows it, so the server answers "access denied", and
/// that answer is the sign of life. If the proxy disconnected before it, MySQL would count a broken
/// handshake, and block the host after `max_connect_errors` of them.
const NOBODY: &str = "pilotfish_probe_has_no_account";

/// Errors at login that mean that the server takes no connection now, from any account.
const TAKES_NOBODY: [u16; 9] = [
    1040, // ER_CON_COUNT_ERROR
    1041, // ER_OUT_OF_RESOURCES
    1042, // ER_BAD_HOST_ERROR
    1053, // ER_SERVER_SHUTDOWN
    1129, // ER_HOST_IS_BLOCKED
    1130, // ER_HOST_NOT_PRIVILEGED
    1135, // ER_CANT_CREATE_THREAD
    3032, // ER_SERVER_OFFLINE_MODE
    3168, // ER_SERVER_ISNT_AVAILABLE
];

/// The most packets that a login may take before the proxy gives up: three factors of a few packets each.
const LOGIN_PACKETS_MAX: usize = 16;

/// utf8mb4_general_ci, which both families know.
const COLLATION: u8 = 45;

/// The capabilities that the control plane asks for; TLS and a default schema are added if they are used. None of these
/// changes how a result or a prepared statement looks.
pub(crate) const CAPABILITIES: Capabilities = Capabilities::LONG_PASSWORD
    .with(Capabilities::PROTOCOL_41, true)
    .with(Capabilities::SECURE_CONNECTION, true)
    .with(Capabilities::PLUGIN_AUTH, true)
    .with(Capabilities::CONNECT_ATTRS, true);

impl Access {
    /// Access as configured. Certificates are read here, and read again by
    /// [`Access::reload_certificates`].
    pub(crate) fn new(config: &Config, entropy: Entropy) -> Access {
        Access {
            timeout: config.health.timeout_connect,
            account: account(&config.health),
            schema: None,
            header: config.proxy_protocol.send,
            tls: Tls::new(&config.backend_tls),
            password_tls: password_tls(&config.backend_tls),
            key: PublicKeyPolicy::new(&config.backend_tls),
            entropy,
        }
    }

    /// Access for another configuration, with the same source of randomness.
    pub(crate) fn reconfigured(&self, config: &Config) -> Access {
        Access::new(config, self.entropy.clone())
    }

    /// Access with another account than the monitor account.
    pub(crate) fn of_account(
        config: &Config,
        (user, password): (&str, Option<&Secret>),
        entropy: &Entropy,
    ) -> Access {
        Access {
            account: Some(Account {
                user: user.to_owned(),
                password: password.cloned().unwrap_or_else(|| Secret::new("")),
            }),
            ..Access::new(config, entropy.clone())
        }
    }

    /// The same access, with a default schema.
    pub(crate) fn with_schema(self, schema: Option<String>) -> Access {
        Access { schema, ..self }
    }

    /// Reads certificates and authorities again if their files have changed.
    pub(crate) fn reload_certificates(&self) {
        if let Tls::Preferred(tls) | Tls::Required(tls) = &self.tls
            && let Err(error) = tls.reload_if_changed()
        {
            tracing::warn!(%error, "changed certificates for backends have a fault; the proxy keeps the old ones");
        }
    }

    /// Connects, reads the greeting and logs in.
    ///
    /// # Errors
    /// Why the backend cannot be used. An account that the backend refuses is no error.
    pub(crate) async fn log_in(&self, destination: &Destination) -> Result<Entry, Failure> {
        match self.log_in_over(None, destination).await {
            // With TLS the password may pass in full, so try again with TLS.
            Err(Failure::NotPrivate(_)) if self.password_tls.is_some() => {
                self.log_in_over(self.password_tls.as_ref(), destination)
                    .await
            }
            entry => entry,
        }
    }

    /// Logs in with this TLS; `None` means the configured TLS.
    async fn log_in_over(
        &self,
        tls: Option<&ClientTls>,
        destination: &Destination,
    ) -> Result<Entry, Failure> {
        let greeted = timeout(self.timeout, self.greet(destination)).await;
        let (connection, greeting) = greeted.map_err(|_| Failure::NoGreeting(self.timeout))??;
        let tls = match tls.filter(|_| greeting.capabilities.contains(Capabilities::SSL)) {
            Some(tls) => Some(tls),
            None => self.tls.with(&greeting, connection.privacy())?,
        };
        self.in_time(self.enter(connection, &greeting, destination, tls))
            .await
    }

    /// Waits for an answer after the greeting, within the time limit.
    pub(crate) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match timeout(self.timeout, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::NoAnswer(self.timeout)),
        }
    }

    async fn greet(&self, destination: &Destination) -> Result<(Connection, Greeting), Failure> {
        let mut failure = Failure::Io("it has no address".to_owned());
        for endpoint in &destination.endpoints {
            match self.greet_at(endpoint).await {
                Ok(greeted) => return Ok(greeted),
                Err(met) => failure = met,
            }
        }
        Err(failure)
    }

    async fn greet_at(&self, endpoint: &Endpoint) -> Result<(Connection, Greeting), Failure> {
        let mut connection = Connection::open(endpoint, self.header, self.timeout).await?;
        let payload = connection.read("a greeting").await?;
        if let Ok(err) = ErrPacket::decode(&payload) {
            return Err(Failure::refused(&err));
        }
        let greeting = Greeting::decode(&payload)?;
        connection.version = printable(&greeting.version);
        connection.thread_id = greeting.thread_id;
        Ok((connection, greeting))
    }

    async fn enter(
        &self,
        mut connection: Connection,
        greeting: &Greeting,
        destination: &Destination,
        tls: Option<&ClientTls>,
    ) -> Result<Entry, Failure> {
        let mut head = HandshakeHead {
            capabilities: CAPABILITIES.with(Capabilities::CONNECT_WITH_DB, self.schema.is_some()),
            packet_bytes_max: 1 << 24,
            collation: COLLATION,
        };
        if let Some(tls) = tls {
            head.capabilities |= Capabilities::SSL;
            let mut request = Vec::new();
            head.encode(&mut request);
            connection.write(&request).await?;
            // A certificate for a Unix socket can only name this machine.
            let host = destination.host.as_deref().unwrap_or("localhost");
            connection = connection.encrypted(tls, host).await?;
        }
        self.authenticate(connection, greeting, head).await
    }

    async fn authenticate(
        &self,
        mut connection: Connection,
        greeting: &Greeting,
        head: HandshakeHead,
    ) -> Result<Entry, Failure> {
        let (user, credential) = self.credentials();
        let channel = Channel {
            privacy: connection.privacy(),
            key: self.key.as_server_key(),
        };
        let mut challenge = Challenge::greeted(greeting);
        let answer = challenge.answer(&credential, channel)?;
        let schema = self.schema.as_deref();
        let response = handshake_response(head, user, schema, &challenge.plugin, &answer);
        connection.write(&response).await?;
        for _ in 0..LOGIN_PACKETS_MAX {
            let payload = connection.read("an answer to the login").await?;
            let answer = match AuthPacket::decode(&payload)? {
                AuthPacket::Ok => return Ok(Entry::In(connection)),
                AuthPacket::Err => return refusal(&payload, &challenge),
                AuthPacket::Switch { plugin, data } | AuthPacket::NextFactor { plugin, data } => {
                    challenge = Challenge::switched(plugin, data);
                    Some(challenge.answer(&credential, channel)?)
                }
                AuthPacket::MoreData(data) => {
                    challenge.answer_to(data, &credential, channel, &self.entropy)?
                }
                AuthPacket::Other => {
                    challenge.answer_to(&payload, &credential, channel, &self.entropy)?
                }
            };
            if let Some(answer) = answer {
                connection.write(&answer).await?;
            }
        }
        Err(Failure::NotMysql("its login has no end".to_owned()))
    }

    fn credentials(&self) -> (&str, Credential) {
        let (user, password) = match &self.account {
            Some(account) => (account.user.as_str(), account.password.expose()),
            None => (NOBODY, ""),
        };
        (user, Credential::Password(Password::new(password)))
    }
}

fn account(health: &HealthConfig) -> Option<Account> {
    Some(Account {
        user: health.monitor_user.clone()?,
        password: health
            .monitor_password
            .clone()
            .unwrap_or_else(|| Secret::new("")),
    })
}

impl Tls {
    fn new(config: &BackendTlsConfig) -> Tls {
        let verification = match config.mode {
            BackendTlsMode::Off => return Tls::Off,
            BackendTlsMode::Preferred | BackendTlsMode::Required => Verification::None,
            BackendTlsMode::VerifyCa => Verification::Ca,
            BackendTlsMode::VerifyIdentity => Verification::Identity,
        };
        let identity = config.certificate.clone().zip(config.key.clone());
        let tls = ClientTls::new(ClientTlsSettings {
            verification,
            ca: config.ca.clone(),
            identity: identity.map(|(certificate, key)| Identity { certificate, key }),
        });
        match tls {
            Err(error) => Tls::Faulty(error.to_string()),
            Ok(tls) if config.mode == BackendTlsMode::Preferred => Tls::Preferred(tls),
            Ok(tls) => Tls::Required(tls),
        }
    }

    /// The TLS to use with a server that sent this greeting; `None`: no TLS.
    fn with(&self, greeting: &Greeting, privacy: Privacy) -> Result<Option<&ClientTls>, Failure> {
        let is_offered = greeting.capabilities.contains(Capabilities::SSL);
        match self {
            Tls::Off => Ok(None),
            Tls::Preferred(tls) => Ok(is_offered.then_some(tls)),
            Tls::Required(tls) if is_offered => Ok(Some(tls)),
            // A Unix socket needs none.
            Tls::Required(_) if privacy == Privacy::Local => Ok(None),
            Tls::Required(_) => Err(Failure::Tls("it does not offer TLS".to_owned())),
            Tls::Faulty(error) => Err(Failure::Tls(error.clone())),
        }
    }
}

/// TLS for a password that must pass in full, if TLS with backends is otherwise off. Faulty files were reported when
/// the configuration was read.
fn password_tls(config: &BackendTlsConfig) -> Option<ClientTls> {
    if config.mode != BackendTlsMode::Off {
        return None;
    }
    let identity = config.certificate.clone().zip(config.key.clone());
    let settings = ClientTlsSettings {
        verification: match config.ca {
            Some(_) => Verification::Ca,
            None => Verification::None,
        },
        ca: config.ca.clone(),
        identity: identity.map(|(certificate, key)| Identity { certificate, key }),
    };
    ClientTls::new(settings).ok()
}

impl PublicKeyPolicy {
    fn new(config: &BackendTlsConfig) -> Self {
        let file = config.server_public_key.as_ref();
        match file.map(std::fs::read) {
            Some(Ok(key)) => Self::Known(key),
            None if config.get_server_public_key => Self::Asked,
            Some(Err(_)) | None => Self::Refused,
        }
    }

    fn as_server_key(&self) -> ServerKey<'_> {
        match self {
            Self::Refused => ServerKey::Refused,
            Self::Asked => ServerKey::Asked,
            Self::Known(key) => ServerKey::Known(key),
        }
    }
}

impl From<NotPrivate> for Failure {
    fn from(not_private: NotPrivate) -> Self {
        Self::NotPrivate(not_private)
    }
}

fn handshake_response(
    head: HandshakeHead,
    user: &str,
    schema: Option<&str>,
    plugin: &[u8],
    answer: &[u8],
) -> Vec<u8> {
    let mut attributes = Vec::new();
    put_lenenc_bytes(&mut attributes, b"program_name");
    put_lenenc_bytes(&mut attributes, b"pilotfish");
    let response = HandshakeResponse {
        head,
        user: user.as_bytes(),
        auth_response: answer,
        schema: schema.map(str::as_bytes),
        plugin: Some(plugin),
        attributes: Some(&attributes),
        zstd_level: None,
        trailing: b"",
    };
    let mut payload = Vec::new();
    response.encode(&mut payload);
    payload
}

fn refusal(payload: &[u8], challenge: &Challenge) -> Result<Entry, Failure> {
    let err = ErrPacket::decode(payload)?;
    if TAKES_NOBODY.contains(&err.number) {
        return Err(Failure::refused(&err));
    }
    let text = format!(
        "error {}: {} (authentication plugin {})",
        err.number,
        printable(err.text),
        printable(&challenge.plugin),
    );
    let error = ServerError::of(&err);
    Ok(Entry::Refused { text, error })
}
