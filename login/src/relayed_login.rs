//! A login that passes through: the backend's greeting goes to the client, the client's answer goes
//! to the backend, and everything is relayed until OK. The proxy does not know the password.
//!
//! ```text
//!   backend ── greeting ──────────────────► client     (offers what the *proxy* offers)
//!   client  ── [SSLRequest, TLS] response ─► proxy
//!   proxy   ── [SSLRequest, TLS] response ─► backend    (asks for what the *proxy* wants)
//!   both    ── dialogue ───────────────────► OK or ERR
//! ```
//!
//! TLS and compression belong to one connection each; every other capability is agreed between
//! client and backend themselves. Sequence ids are counted for each connection on its own.

use std::sync::Arc;
use std::time::Duration;

use auth::{Answer, Challenge, Channel, Credential, Denial, Dialect, OwnKey, Password, Privacy};
use net::proxy_protocol;
use net::tls::{self};
use route::Moment;
use system::Entropy;
use wire::auth::{MYSQL_NATIVE_PASSWORD, put_auth_switch};
use wire::compression::Algorithm;
use wire::greeting::patch_capabilities;
use wire::handshake::{HandshakeHead, PROTOCOL_40};
use wire::reply::OkPacket;
use wire::{Capabilities, ErrPacket, ErrorCode, HandshakeResponse, StatusFlags, errors};

use crate::connect::Greeted;
use crate::redirect::address_of;
use crate::tls_guard::Guard;
use backend::greet::greet;
use backend::open::{LoginAnswer, dialogue as log_in};
use backend::secure::{LEG, ZLIB_LEVEL, backend_compression, backend_leg, secure_backend};
use backend::settings::Settings;
use config::{ClientTlsMode, CompressionAlgorithm};
use link::dialogue::{
    AuthEnd, Dialogue, Exchange, Legs, LoginObserver, backend_broke, client_broke,
};
use link::failure::{Failure, FailureKind};
use link::packets::PacketStream;
use link::transport::Transport;
use registry::session_registry::Registration;

/// A plugin that no account has. Servers answer it with a switch to the account's plugin
/// (`send_plugin_request_packet`).
const UNANSWERED: &[u8] = b"pilotfish_unanswered";

/// The client that logs in, as far as it is known.
#[derive(Debug, Default, Clone)]
pub struct ClientLogin {
    /// The name of the user.
    pub user: String,
    /// The schema that the client has named; empty if it has named none.
    pub schema: String,
    /// Whether the client has named its capabilities. From then on, an ERR has a SQLSTATE.
    pub has_answered: bool,
    /// The client's character set.
    pub collation: u8,
    /// How long the client's transactions may be idle, if its account sets a limit.
    pub timeout_idle_transaction: Option<Duration>,
}

/// The result of the negotiation between client and backend.
pub struct Agreement {
    /// The agreed capabilities, without the flags of one connection.
    pub capabilities: Capabilities,
    /// The status of the OK.
    pub status: StatusFlags,
    /// The compression towards the client: algorithm and level.
    pub client_compression: Option<(Algorithm, u8)>,
    /// The compression towards the backend: algorithm and level.
    pub backend_compression: Option<(Algorithm, u8)>,
    /// How private both connections are; kept for COM_CHANGE_USER, whose dialogue needs the same bridges.
    pub legs: Legs,
    /// The last scramble of the login.
    pub scramble: Vec<u8>,
    /// The session's entry by the id that the client sees, if the proxy has given that id.
    pub registration: Option<Registration>,
}

/// A login that a backend answers.
pub struct Login<'a> {
    /// The settings of the session.
    pub settings: &'a Settings,
    /// The key with which the client encrypts a password without TLS.
    pub own_key: &'a OwnKey,
    /// Random bytes for the proxy's own answers to the backend.
    pub entropy: &'a Entropy,
    /// The time when the backend sent its greeting.
    pub now: Moment,
    /// The content of the PROXY header for the backend.
    pub header: &'a proxy_protocol::Header,
    /// The client.
    pub client: &'a mut PacketStream,
    /// The backend whose greeting has arrived.
    pub backend: &'a mut Greeted,
    /// The client that logs in; filled in during the login.
    pub client_login: &'a mut ClientLogin,
    /// Observes the packets of the login.
    pub observer: Option<&'a mut dyn LoginObserver>,
}

