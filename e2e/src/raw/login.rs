//! The login: greeting, TLS, the response, and the packets of the authentication after it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::reply::{ServerError, lenenc};
use super::signatures::{ed25519, parsec};
use super::transport::Transport;
use super::{RawConn, command};
use crate::certs::Identity;
use crate::product::PASSWORD;

/// Capability bits; MariaDB's extended ones from bit 32.
#[allow(missing_docs)] // the protocol's own names
pub mod capability {
    pub const FOUND_ROWS: u64 = 1 << 1;
    pub const LONG_FLAG: u64 = 1 << 2;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const COMPRESS: u64 = 1 << 5;
    pub const LOCAL_FILES: u64 = 1 << 7;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const INTERACTIVE: u64 = 1 << 10;
    pub const SSL: u64 = 1 << 11;
    pub const TRANSACTIONS: u64 = 1 << 13;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const MULTI_STATEMENTS: u64 = 1 << 16;
    pub const MULTI_RESULTS: u64 = 1 << 17;
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const CONNECT_ATTRS: u64 = 1 << 20;
    pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
    pub const SESSION_TRACK: u64 = 1 << 23;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    pub const OPTIONAL_RESULTSET_METADATA: u64 = 1 << 25;
    pub const ZSTD: u64 = 1 << 26;
    pub const QUERY_ATTRIBUTES: u64 = 1 << 27;
    pub const MULTI_FACTOR: u64 = 1 << 28;
    pub const PROGRESS: u64 = 1 << 32;
    pub const BULK_OPERATIONS: u64 = 1 << 34;
    pub const EXTENDED_METADATA: u64 = 1 << 35;
    pub const CACHE_METADATA: u64 = 1 << 36;

    /// The capabilities that clients usually ask for.
    pub const USUAL: u64 = LONG_FLAG
        | PROTOCOL_41
        | LOCAL_FILES
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH
        | PLUGIN_AUTH_LENENC
        | CONNECT_ATTRS
        | DEPRECATE_EOF
        | MULTI_FACTOR;
}

/// How to log in.
#[derive(Clone, Debug)]
pub struct Login {
    /// Account.
    pub user: String,
    /// Passwords, one for each factor.
    pub passwords: Vec<String>,
    /// The schema that the session begins in.
    pub schema: Option<String>,
    /// The capabilities to ask for, if the server offers them.
    pub capabilities: u64,
    /// Collation id. A login has room for its lower byte only, a change of user for both.
    pub collation: u16,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
    /// TLS, if any.
    pub tls: Option<TlsChoice>,
    /// Compression, if any.
    pub compress: Option<Compress>,
    /// The plugin to begin with; none: the greeting's plugin.
    pub plugin: Option<String>,
    /// The answers, in order, to questions of plugins that this client does not implement.
    pub answers: Vec<Vec<u8>>,
    /// Bytes sent before everything else (a PROXY protocol header).
    pub preface: Vec<u8>,
}

/// TLS as the client wants it.
#[derive(Clone, Debug, Default)]
pub struct TlsChoice {
    /// The authority that must have signed the server's certificate; none: any certificate is accepted.
    pub ca: Option<PathBuf>,
    /// The certificate that the client presents.
    pub identity: Option<Identity>,
    /// Whether only TLS 1.2 is allowed.
    pub old: bool,
}

/// Compression as the client wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compress {
    /// Whether zstd is used rather than zlib.
    pub zstd: bool,
    /// The largest length of the frames that are written.
    pub frame_bytes_max: usize,
}

impl Login {
    /// As root without a password (Unix socket only).
    pub fn root() -> Self {
        Self::with("root", "")
    }

    /// As `app`, the usual account.
    pub fn app() -> Self {
        Self::user("app")
    }

    /// As one of the test accounts, with the password they share.
    pub fn user(user: &str) -> Self {
        Self::with(user, PASSWORD)
    }

    /// As any account.
    pub fn with(user: &str, password: &str) -> Self {
        Self {
            user: user.to_owned(),
            passwords: vec![password.to_owned()],
            schema: None,
            capabilities: capability::USUAL,
            collation: 45,
            attributes: Vec::new(),
            tls: None,
            compress: None,
            plugin: None,
            answers: Vec::new(),
            preface: Vec::new(),
        }
    }

