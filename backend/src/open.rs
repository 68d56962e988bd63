//! Opens a backend connection that sessions will share in turn: connect, log in, read the state of the new session.

use std::rc::Rc;
use std::sync::Arc;

use auth::{Challenge, Channel, Credential, NotPrivate, Privacy};
use net::proxy_protocol;
use net::tls::ClientTls;
use route::{Backend, Health, Report};
use session::Outcome;
use session::state::{Baseline, ConnectionState};
use system::Entropy;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use wire::auth::AuthPacket;
use wire::compression::{Algorithm, Remote};
use wire::handshake::HandshakeHead;
use wire::write::put_lenenc_bytes;
use wire::{Capabilities, Command, ErrPacket, ErrorCode, Greeting, HandshakeResponse, errors};

use crate::ask::text;
use crate::connection::BackendConn;
use crate::connection_error::ConnectionError;
use crate::greet::{Refusal, greet};
use crate::greeting::server_of;
use crate::own_reply::{OwnReply, table};
use crate::pool_env::PoolEnv;
use crate::secure::compress;
use crate::secure::{backend_compression, backend_leg, secure_backend};
use crate::settings::Settings;
use crate::sub_pool::SubPool;
use link::dialogue::not_private;
use link::failure::{Failure, FailureKind};
use link::leg::Leg;
use link::packets::{PacketError, PacketStream};
use link::transport::Transport;
use session::track_settings::SessionTrackSettings;

/// The most packets a login takes before it is given up.
const LOGIN_PACKETS_MAX: usize = 16;

/// Flags that the proxy's login needs, whatever the session has agreed on with its client.
const OWN: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::SESSION_TRACK.0,
);

/// Connects, logs in and reads the state in which the login left the server's session.
pub async fn open(env: &PoolEnv, sub_pool: &Rc<SubPool>) -> Result<BackendConn, Failure> {
    let settings = Arc::clone(&env.settings.borrow());
    // Read before the login: the server may have read its own values before any later change.
    let trusted_at = env.shared.privileges.now();
    let inherits_at = env.shared.globals.now();
    let kept_since = env.shared.kept_epoch();
    let backend = &sub_pool.backend;
    let header = proxy_protocol::Header::Own;
    let mut tls = settings.backend_tls.as_deref();
    let (stream, greeting, wanted, compression) = loop {
        let greeted = greet(&settings.config, &header, backend).await;
        let (stream, greeting, _) =
            greeted.map_err(|refusal| unreachable(env, backend, refusal))?;
        note_greeting(env, backend, &greeting);
        let can_secure = tls.is_none() && greeting.capabilities.contains(Capabilities::SSL);
        match log_in((env, &settings, tls), sub_pool, stream, &greeting).await {
            Ok((stream, wanted, compression)) => break (stream, greeting, wanted, compression),
            // Over TLS the password may be sent in full.
            Err(failure) if failure.kind == FailureKind::FullAuthentication && can_secure => {
                tls = settings.password_tls.as_deref();
                if tls.is_none() {
                    return Err(failure);
                }
            }
            Err(failure) => return Err(failure),
        }
    };
    let limit = settings.config.health.timeout_connect;
    let lost = || broke_off(backend, "the connection was lost at the end of the login");
    let (transport, ahead) = stream.into_parts().ok_or_else(lost)?;
    let (transport, ahead) = compress(transport, ahead, compression, Remote::Backend);
    let set_up = set_up(
        env,
        &settings,
        &greeting,
        (transport, ahead),
        wanted,
        sub_pool,
    );
    match timeout(limit, set_up).await {
        Ok(Ok(conn)) => {
            conn.epochs.trusted_at.set(trusted_at);
            conn.epochs.inherits_at.set(inherits_at);
            conn.epochs.kept_since.set(kept_since);
            Ok(conn)
        }
        Ok(Err(ConnectionError::Limited(payload))) => Err(refused(&payload, sub_pool)),
        Ok(Err(broken)) => Err(broke_off(backend, &broken.to_string())),
        Err(_) => Err(broke_off(backend, &format!("no answer within {limit:?}"))),
    }
}

