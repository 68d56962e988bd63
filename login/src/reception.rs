//! A login that the proxy answers from its own accounts: no backend is asked and no session begins.
//! The commands of the admin client are handled by another module, one at a time.

mod changing;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::{
    Candidate, Circumstances, Denial, Dialect, Directory, Names, Origin, OwnKey, Password, Plugin,
    Scramble, ServerAuthentication, SharedThrottle,
};
use net::listen::Accepted;
use net::{Endpoint, Socket};
use system::Entropy;
use tokio::time::timeout;
use wire::{Capabilities, ErrPacket, ErrorCode, Greeting, HandshakeResponse, StatusFlags};

use crate::examine::{examine, origin_of, random, tls_session};
use crate::login_throttle::longest;
use crate::relayed_login::{ClientLogin, malformed, read_response};
use crate::welcome::{ok, welcome};
use backend::settings::Settings;
use link::dialogue::client_broke;
use link::failure::{Failure, FailureKind};
use link::packets::{PacketError, PacketStream};
use link::transport::Transport;

/// The place where admin clients log in.
pub struct Reception {
    own_key: Arc<OwnKey>,
    throttle: SharedThrottle,
    started: Instant,
    entropy: Entropy,
}

/// A client of the admin port that has logged in.
pub struct AdminClient {
    /// The name of the account.
    pub user: String,
    /// The schema that the login named.
    pub schema: Option<String>,
    /// The capabilities, which decide the format of the packets.
    pub capabilities: Capabilities,
    /// The admin client's address.
    pub remote: Endpoint,
    /// The scramble of the greeting.
    scramble: Scramble,
    stream: PacketStream,
}

/// Why an admin client's connection or login has failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminClientError {
    /// The login failed, or a later one on the same connection. The admin client has been told the error, if that was
    /// possible.
    #[error("{0}")]
    Login(String),
    /// A command was too long, or a packet was malformed. The error for the admin client.
    #[error("{1}")]
    Broken(ErrorCode, String),
    /// The connection is gone, or the admin client takes no more bytes.
    #[error("the connection is gone: {0}")]
    Gone(io::Error),
}

/// The parts of the admin port that a login needs.
pub struct AdminState<'a> {
    /// The accounts that may log in.
    pub accounts: &'a Directory,
    /// The settings of TLS and of failed logins.
    pub settings: &'a Settings,
    /// The version in its greeting.
    pub version: &'a str,
    /// The plugin in its greeting.
    pub plugin: Plugin,
    /// The id of the connection.
    pub id: u32,
    /// Whether a schema with this name exists.
    pub has_schema: fn(&str) -> bool,
}

/// The capabilities that are offered; with TLS, if it is configured.
const OFFERED: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::FOUND_ROWS.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::ODBC.0
        | Capabilities::IGNORE_SPACE.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::INTERACTIVE.0
        | Capabilities::IGNORE_SIGPIPE.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::RESERVED.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
        | Capabilities::DEPRECATE_EOF.0,
);

/// The user that an admin client claims to be, and the schema in which it wants to begin.
struct Claim<'a> {
    user: &'a [u8],
    /// The schema; empty if none.
    schema: &'a str,
    candidate: Candidate<'a>,
}

/// `utf8mb4_general_ci`, which every client knows.
const COLLATION: u8 = 45;

/// How long an admin client may take to accept the bytes that it is sent.
const TIMEOUT_SAY: Duration = Duration::from_secs(60);

impl Reception {
    /// A reception with the key of the process, which began at `started`.
    pub fn new(own_key: Arc<OwnKey>, started: Instant, entropy: Entropy) -> Self {
        Self {
            own_key,
            throttle: SharedThrottle::default(),
            started,
            entropy,
        }
    }

    /// Returns the time since the process began.
    fn now(&self) -> Duration {
        net::clock::now().into_std() - self.started
    }

    /// Runs a login to its end.
    ///
    /// # Errors
    /// [`AdminClientError::Login`]
    pub async fn receive(
        &self,
        accepted: Accepted,
        admin_state: &AdminState<'_>,
    ) -> Result<AdminClient, AdminClientError> {
        let Accepted { socket, remote } = accepted;
        let socket = Socket::from_raw(socket).map_err(AdminClientError::Gone)?;
        let mut client = PacketStream::new(Transport::from(socket), 0);
        let mut who = ClientLogin::default();
        let limit = admin_state.settings.config.limits.timeout_login;
        let entered = timeout(
            limit,
            self.enter(&mut client, &mut who, &remote, admin_state),
        )
        .await;
        let entered = entered.unwrap_or_else(|_| Err(link::session_end::late(limit)));
        match entered {
            Ok((capabilities, scramble)) => Ok(AdminClient {
                schema: Some(who.schema).filter(|schema| !schema.is_empty()),
                user: who.user,
                capabilities,
                remote,
                scramble,
                stream: client,
            }),
            Err(failure) => {
                link::session_end::send_error(&mut client, &failure, who.has_answered).await;
                Err(AdminClientError::Login(failure.cause))
            }
        }
    }