    /// Begins in a schema.
    pub fn schema(mut self, schema: &str) -> Self {
        self.schema = Some(schema.to_owned());
        self
    }

    /// With a collation.
    pub fn collation(mut self, id: u16) -> Self {
        self.collation = id;
        self
    }

    /// With another password.
    pub fn with_password(mut self, password: &str) -> Self {
        self.passwords = vec![password.to_owned()];
        self
    }

    /// Asks for these capabilities as well.
    pub fn and(mut self, capabilities: u64) -> Self {
        self.capabilities |= capabilities;
        self
    }

    /// Does not ask for these capabilities.
    pub fn without(mut self, capabilities: u64) -> Self {
        self.capabilities &= !capabilities;
        self
    }

    /// Uses TLS, and accepts any certificate.
    pub fn over_tls(mut self) -> Self {
        self.tls.get_or_insert_default();
        self
    }

    /// With compression.
    pub fn compressed(mut self, zstd: bool) -> Self {
        let frame_bytes_max = 1 << 20;
        self.compress = Some(Compress {
            zstd,
            frame_bytes_max,
        });
        self
    }

    fn password(&self, factor: usize) -> &str {
        self.passwords.get(factor).map_or("", String::as_str)
    }
}

/// Why a login failed.
#[derive(Debug)]
pub enum LoginFailure {
    /// The server refused it.
    Refused(ServerError),
    /// The connection broke, or was not understood.
    Broken(io::Error),
}

impl LoginFailure {
    /// The server's error; panics when the connection broke instead.
    #[track_caller]
    pub fn refusal(self) -> ServerError {
        match self {
            Self::Refused(error) => error,
            Self::Broken(error) => panic!("no ERR packet, but {error}"),
        }
    }
}

impl From<io::Error> for LoginFailure {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl fmt::Display for LoginFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

fn not_understood(text: impl Into<String>) -> LoginFailure {
    LoginFailure::Broken(io::Error::new(io::ErrorKind::InvalidData, text.into()))
}

/// The fields of a greeting that this client needs.
struct Greeting {
    version: String,
    id: u32,
    capabilities: u64,
    scramble: Vec<u8>,
    plugin: String,
}

impl Greeting {
    fn parse(payload: &[u8]) -> Result<Self, LoginFailure> {
        match payload.first() {
            Some(10) => {}
            Some(0xFF) => return Err(LoginFailure::Refused(ServerError::parse(payload))),
            other => return Err(not_understood(format!("protocol version {other:?}"))),
        }
        let end = payload.iter().position(|&byte| byte == 0).unwrap_or(0);
        let rest = &payload[end + 1..];
        if rest.len() < 31 {
            return Err(not_understood("a short greeting"));
        }
        let word = |at: usize| u64::from(u16::from_le_bytes([rest[at], rest[at + 1]]));
        let mut capabilities = word(13) | word(18) << 16;
        // CLIENT_MYSQL unset: a MariaDB, whose extended capabilities are in the filler.
        if capabilities & 1 == 0 {
            capabilities |= (word(27) | word(29) << 16) << 32;
        }
        let mut scramble = rest[4..12].to_vec();
        let tail: Vec<&[u8]> = rest[31..].split(|&byte| byte == 0).collect();
        scramble.extend(tail.first().copied().unwrap_or_default());
        let plugin = tail.get(1).copied().unwrap_or_default();
        Ok(Self {
            version: String::from_utf8_lossy(&payload[1..end]).into_owned(),
            id: u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]),
            capabilities,
            scramble,
            plugin: String::from_utf8_lossy(plugin).into_owned(),
        })
    }
}

/// Logs in. Returns the steps that were taken, and the result.
pub(super) fn log_in(
    transport: Transport,
    login: &Login,
) -> (Vec<String>, Result<RawConn, LoginFailure>) {
    let mut conn = RawConn {
        secure: transport.is_unix(),
        transport,
        capabilities: 0,
        version: String::new(),
        id: 0,
        login_path: Vec::new(),
        login_ok: Vec::new(),
        scramble: Vec::new(),
        awaited: Default::default(),
        statements: Vec::new(),
        sequence: 0,
        counted: 0,
        transcript: Default::default(),
        before_send: None,
    };
    let entered = enter(&mut conn, login);
    (conn.login_path.clone(), entered.map(|()| conn))
}