/// A connection that has logged in, with its capabilities and its compression.
type LoggedIn = (PacketStream, Capabilities, Option<(Algorithm, u8)>);

/// Logs in to a backend whose greeting has arrived.
async fn log_in(
    (env, settings, tls): (&PoolEnv, &Settings, Option<&ClientTls>),
    sub_pool: &SubPool,
    mut stream: PacketStream,
    greeting: &Greeting,
) -> Result<LoggedIn, Failure> {
    let backend = &sub_pool.backend;
    let limit = settings.config.health.timeout_connect;
    let compression = backend_compression(&settings.config.compression, greeting);
    let leg = backend_leg(compression);
    let wanted = (sub_pool.kind.capabilities | OWN) & greeting.capabilities;
    let head = HandshakeHead {
        capabilities: wanted,
        packet_bytes_max: 1 << 24,
        collation: u8::try_from(sub_pool.kind.collation).unwrap_or(greeting.collation),
    };
    let login = async {
        let security = (settings, tls);
        secure_backend(security, backend, greeting, &mut stream, &head, leg).await?;
        let is_tls = stream.privacy() == Privacy::Tls;
        let head = HandshakeHead {
            capabilities: wanted | leg.with(Capabilities::SSL, is_tls),
            ..head
        };
        let level = compression.map(|(_, level)| level);
        let channel = Channel {
            privacy: stream.privacy(),
            key: settings.server_key(),
        };
        let (to_backend, entropy) = ((&mut stream, channel), &env.system.entropy);
        let entered = authenticate(to_backend, entropy, greeting, head, level, sub_pool).await;
        match &entered {
            Ok(()) => backend.load.note_server_accepts(),
            Err(failure) if failure.kind == FailureKind::LoginRefused => {
                refused_credential(env, sub_pool, failure);
            }
            Err(failure) if failure.kind == FailureKind::BackendsFull => {
                backend.load.note_server_full(env.now());
            }
            Err(_) => (),
        }
        entered
    };
    match timeout(limit, login).await {
        Ok(done) => done.map(|()| (stream, wanted, compression)),
        Err(_) => {
            let how = format!("no answer to the login within {limit:?}");
            Err(broke_off(backend, &how))
        }
    }
}

fn note_greeting(env: &PoolEnv, backend: &Backend, greeting: &Greeting) {
    if !matches!(backend.health, Health::Up { .. }) {
        env.report(Report::Connected {
            backend: backend.id,
        });
    }
    env.greeting.learn(greeting);
}

fn unreachable(env: &PoolEnv, backend: &Backend, refusal: Refusal) -> Failure {
    let name = &backend.name;
    match refusal {
        Refusal::Unusable(cause) => {
            env.report(Report::ConnectFailed {
                backend: backend.id,
                cause: cause.clone(),
            });
            let causes = format!("{name}: {cause}");
            Failure::saying(FailureKind::NoBackend, errors::cannot_connect(causes))
        }
        Refusal::Full { cause, payload } => {
            backend.load.note_server_full(env.now());
            Failure::relaying(
                FailureKind::BackendsFull,
                format!("{name}: {cause}"),
                payload,
            )
        }
        Refusal::Err { cause, payload } => {
            Failure::relaying(FailureKind::NoBackend, format!("{name}: {cause}"), payload)
        }
    }
}

fn broke_off(backend: &Backend, how: &str) -> Failure {
    Failure::saying(
        FailureKind::BackendLogin,
        errors::cannot_open(&backend.name, how),
    )
}