impl Login<'_> {
    /// Runs the login to its end, if neither `admits` nor the guard refuses the client. After an
    /// error the client has been told nothing, unless the backend has told it.
    pub async fn run(
        mut self,
        guard: &Guard<'_>,
        admits: impl FnOnce(&[u8]) -> Result<(), Failure>,
    ) -> Result<Agreement, Failure> {
        self.offer().await?;
        let (request, answer) =
            read_response(self.settings, self.client, self.client_login).await?;
        let response = match &request {
            Some(request) => HandshakeResponse::decode_behind(request, &answer),
            None => HandshakeResponse::decode(&answer),
        };
        let response = response.map_err(malformed)?;
        self.client_login.introduce(&response);
        admits(response.user)?;
        let greeting = &self.backend.greeting;
        guard.admit(self.client, greeting, &response).await?;
        self.complete(response).await
    }

    /// Runs a login whose client has answered another greeting than this backend's. That answer is of no use here,
    /// so the proxy names a plugin to the backend that no account has. The backend then switches to the account's
    /// plugin, and its switch goes to the client. Many clients do not accept a second switch in one login.
    pub async fn authenticate_through(
        self,
        response: HandshakeResponse<'_>,
    ) -> Result<Agreement, Failure> {
        let capabilities = response.head.capabilities;
        if !capabilities.contains(Capabilities::PLUGIN_AUTH) {
            let version = String::from_utf8_lossy(&self.backend.greeting.version).into_owned();
            return Err(cannot_switch(Dialect::of_version(&version), &response));
        }
        let offered = self.backend.greeting.capabilities;
        if !offered.contains(Capabilities::PLUGIN_AUTH) {
            return self.ask_again(response).await;
        }
        let unanswered = HandshakeResponse {
            auth_response: b"",
            plugin: Some(UNANSWERED),
            ..response
        };
        self.complete(unanswered).await
    }

    /// Sends the switch to the client itself, because the backend has one plugin only and cannot switch.
    async fn ask_again(self, response: HandshakeResponse<'_>) -> Result<Agreement, Failure> {
        let mut switch = Vec::new();
        let scramble = &self.backend.greeting.scramble;
        put_auth_switch(&mut switch, MYSQL_NATIVE_PASSWORD, scramble);
        switch.push(0);
        let sent = self.client.write(&switch).await;
        sent.map_err(|error| client_broke(error.into()))?;
        let answer = self.client.read().await.map_err(client_broke)?;
        let answered = HandshakeResponse {
            auth_response: &answer,
            plugin: Some(MYSQL_NATIVE_PASSWORD),
            ..response
        };
        self.complete(answered).await
    }

    /// Runs the login from the client's answer to the backend's greeting to the backend's OK.
    pub async fn complete(mut self, response: HandshakeResponse<'_>) -> Result<Agreement, Failure> {
        let agreed = response.head.capabilities & self.backend.greeting.capabilities;
        let client_compression = client_compression(self.settings, &response);
        let backend_compression =
            backend_compression(&self.settings.config.compression, &self.backend.greeting);
        let leg = backend_leg(backend_compression);
        let tls = self.settings.backend_tls.as_deref();
        let Greeted {
            backend,
            greeting,
            stream,
            ..
        } = &mut *self.backend;
        secure_backend(
            (self.settings, tls),
            backend,
            greeting,
            stream,
            &response.head,
            leg,
        )
        .await?;
        if let Some(observer) = &mut self.observer {
            observer.begins(agreed, address_of(backend));
        }
        let level = backend_compression.map(|(_, level)| level);
        let mut spoken = self.speak(&response, leg, level).await;
        if let Some(password) = spoken.withheld.take() {
            let again = Again {
                response,
                leg,
                level,
                password: &password,
            };
            spoken = self.begin_again(again, spoken).await?;
        }
        let Spoken {
            end,
            legs,
            scramble,
            ..
        } = spoken;
        let end = end?;
        let status = match end {
            AuthEnd::Ok(ok) => OkPacket::decode(&ok)
                .map(|ok| ok.status)
                .unwrap_or_default(),
            AuthEnd::Err(err) => {
                let is_full = |err: ErrPacket<'_>| err.number == ErrorCode::CON_COUNT.number;
                if ErrPacket::decode(&err).is_ok_and(is_full) {
                    self.backend.backend.load.note_server_full(self.now);
                }
                return Err(refused(&err));
            }
        };
        self.backend.backend.load.note_server_accepts();
        Ok(Agreement {
            capabilities: agreed.with(LEG, false),
            status,
            client_compression,
            backend_compression,
            legs,
            scramble,
            registration: None,
        })
    }

    /// Relays between the two sides until the login ends, or until the backend wants a password that it may not have.
    async fn speak(
        &mut self,
        response: &HandshakeResponse<'_>,
        leg: Capabilities,
        level: Option<u8>,
    ) -> Spoken {
        let plugin = response.plugin.unwrap_or(&self.backend.greeting.plugin);
        let (plugin, scramble) = (plugin.to_vec(), self.backend.greeting.scramble.clone());
        let mut dialogue = self.dialogue(plugin, scramble);
        let end = relay_answers(&mut dialogue, response, leg, level).await;
        Spoken {
            withheld: match std::mem::take(&mut dialogue.exchange) {
                Exchange::Withheld { password } => Some(password),
                _ => None,
            },
            legs: dialogue.legs,
            scramble: dialogue.scramble,
            end,
        }
    }

    fn dialogue(&mut self, plugin: Vec<u8>, scramble: Vec<u8>) -> Dialogue<'_, Transport> {
        let observer = self.observer.as_mut();
        Dialogue {
            legs: Legs {
                client: self.client.privacy(),
                backend: self.backend.stream.privacy(),
            },
            client: self.client,
            plugin,
            scramble,
            backend: &mut self.backend.stream,
            backend_name: &self.backend.backend.name,
            own_key: self.own_key,
            server_key: self.settings.server_key(),
            exchange: Exchange::None,
            observer: observer.map(|observer| &mut **observer as &mut dyn LoginObserver),
        }
    }

    /// Logs in over a new connection with TLS, because the backend wants the password in full. The
    /// client has already sent the password, and gets only the end of the login.
    async fn begin_again(&mut self, again: Again<'_>, spoken: Spoken) -> Result<Spoken, Failure> {
        let backend = Arc::clone(&self.backend.backend);
        let offers_tls = self
            .backend
            .greeting
            .capabilities
            .contains(Capabilities::SSL);
        let Some(tls) = self.settings.password_tls.as_deref().filter(|_| offers_tls) else {
            return Ok(spoken);
        };
        let greeted = greet(&self.settings.config, self.header, &backend).await;
        let Ok((mut stream, greeting, payload)) = greeted else {
            return Ok(spoken);
        };
        let Again {
            response,
            leg,
            level,
            password,
        } = again;
        let (head, security) = (response.head, (self.settings, Some(tls)));
        secure_backend(security, &backend, &greeting, &mut stream, &head, leg).await?;
        if stream.privacy() != Privacy::Tls {
            return Ok(spoken);
        }
        let password = password.strip_suffix(&[0]).unwrap_or(password);
        let credential = Credential::Password(Password::new(password.to_vec()));
        let channel = Channel::keyless(Privacy::Tls);
        let mut challenge = Challenge::greeted(&greeting);
        let answer = challenge.answer(&credential, channel).unwrap_or_default();
        let answered = HandshakeResponse {
            plugin: Some(&challenge.plugin),
            auth_response: &answer,
            ..response
        };
        let forwarded = forwarded(&answered, leg.with(Capabilities::SSL, true), level);
        let sent = stream.write(&forwarded).await;
        sent.map_err(|error| backend_broke(&backend.name, error.into()))?;
        let entropy = self.entropy;
        let answered = log_in(&mut stream, &mut challenge, &credential, channel, entropy);
        let last = match answered.await {
            Ok(LoginAnswer::Accepted(payload) | LoginAnswer::Refused(payload)) => payload,
            Ok(LoginAnswer::NotPrivate) => return Ok(spoken),
            Err(error) => return Err(Failure::new(FailureKind::BackendLogin, error.to_string())),
        };
        tracing::debug!(
            backend = backend.name,
            "a login began again with TLS, because the backend wants the password in full"
        );
        self.backend.stream = stream;
        self.backend.greeting = greeting;
        self.backend.payload = payload;
        let mut dialogue = self.dialogue(challenge.plugin, challenge.scramble);
        let end = dialogue.conclude(last).await;
        Ok(Spoken {
            end,
            withheld: None,
            legs: dialogue.legs,
            scramble: dialogue.scramble,
        })
    }

    /// Sends the greeting to the client, with the proxy's own offer of TLS and compression.
    async fn offer(&mut self) -> Result<(), Failure> {
        let offered = own_offer(self.settings, self.backend.greeting.capabilities);
        patch_capabilities(&mut self.backend.payload, offered);
        let sent = self.client.write(&self.backend.payload).await;
        sent.map_err(|error| client_broke(error.into()))
    }
}