fn enter(conn: &mut RawConn, login: &Login) -> Result<(), LoginFailure> {
    if !login.preface.is_empty() {
        conn.transport.write(&login.preface)?;
    }
    let greeting = Greeting::parse(&conn.payload()?)?;
    let mut wanted = login.capabilities;
    if login.schema.is_some() {
        wanted |= capability::CONNECT_WITH_DB;
    }
    if let Some(compress) = login.compress {
        wanted |= if compress.zstd {
            capability::ZSTD
        } else {
            capability::COMPRESS
        };
    }
    if login.tls.is_some() {
        wanted |= capability::SSL;
    }
    conn.capabilities = wanted & greeting.capabilities;
    let missing = wanted & !greeting.capabilities;
    if missing & (capability::SSL | capability::COMPRESS | capability::ZSTD) != 0 {
        return Err(not_understood("TLS or compression is not offered"));
    }
    conn.version.clone_from(&greeting.version);
    conn.id = greeting.id;
    conn.scramble.clone_from(&greeting.scramble);
    if let Some(choice) = &login.tls {
        let head = response_head(conn, login);
        conn.sequence = conn.write_payload(conn.sequence, &head)?;
        conn.transport.start_tls(tls_config(choice))?;
        conn.secure = true;
    }
    let plugin = login.plugin.clone().unwrap_or(greeting.plugin);
    let response = response(conn, login, &plugin)?;
    conn.sequence = conn.write_payload(conn.sequence, &response)?;
    converse(conn, login)?;
    if let Some(compress) = login.compress {
        conn.transport.start_compression(compress);
    }
    conn.transcript();
    Ok(())
}

pub(super) fn change_user(conn: &mut RawConn, login: &Login) -> Result<(), LoginFailure> {
    let plugin = match &login.plugin {
        Some(plugin) => plugin.clone(),
        None if conn.version.contains("MariaDB") => "mysql_native_password".to_owned(),
        None => "caching_sha2_password".to_owned(),
    };
    let answer = answer(conn, &plugin, login.password(0))?;
    let mut payload = vec![command::CHANGE_USER];
    payload.extend(login.user.as_bytes());
    payload.push(0);
    payload.push(u8::try_from(answer.len()).map_err(|_| not_understood("a long answer"))?);
    payload.extend(answer);
    payload.extend(login.schema.as_deref().unwrap_or_default().as_bytes());
    payload.push(0);
    payload.extend(login.collation.to_le_bytes());
    payload.extend(plugin.as_bytes());
    payload.push(0);
    if conn.can(capability::CONNECT_ATTRS) {
        payload.extend(attributes(login));
    }
    let mut transcript = conn.transcript();
    conn.send(&payload);
    conn.sequence = conn.awaited.pop_front().expect("it was just sent");
    conn.login_path.clear();
    let result = converse(conn, login);
    // The answers depend on the scramble, and the steps on the server's cache.
    transcript.note(format!("change user to {}: {}", login.user, result.is_ok()));
    conn.transcript = transcript;
    result
}

/// Capabilities, packet size, collation, filler: also the request for TLS.
fn response_head(conn: &RawConn, login: &Login) -> Vec<u8> {
    let capabilities = conn.capabilities.to_le_bytes();
    let mut head = capabilities[..4].to_vec();
    head.extend((1u32 << 30).to_le_bytes());
    head.push(login.collation.to_le_bytes()[0]);
    head.extend([0; 19]);
    head.extend(&capabilities[4..]);
    head
}

fn response(conn: &mut RawConn, login: &Login, plugin: &str) -> Result<Vec<u8>, LoginFailure> {
    let mut payload = response_head(conn, login);
    payload.extend(login.user.as_bytes());
    payload.push(0);
    payload.extend(lenenc(&answer(conn, plugin, login.password(0))?));
    if let Some(schema) = &login.schema {
        payload.extend(schema.as_bytes());
        payload.push(0);
    }
    if conn.can(capability::PLUGIN_AUTH) {
        payload.extend(plugin.as_bytes());
        payload.push(0);
    }
    if conn.can(capability::CONNECT_ATTRS) {
        payload.extend(attributes(login));
    }
    if conn.can(capability::ZSTD) {
        payload.push(3);
    }
    Ok(payload)
}