async fn authenticate(
    (stream, channel): (&mut PacketStream, Channel<'_>),
    entropy: &Entropy,
    greeting: &Greeting,
    head: HandshakeHead,
    zstd_level: Option<u8>,
    sub_pool: &SubPool,
) -> Result<(), Failure> {
    let credential = &sub_pool.login.credential;
    let mut challenge = Challenge::greeted(greeting);
    let answer = challenge.answer(credential, channel);
    let answer = answer.map_err(|_| not_private(&sub_pool.backend.name))?;
    let response = response(head, zstd_level, sub_pool, &challenge.plugin, &answer);
    let said = match stream.write(&response).await {
        Ok(()) => dialogue(stream, &mut challenge, credential, channel, entropy).await,
        Err(error) => Err(error.into()),
    };
    match said {
        Ok(LoginAnswer::Accepted(_)) => Ok(()),
        Ok(LoginAnswer::Refused(payload)) => Err(refused(&payload, sub_pool)),
        Ok(LoginAnswer::NotPrivate) => Err(not_private(&sub_pool.backend.name)),
        Err(broken) => Err(broke_off(&sub_pool.backend, &broken.to_string())),
    }
}

/// How a login at a backend ended.
pub enum LoginAnswer {
    /// The backend's OK.
    Accepted(Vec<u8>),
    /// The backend's ERR.
    Refused(Vec<u8>),
    /// The backend asks for the password in full, and this connection is not private enough for that.
    NotPrivate,
}

/// Answers a backend's password plugins until OK or ERR.
pub async fn dialogue<T>(
    stream: &mut PacketStream<T>,
    challenge: &mut Challenge,
    credential: &Credential,
    channel: Channel<'_>,
    entropy: &Entropy,
) -> Result<LoginAnswer, ConnectionError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    for _ in 0..LOGIN_PACKETS_MAX {
        let payload = stream.read().await.map_err(login_packet_error)?;
        let answer = match AuthPacket::decode(&payload)? {
            AuthPacket::Ok => return Ok(LoginAnswer::Accepted(payload)),
            AuthPacket::Err => return Ok(LoginAnswer::Refused(payload)),
            AuthPacket::Switch { plugin, data } | AuthPacket::NextFactor { plugin, data } => {
                *challenge = Challenge::switched(plugin, data);
                challenge.answer(credential, channel).map(Some)
            }
            AuthPacket::MoreData(data) => challenge.answer_to(data, credential, channel, entropy),
            AuthPacket::Other => challenge.answer_to(&payload, credential, channel, entropy),
        };
        match answer {
            Ok(Some(answer)) => stream.write(&answer).await?,
            Ok(None) => {}
            Err(NotPrivate) => return Ok(LoginAnswer::NotPrivate),
        }
    }
    Err(ConnectionError::Unexpected("its login has no end"))
}

fn login_packet_error(error: PacketError) -> ConnectionError {
    match error {
        PacketError::Io(error) => ConnectionError::Io(error),
        PacketError::Closed => ConnectionError::Closed,
        _ => ConnectionError::Unexpected("it sent a login packet that makes no sense"),
    }
}