    /// Whether the password of a user is right, for a protocol other than MySQL's. If a user failed
    /// often, the answer is delayed, as at a login.
    pub async fn proves(
        &self,
        remote: &Endpoint,
        user: &str,
        password: &Password,
        accounts: &Directory,
        settings: &Settings,
    ) -> bool {
        let is_right = accounts.proves(user.as_bytes(), &origin_of(remote), password);
        self.weighs(remote, user, is_right, settings).await
    }

    /// The same delay for something other than a password, which was right or wrong; `name` stands for it.
    pub async fn weighs(
        &self,
        remote: &Endpoint,
        name: &str,
        is_right: bool,
        settings: &Settings,
    ) -> bool {
        let origin = origin_of(remote);
        let name = name.as_bytes();
        self.hold_back(settings, &origin, name).await;
        match origin.address() {
            Some(address) if is_right => {
                self.throttle.succeeded(address, name, self.now());
            }
            _ if is_right => {}
            _ => self.failed(settings, &origin, name).await,
        }
        is_right
    }

    /// Runs a login from the greeting to the OK. Returns the agreed capabilities, and the scramble of the greeting.
    async fn enter(
        &self,
        client: &mut PacketStream,
        who: &mut ClientLogin,
        remote: &Endpoint,
        admin_state: &AdminState<'_>,
    ) -> Result<(Capabilities, Scramble), Failure> {
        let scramble = Scramble::of_random(random(&self.entropy));
        let greeting = Greeting {
            version: admin_state.version.as_bytes().to_vec(),
            thread_id: admin_state.id,
            scramble: scramble.as_bytes().to_vec(),
            capabilities: OFFERED
                .with(Capabilities::SSL, admin_state.settings.client_tls.is_some()),
            collation: COLLATION,
            status: StatusFlags::AUTOCOMMIT,
            plugin: admin_state.plugin.client_name().to_vec(),
        };
        let mut payload = Vec::new();
        greeting.encode(&mut payload);
        let sent = client.write(&payload).await;
        sent.map_err(|error| client_broke(error.into()))?;
        let (request, answer) = read_response(admin_state.settings, client, who).await?;
        let response = match &request {
            Some(request) => HandshakeResponse::decode_behind(request, &answer),
            None => HandshakeResponse::decode(&answer),
        };
        let response = response.map_err(malformed)?;
        who.introduce(&response);
        let claim = Claim {
            user: response.user,
            schema: &who.schema,
            candidate: Candidate {
                plugin: response.plugin,
                answer: response.auth_response,
                privacy: client.privacy(),
            },
        };
        self.admit(client, remote, admin_state, &scramble, claim)
            .await?;
        let agreed = response.head.capabilities & greeting.capabilities;
        Ok((agreed, scramble))
    }

    /// Authenticates an admin client, up to the OK.
    async fn admit(
        &self,
        client: &mut PacketStream,
        remote: &Endpoint,
        admin_state: &AdminState<'_>,
        scramble: &Scramble,
        claim: Claim<'_>,
    ) -> Result<(), Failure> {
        let origin = origin_of(remote);
        self.hold_back(admin_state.settings, &origin, claim.user)
            .await;
        let examined = self.examine(client, admin_state, &origin, scramble, &claim);
        let payload = match examined.await? {
            Ok(payload) => payload,
            Err(denial) => {
                self.failed(admin_state.settings, &origin, claim.user).await;
                return Err(denied(denial, claim.user, &origin));
            }
        };
        if !claim.schema.is_empty() && !(admin_state.has_schema)(claim.schema) {
            return Err(no_schema(claim.schema));
        }
        if let Some(address) = origin.address() {
            let now = self.now();
            self.throttle.succeeded(address, claim.user, now);
        }
        welcome(client, payload, &ok(StatusFlags::AUTOCOMMIT)).await
    }