fn attributes(login: &Login) -> Vec<u8> {
    let pairs = login.attributes.iter();
    let bytes: Vec<u8> = pairs
        .flat_map(|(name, value)| [lenenc(name.as_bytes()), lenenc(value.as_bytes())].concat())
        .collect();
    lenenc(&bytes)
}

/// Everything between the response and the final OK or ERR.
fn converse(conn: &mut RawConn, login: &Login) -> Result<(), LoginFailure> {
    let mut factor = 0;
    let mut plugin = String::new();
    let mut answers = login.answers.iter();
    loop {
        let payload = conn.payload()?;
        let reply = match payload.first() {
            Some(0x00) => {
                conn.login_path.push("OK".into());
                conn.login_ok = payload;
                return Ok(());
            }
            Some(0xFF) => {
                let error = ServerError::parse(&payload);
                conn.login_path.push(format!("error {}", error.code));
                return Err(LoginFailure::Refused(error));
            }
            Some(0xFE | 0x02) if !plugin.is_empty() && !is_known(&plugin) => {
                asked(conn, &payload, answers.next())?
            }
            Some(&kind @ (0xFE | 0x02)) => {
                let end = payload.iter().position(|&byte| byte == 0);
                let end = end.ok_or_else(|| not_understood("a switch without a plugin"))?;
                plugin = String::from_utf8_lossy(&payload[1..end]).into_owned();
                let data = &payload[end + 1..];
                conn.scramble = match is_signed(&plugin) {
                    true => data.to_vec(),
                    false => data.strip_suffix(&[0]).unwrap_or(data).to_vec(),
                };
                if kind == 0x02 {
                    factor += 1;
                    conn.login_path
                        .push(format!("factor {} by {plugin}", factor + 1));
                } else {
                    conn.login_path.push(format!("switch to {plugin}"));
                }
                if is_known(&plugin) {
                    answer(conn, &plugin, login.password(factor))?
                } else {
                    asked(conn, data, answers.next())?
                }
            }
            Some(_) if !plugin.is_empty() && !is_known(&plugin) => {
                asked(conn, &payload, answers.next())?
            }
            Some(_) if plugin == "parsec" => {
                let salt = payload.strip_prefix(&[0x01]).unwrap_or(&payload);
                parsec(login.password(factor), &conn.scramble, salt)
                    .ok_or_else(|| not_understood("what parsec says"))?
            }
            Some(0x01) => match more(conn, &payload[1..], login.password(factor))? {
                Some(reply) => reply,
                None => continue,
            },
            other => return Err(not_understood(format!("login packet {other:?}"))),
        };
        conn.sequence = conn.write_payload(conn.sequence, &reply)?;
    }
}

fn is_known(plugin: &str) -> bool {
    matches!(
        plugin,
        "mysql_native_password"
            | "caching_sha2_password"
            | "sha256_password"
            | "mysql_clear_password"
    ) || is_signed(plugin)
}

/// MariaDB's plugins that sign 32 bytes.
fn is_signed(plugin: &str) -> bool {
    matches!(plugin, "client_ed25519" | "parsec")
}

/// Answers the question of a plugin that this client does not implement with the test's next answer.
fn asked(
    conn: &mut RawConn,
    question: &[u8],
    answer: Option<&Vec<u8>>,
) -> Result<Vec<u8>, LoginFailure> {
    conn.login_path
        .push(format!("asked {}", question.escape_ascii()));
    answer
        .cloned()
        .ok_or_else(|| not_understood("a question too many"))
}