/// The connection attributes of the proxy's login. The backend's administrator sees the proxy's
/// name in them, and the account that the clients logged in to.
fn attributes(sub_pool: &SubPool) -> Vec<u8> {
    let mut attributes = Vec::new();
    let account = sub_pool.kind.account.to_string();
    for (name, value) in [
        ("_client_name", "pilotfish"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("program_name", "pilotfish"),
        ("pilotfish_account", &account),
    ] {
        put_lenenc_bytes(&mut attributes, name.as_bytes());
        put_lenenc_bytes(&mut attributes, value.as_bytes());
    }
    attributes
}

fn response(
    head: HandshakeHead,
    zstd_level: Option<u8>,
    sub_pool: &SubPool,
    plugin: &[u8],
    answer: &[u8],
) -> Vec<u8> {
    let mut payload = Vec::new();
    HandshakeResponse {
        head,
        user: &sub_pool.login.user,
        auth_response: answer,
        schema: None,
        plugin: Some(plugin),
        attributes: Some(&attributes(sub_pool)),
        zstd_level,
        trailing: b"",
    }
    .encode(&mut payload);
    payload
}

/// The backend has refused the credential that the client proved itself with: the proxy forgets it and learns it anew.
fn refused_credential(env: &PoolEnv, sub_pool: &SubPool, failure: &Failure) {
    env.shared.keyring.forget(&sub_pool.kind.account);
    env.report(Report::CredentialRefused {
        backend: sub_pool.backend.id,
        user: String::from_utf8_lossy(&sub_pool.login.user).into_owned(),
        cause: failure.cause.clone(),
    });
}

/// The error of a login that the backend has refused. The backend's text goes to the client, because it names the
/// account. The backend may also be full: servers keep a last connection for administrators, and refuse it to others
/// only after the login.
fn refused(payload: &[u8], sub_pool: &SubPool) -> Failure {
    let err = ErrPacket::decode(payload);
    let words = match &err {
        Ok(err) => format!("{}: {}", err.number, String::from_utf8_lossy(err.text)),
        Err(error) => error.to_string(),
    };
    let (name, account) = (&sub_pool.backend.name, &sub_pool.kind.account);
    if err.is_ok_and(|err| err.number == ErrorCode::CON_COUNT.number) {
        let cause = format!("{name}: it refused with error {words}");
        return Failure::relaying(FailureKind::BackendsFull, cause, payload.to_vec());
    }
    let cause = format!("backend {name} refused the login of {account}: error {words}");
    Failure::relaying(FailureKind::LoginRefused, cause, payload.to_vec())
}

/// Reads how the login left the session, and has the server report every change from now on.
async fn set_up(
    env: &PoolEnv,
    settings: &Settings,
    greeting: &Greeting,
    transport: (Transport, Vec<u8>),
    capabilities: Capabilities,
    sub_pool: &Rc<SubPool>,
) -> Result<BackendConn, ConnectionError> {
    let mut conn = BackendConn::new(
        Leg::new(transport.0),
        transport.1,
        Rc::clone(sub_pool),
        capabilities,
        greeting.clone(),
        settings.config.pool.prepared_max,
    );
    match u8::try_from(conn.sub_pool.kind.collation) {
        Ok(_) => conn.state = probe_session(env, greeting, &mut conn).await?,
        // The handshake cannot carry this collation, so the proxy logs in once more.
        Err(_) => log_in_again(env, &mut conn).await?,
    }
    let now = env.now().0;
    let interval = settings.config.pool.globals_interval;
    if env.shared.globals.claim(conn.backend.id, now, interval) {
        crate::ask_globals::refresh(env, &mut conn).await?;
    }
    Ok(conn)
}

/// Asks the server for the state of the new session, and has the server report changes.
async fn probe_session(
    env: &PoolEnv,
    greeting: &Greeting,
    conn: &mut BackendConn,
) -> Result<ConnectionState, ConnectionError> {
    const UNSAID: ConnectionError =
        ConnectionError::Unexpected("it does not give the state of its session");
    let server = server_of(greeting);
    // First the values that a client would be told, before they are changed; the warnings of a SET last until the next
    // question.
    let asks = [
        session::track_settings::question(server),
        Baseline::tracking(server),
        Baseline::question(),
    ];
    let replies = conn.ask_all(env, &asks).await?;
    let mut errors = replies.iter().filter_map(OwnReply::error_payload);
    if let Some(limit) = errors.find(|payload| is_limit(payload)) {
        return Err(ConnectionError::Limited(limit.into()));
    }
    let [track_settings, follow, look] = &replies[..] else {
        return Err(UNSAID);
    };
    if follow.outcome != Outcome::Ok {
        return Err(ConnectionError::Unexpected(
            "it does not report changes of its session's state",
        ));
    }
    let of_sight = table(track_settings, conn.capabilities)?.row;
    let of_sight: Vec<Option<&[u8]>> = of_sight.iter().map(Option::as_deref).collect();
    let of_baseline = table(look, conn.capabilities)?.row;
    let of_baseline: Vec<Option<&[u8]>> = of_baseline.iter().map(Option::as_deref).collect();
    let baseline = Baseline::read(server, &of_baseline).ok_or(UNSAID)?;
    conn.track_settings = Rc::new(SessionTrackSettings::read(&of_sight).ok_or(UNSAID)?);
    let baseline = env.store.baseline(baseline);
    Ok(ConnectionState::new(baseline, env.store.values.fresh()))
}

/// Whether the error is ER_USER_LIMIT_REACHED: a limit of the account. Its clients get the server's text.
fn is_limit(payload: &[u8]) -> bool {
    let number = ErrPacket::decode(payload).map(|err| err.number);
    number.is_ok_and(|number| number == ErrorCode::USER_LIMIT.number)
}

/// Logs in again on the same connection with COM_CHANGE_USER. The session then has no default schema.
pub async fn log_in_again(env: &PoolEnv, conn: &mut BackendConn) -> Result<(), ConnectionError> {
    const REFUSED: ConnectionError =
        ConnectionError::Unexpected("it refuses the account at a later login");
    let trusted_at = env.shared.privileges.now();
    let inherits_at = env.shared.globals.now();
    let sub_pool = Rc::clone(&conn.sub_pool);
    let greeting = conn.greeting.clone();
    let credential = &sub_pool.login.credential;
    let settings = Arc::clone(&env.settings.borrow());
    let channel = Channel {
        privacy: conn.leg.transport.privacy(),
        key: settings.server_key(),
    };
    let mut challenge = Challenge::greeted(&greeting);
    let mut payload = vec![Command::CHANGE_USER.0];
    payload.extend_from_slice(&sub_pool.login.user);
    payload.push(0);
    let answer = challenge.answer(credential, channel).map_err(|_| REFUSED)?;
    payload.push(answer.len() as u8);
    payload.extend_from_slice(&answer);
    payload.push(0);
    payload.extend_from_slice(&sub_pool.kind.collation.to_le_bytes());
    payload.extend_from_slice(&challenge.plugin);
    payload.push(0);
    put_lenenc_bytes(&mut payload, &attributes(&sub_pool));
    conn.leg.drained().await?;
    conn.leg.transport.begin_command();
    let sequences = conn.sequences();
    let ended = {
        let mut stream = PacketStream::new(&mut conn.leg.transport, 0).with_sequences(sequences);
        stream.write(&payload).await?;
        let entropy = &env.system.entropy;
        dialogue(&mut stream, &mut challenge, credential, channel, entropy).await
    };
    match ended {
        Ok(LoginAnswer::Accepted(_)) => {
            conn.forget_all();
            conn.epochs.trusted_at.set(trusted_at);
            conn.epochs.inherits_at.set(inherits_at);
            let greeting = conn.greeting.clone();
            conn.state = probe_session(env, &greeting, conn).await?;
            Ok(())
        }
        Ok(LoginAnswer::Refused(payload)) if is_limit(&payload) => {
            Err(ConnectionError::Limited(payload.into()))
        }
        Ok(LoginAnswer::Refused(_) | LoginAnswer::NotPrivate) | Err(_) => Err(REFUSED),
    }
}

impl BackendConn {
    /// Undoes everything that sessions have done on this connection. With MySQL that takes a new
    /// login: COM_RESET_CONNECTION sets the server's character sets in place of the handshake's,
    /// and no SET brings back the collation that the handshake named for results.
    pub async fn reset(&mut self, env: &PoolEnv) -> Result<(), ConnectionError> {
        if matches!(self.state.server(), sql::Server::MySql(_)) {
            return log_in_again(env, self).await;
        }
        let reset = self.ask(env, Command::RESET_CONNECTION, b"").await?;
        let after = text(self, self.state.after_reset());
        let follow = self.ask(env, Command::QUERY, &after).await?;
        if reset.outcome != Outcome::Ok || follow.outcome != Outcome::Ok {
            return Err(ConnectionError::Unexpected(
                "it has not reset the connection",
            ));
        }
        self.state.reset(&env.store.values);
        self.forget_all();
        Ok(())
    }
}