    /// Authenticates against an account, or against none if the user is unknown. Returns the packet that is sent
    /// before the OK.
    async fn examine(
        &self,
        client: &mut PacketStream,
        admin_state: &AdminState<'_>,
        origin: &Origin,
        scramble: &Scramble,
        claim: &Claim<'_>,
    ) -> Result<Result<Option<Vec<u8>>, Denial>, Failure> {
        let account = admin_state.accounts.find(claim.user, origin);
        let verifiers = match account.map(|account| &account.login_method) {
            Some(auth::LoginMethod::Examined(verifiers)) => Arc::clone(verifiers),
            Some(auth::LoginMethod::PassedThrough(_)) | None => {
                admin_state.accounts.decoy(claim.user)
            }
        };
        let (plugin, candidate) = (admin_state.plugin, claim.candidate);
        let fresh = random(&self.entropy);
        let verdict =
            ServerAuthentication::begin(plugin, scramble, verifiers, None, candidate, fresh);
        let passed = match examine(&self.own_key, client, verdict).await? {
            Ok(passed) => passed,
            Err(failed) => return Ok(Err(failed.denial)),
        };
        let facts = client.tls();
        let circumstances = Circumstances {
            origin,
            tls: facts.as_ref().map(tls_session),
            password_used: passed.password_used,
        };
        let password_used = passed.password_used;
        Ok(match account {
            Some(account) => account.admit(&circumstances).map(|()| passed.payload),
            None => Err(Denial::Access { password_used }),
        })
    }

    /// If a user failed often, its login waits before the authentication, whether the password is right or wrong.
    async fn hold_back(&self, settings: &Settings, origin: &Origin, user: &[u8]) {
        if let (true, Some(address)) = (settings.config.accounts.delay_failures, origin.address()) {
            let delay = self.throttle.delay(address, user, self.now());
            tokio::time::sleep(delay.min(longest(settings))).await;
        }
    }

    async fn failed(&self, settings: &Settings, origin: &Origin, user: &[u8]) {
        if let (true, Some(address)) = (settings.config.accounts.delay_failures, origin.address()) {
            let (now, longest) = (self.now(), longest(settings));
            let waited = self.throttle.delay(address, user, now).min(longest);
            let delay = self.throttle.failed(address, user, now).min(longest);
            tokio::time::sleep(delay.saturating_sub(waited)).await;
        }
    }
}

fn denied(denial: Denial, user: &[u8], origin: &Origin) -> Failure {
    let shown = origin.shown(Names::Skipped);
    let payload = denial.payload(Dialect::MySql, user, &shown);
    let user = String::from_utf8_lossy(user);
    let cause = format!("{denial}, for user {user:?} from {shown}");
    Failure::relaying(FailureKind::LoginDenied, cause, payload)
}

fn no_schema(name: &str) -> Failure {
    let text = format!("Unknown database '{name}'");
    let mut payload = Vec::new();
    ErrPacket {
        // ER_BAD_DB_ERROR
        number: 1049,
        sqlstate: Some(*b"42000"),
        text: text.as_bytes(),
    }
    .encode(&mut payload);
    Failure::relaying(FailureKind::LoginDenied, text, payload)
}

impl AdminClient {
    /// Waits for the next command. Returns its number and the bytes after it; `None` if the admin client has closed.
    ///
    /// # Errors
    /// All but [`AdminClientError::Login`].
    pub async fn command(&mut self) -> Result<Option<Vec<u8>>, AdminClientError> {
        self.stream.begin_at(0);
        match self.stream.read().await {
            Ok(payload) => Ok(Some(payload)),
            Err(PacketError::Closed) => Ok(None),
            Err(PacketError::Io(error)) => Err(AdminClientError::Gone(error)),
            Err(error @ PacketError::Truncated) => {
                Err(AdminClientError::Gone(io::Error::other(error.to_string())))
            }
            Err(error @ PacketError::TooLong(_)) => Err(AdminClientError::Broken(
                ErrorCode::PACKET_TOO_LARGE,
                error.to_string(),
            )),
            Err(error) => Err(AdminClientError::Broken(
                ErrorCode::PACKETS_OUT_OF_ORDER,
                error.to_string(),
            )),
        }
    }

    /// Sends packets with their headers, with sequence ids from 1.
    ///
    /// # Errors
    /// [`AdminClientError::Gone`]
    pub async fn send(&mut self, packets: &[u8]) -> Result<(), AdminClientError> {
        let said = timeout(TIMEOUT_SAY, self.stream.write_packets(packets)).await;
        let late = || Err(io::ErrorKind::TimedOut.into());
        said.unwrap_or_else(|_| late())
            .map_err(AdminClientError::Gone)
    }

    /// Sends a last payload and closes.
    pub async fn dismiss(mut self, payload: &[u8]) {
        self.stream.begin_at(1);
        let told = self.stream.finish_with(payload);
        // It does not matter whether the admin client receives it.
        let _ = timeout(link::session_end::TIMEOUT_TELL, told).await;
    }
}