/// Returns the backend's capabilities, with the proxy's own offer of TLS and compression for the client.
pub fn own_offer(settings: &Settings, offered: Capabilities) -> Capabilities {
    let algorithms = &settings.config.compression.client;
    offered
        .with(Capabilities::SSL, settings.client_tls.is_some())
        .with(
            Capabilities::COMPRESS,
            algorithms.contains(&CompressionAlgorithm::Zlib),
        )
        .with(
            Capabilities::ZSTD_COMPRESSION_ALGORITHM,
            algorithms.contains(&CompressionAlgorithm::Zstd),
        )
}

/// How far a login has come.
struct Spoken {
    end: Result<AuthEnd, Failure>,
    /// The password that the backend wants in full and may not have on its connection.
    withheld: Option<Answer>,
    legs: Legs,
    /// The last scramble.
    scramble: Vec<u8>,
}

/// A login that begins again on another connection to the backend.
struct Again<'a> {
    response: HandshakeResponse<'a>,
    /// The flags of the connection to the backend.
    leg: Capabilities,
    level: Option<u8>,
    /// The password in clear, as the client has sent it.
    password: &'a [u8],
}

/// Returns the client's answer as the backend gets it.
fn forwarded(response: &HandshakeResponse<'_>, leg: Capabilities, level: Option<u8>) -> Vec<u8> {
    let mut payload = Vec::new();
    HandshakeResponse {
        head: HandshakeHead {
            capabilities: response.head.capabilities.with(LEG, false) | leg,
            ..response.head
        },
        zstd_level: level,
        ..*response
    }
    .encode(&mut payload);
    payload
}