/// The first answer of a plugin.
fn answer(conn: &mut RawConn, plugin: &str, password: &str) -> Result<Vec<u8>, LoginFailure> {
    let scramble = &conn.scramble[..conn.scramble.len().min(20)];
    let with_nul = || [password.as_bytes(), &[0]].concat();
    Ok(match plugin {
        "mysql_native_password" | "caching_sha2_password" if password.is_empty() => Vec::new(),
        "mysql_native_password" => native(password, scramble),
        "caching_sha2_password" => sha2(password, scramble),
        "sha256_password" if password.is_empty() => vec![0],
        "sha256_password" if conn.secure => with_nul(),
        "sha256_password" => {
            conn.login_path.push("key wanted".into());
            vec![1]
        }
        "mysql_clear_password" => with_nul(),
        // A greeting's scramble is too short to be signed.
        "client_ed25519" if conn.scramble.len() == 32 => ed25519(password, &conn.scramble),
        _ => Vec::new(),
    })
}

/// The answer to a packet after the first answer; none if there is nothing to send.
fn more(conn: &mut RawConn, data: &[u8], password: &str) -> Result<Option<Vec<u8>>, LoginFailure> {
    match data {
        [3] => {
            conn.login_path.push("fast".into());
            Ok(None)
        }
        [4] => {
            conn.login_path.push("full".into());
            if conn.secure {
                return Ok(Some([password.as_bytes(), &[0]].concat()));
            }
            conn.login_path.push("key wanted".into());
            Ok(Some(vec![2]))
        }
        pem if pem.starts_with(b"-----BEGIN PUBLIC KEY-----") => {
            conn.login_path.push("RSA".into());
            rsa(password, &conn.scramble, pem).map(Some)
        }
        other => Err(not_understood(format!(
            "login data {}",
            other.escape_ascii()
        ))),
    }
}

/// SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password)))
fn native(password: &str, scramble: &[u8]) -> Vec<u8> {
    let sha1 = |bytes: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().to_vec();
    let once = sha1(password.as_bytes());
    let mask = sha1(&[scramble, &sha1(&once)].concat());
    once.iter()
        .zip(mask)
        .map(|(byte, mask)| byte ^ mask)
        .collect()
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + scramble)
fn sha2(password: &str, scramble: &[u8]) -> Vec<u8> {
    let sha256 = |bytes: &[u8]| digest(&SHA256, bytes).as_ref().to_vec();
    let once = sha256(password.as_bytes());
    let mask = sha256(&[&sha256(&once), scramble].concat());
    once.iter()
        .zip(mask)
        .map(|(byte, mask)| byte ^ mask)
        .collect()
}

/// The password with its NUL, masked by the scramble, encrypted with the server's key.
fn rsa(password: &str, scramble: &[u8], pem: &[u8]) -> Result<Vec<u8>, LoginFailure> {
    let unreadable = |what: &str| not_understood(format!("the server's RSA key: {what}"));
    let (_, der) = rustls::pki_types::pem::from_buf(&mut io::Cursor::new(pem))
        .map_err(|_| unreadable("no PEM"))?
        .ok_or_else(|| unreadable("empty"))?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| unreadable("no key"))?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| unreadable("no RSA key"))?;
    let plain = [password.as_bytes(), &[0]].concat();
    let mask = scramble[..20].iter().cycle();
    let masked: Vec<u8> = plain
        .iter()
        .zip(mask)
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    let mut sealed = vec![0; key.ciphertext_size()];
    let sealed = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, &masked, &mut sealed, None)
        .map_err(|_| unreadable("nothing can be encrypted"))?;
    Ok(sealed.to_vec())
}

pub(crate) fn tls_config(choice: &TlsChoice) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions = if choice.old {
        &[&rustls::version::TLS12][..]
    } else {
        rustls::ALL_VERSIONS
    };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("the provider has them");
    let builder = match &choice.ca {
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(ca).expect("it is readable") {
                roots
                    .add(certificate.expect("it is PEM"))
                    .expect("it is a certificate");
            }
            builder.with_root_certificates(roots)
        }
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))),
    };
    match &choice.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let chain = CertificateDer::pem_file_iter(&identity.certificate);
            let chain = chain.expect("it is readable").collect::<Result<_, _>>();
            let key = PrivateKeyDer::from_pem_file(&identity.key).expect("it is a key");
            builder
                .with_client_auth_cert(chain.expect("it is PEM"), key)
                .expect("key and certificate belong together")
        }
    }
}

/// Accepts every certificate, as `--ssl-mode=REQUIRED` does.
#[derive(Debug)]
struct AnyCertificate(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