/// Relays from the client's answer to the backend's OK or ERR.
async fn relay_answers(
    dialogue: &mut Dialogue<'_, Transport>,
    response: &HandshakeResponse<'_>,
    leg: Capabilities,
    level: Option<u8>,
) -> Result<AuthEnd, Failure> {
    let first_answer = dialogue.first_answer(response.auth_response).await?;
    let leg = leg.with(Capabilities::SSL, dialogue.legs.backend == Privacy::Tls);
    let answered = HandshakeResponse {
        auth_response: &first_answer,
        ..*response
    };
    dialogue.send(&forwarded(&answered, leg, level)).await?;
    dialogue.run().await
}

impl ClientLogin {
    /// Takes what the response tells about the client.
    pub fn introduce(&mut self, response: &HandshakeResponse<'_>) {
        self.user = String::from_utf8_lossy(response.user).into_owned();
        self.schema = String::from_utf8_lossy(response.schema.unwrap_or_default()).into_owned();
        self.collation = response.head.collation;
    }
}

/// Reads the client's handshake response, after its request for TLS if it sends one.
pub async fn read_response(
    settings: &Settings,
    client: &mut PacketStream,
    who: &mut ClientLogin,
) -> Result<(Option<HandshakeHead>, Vec<u8>), Failure> {
    let first = client.read().await.map_err(client_broke)?;
    let head = HandshakeHead::decode(&first).map_err(malformed)?;
    who.has_answered = true;
    if !head.capabilities.contains(Capabilities::SSL) {
        return match settings.config.client_tls.mode {
            ClientTlsMode::Required if client.privacy() == Privacy::Open => Err(Failure::saying(
                FailureKind::TlsRequired,
                errors::tls_required(),
            )),
            _ => Ok((None, first)),
        };
    }
    let Some(server_tls) = &settings.client_tls else {
        let error = errors::tls_not_offered();
        return Err(Failure::saying(FailureKind::LoginMalformed, error));
    };
    let acceptor = server_tls.acceptor();
    client
        .upgrade(|transport, ahead| async move { transport.accept_tls(&acceptor, &ahead).await })
        .await
        .map_err(|error| {
            Failure::new(
                FailureKind::ClientTls,
                format!("TLS with the client has failed: {}", tls::explain(&error)),
            )
        })?;
    let answer = client.read().await.map_err(client_broke)?;
    Ok((Some(head), answer))
}

/// The failure of a client before 4.1. Its ERR had no SQLSTATE, and it has the number that those clients know.
fn too_old() -> Failure {
    let error = errors::old_protocol();
    let mut payload = Vec::new();
    wire::ErrPacket {
        number: error.code.number,
        sqlstate: None,
        text: error.text.as_bytes(),
    }
    .encode(&mut payload);
    Failure::relaying(FailureKind::LoginMalformed, error, payload)
}

/// The failure of a client that can answer only the plugin of the greeting.
fn cannot_switch(dialect: Dialect, response: &HandshakeResponse<'_>) -> Failure {
    let payload = Denial::ClientTooOld.payload(dialect, response.user, "");
    let cause = "the client cannot use the plugin that the account needs (no PLUGIN_AUTH)";
    Failure::relaying(FailureKind::LoginMalformed, cause, payload)
}

/// The failure if a response cannot be read. A client of a protocol before 4.1 gets the error in its own format.
pub fn malformed(error: wire::Malformed) -> Failure {
    if error == PROTOCOL_40 {
        return too_old();
    }
    Failure::saying(FailureKind::LoginMalformed, errors::login_malformed(error))
}

/// The failure after the backend's ERR was relayed; the log gets its text.
fn refused(err: &[u8]) -> Failure {
    let cause = match ErrPacket::decode(err) {
        Ok(err) => format!(
            "error {}: {}",
            err.number,
            String::from_utf8_lossy(err.text)
        ),
        Err(error) => error.to_string(),
    };
    Failure::new(FailureKind::LoginRefused, cause)
}

/// Returns the compression that the client has chosen among the offers; zlib first, as in the servers.
pub fn client_compression(
    settings: &Settings,
    response: &HandshakeResponse<'_>,
) -> Option<(Algorithm, u8)> {
    let offered = &settings.config.compression.client;
    let chose =
        |flag, algorithm| response.head.capabilities.contains(flag) && offered.contains(&algorithm);
    if chose(Capabilities::COMPRESS, CompressionAlgorithm::Zlib) {
        Some((Algorithm::Zlib, ZLIB_LEVEL))
    } else if chose(
        Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        CompressionAlgorithm::Zstd,
    ) {
        let level = response
            .zstd_level
            .unwrap_or(settings.config.compression.zstd_level);
        Some((Algorithm::Zstd, level))
    } else {
        None
    }
}
