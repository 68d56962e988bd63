//! The typed configuration, as the rest of the house sees it: whole, checked, with every default
//! filled in.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

pub use ipnet::IpNet;

use crate::{BackendAddress, ListenAddress, Secret, address::LISTEN_PORT};

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where clients connect.
    pub listen: Vec<ListenAddress>,
    /// Worker threads; never 0 here.
    pub workers: usize,
    /// File that holds the process id while the proxy runs.
    pub pid_file: Option<PathBuf>,
    /// User to become once the listeners are bound; needs root.
    pub user: Option<String>,
    /// Limit of open files to ask the system for; none: the highest it allows.
    pub open_files_max: Option<u64>,
    /// How long running statements may take at shutdown before their sessions are closed.
    pub timeout_drain: Duration,
    /// The servers behind the proxy; at least one, names and addresses unique.
    pub backends: Vec<BackendConfig>,
    /// Which backend a new session gets.
    pub balance: BalanceConfig,
    /// TLS towards clients.
    pub client_tls: ClientTlsConfig,
    /// TLS towards backends.
    pub backend_tls: BackendTlsConfig,
    /// Compression, each side on its own.
    pub compression: CompressionConfig,
    /// The PROXY protocol, in and out.
    pub proxy_protocol: ProxyProtocolConfig,
    /// What the proxy puts up with.
    pub limits: LimitsConfig,
    /// How backends are connected to and watched.
    pub health: HealthConfig,
    /// What is logged, how and where.
    pub log: LogConfig,
}

/// One server behind the proxy.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendConfig {
    /// What logs and errors call it; the address unless given.
    pub name: String,
    /// Where it is.
    pub address: BackendAddress,
    /// What it is among the servers that replicate one another.
    pub role: Role,
    /// Its share of new sessions under [`BalancePolicy::Weighted`]; 0: none while another is up.
    pub weight: u32,
    /// Sessions it may carry; none: `limits.backend_sessions_max` holds.
    pub sessions_max: Option<u32>,
}

/// What a server is among those that replicate one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Takes writes.
    Primary,
    /// Follows a primary.
    Replica,
}

/// Which backend a new session gets.
#[derive(Clone, Debug, PartialEq)]
pub struct BalanceConfig {
    /// The rule.
    pub policy: BalancePolicy,
    /// Which roles new transparent sessions may use.
    pub replicas: ReplicaUse,
    /// Time in which a returning backend's share grows from nothing to full; 0: at once.
    pub slow_start: Duration,
    /// How long a client waits for a backend when none is available; 0: it hears so at once.
    pub timeout_backend_wait: Duration,
}

/// How a backend is picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalancePolicy {
    /// The one with the fewest sessions.
    FewestSessions,
    /// One after the other.
    RoundRobin,
    /// By sessions in proportion to weights.
    Weighted,
    /// The less loaded of two picked at random.
    RandomOfTwo,
    /// The first of the list that is up.
    Ordered,
}

/// Which roles a transparent session may be given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicaUse {
    /// Primaries only.
    Primary,
    /// Primaries and replicas alike.
    Any,
    /// Replicas only.
    Replica,
}

/// TLS towards clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientTlsConfig {
    /// Whether clients can, or must, use TLS.
    pub mode: ClientTlsMode,
    /// PEM file with the certificate chain; none: one is made at start.
    pub certificate: Option<PathBuf>,
    /// PEM file with its key.
    pub key: Option<PathBuf>,
    /// PEM file with the authorities that sign client certificates.
    pub ca: Option<PathBuf>,
    /// Whether clients can, or must, show a certificate.
    pub client_certificate: ClientCertificate,
}

/// Whether clients can, or must, use TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientTlsMode {
    /// Not offered.
    Off,
    /// Offered.
    Optional,
    /// A client without it is refused.
    Required,
}

/// Whether clients can, or must, show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// None is asked for.
    NotAsked,
    /// Checked when the client has one.
    Optional,
    /// A client without one is refused.
    Required,
}

/// TLS towards backends.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendTlsConfig {
    /// Whether backends are spoken to over TLS, and how far they are trusted.
    pub mode: BackendTlsMode,
    /// PEM file with the authorities that sign the backends' certificates.
    pub ca: Option<PathBuf>,
    /// PEM file with the certificate shown to backends.
    pub certificate: Option<PathBuf>,
    /// PEM file with its key.
    pub key: Option<PathBuf>,
}

/// Whether backends are spoken to over TLS, and how far they are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendTlsMode {
    /// Never.
    Off,
    /// When the backend offers it, whatever its certificate.
    Preferred,
    /// Always, whatever its certificate.
    Required,
    /// Always, with a certificate signed by `ca`.
    VerifyCa,
    /// Always, with a certificate signed by `ca` for the backend's host name.
    VerifyIdentity,
}

/// Compression, each side on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressionConfig {
    /// What clients are offered.
    pub client: Vec<CompressionAlgorithm>,
    /// What is asked of backends.
    pub backend: BackendCompression,
    /// Level of zstd, 1 to 22.
    pub zstd_level: u8,
}

/// A compression of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompressionAlgorithm {
    /// CLIENT_COMPRESS.
    Zlib,
    /// CLIENT_ZSTD_COMPRESSION_ALGORITHM.
    Zstd,
}

/// What is asked of backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendCompression {
    /// Nothing.
    Off,
    /// zlib, where the backend offers it.
    Zlib,
    /// zstd, where the backend offers it.
    Zstd,
}

/// The PROXY protocol, in and out.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyProtocolConfig {
    /// Networks whose connections begin with a PROXY header (v1 or v2).
    pub trusted_networks: Vec<IpNet>,
    /// What backend connections begin with.
    pub send: ProxyProtocolSend,
}

/// What backend connections begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyProtocolSend {
    /// No header.
    Off,
    /// A version 2 header with the client's address.
    V2,
}

/// What the proxy puts up with.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitsConfig {
    /// Sessions in all, over all workers.
    pub sessions_max: usize,
    /// Sessions on one backend that sets no own limit; none: no limit.
    pub backend_sessions_max: Option<u32>,
    /// What a client over a limit gets.
    pub over_limit: OverLimit,
    /// How long a client over a limit waits under [`OverLimit::Wait`].
    pub timeout_over_limit: Duration,
    /// Time from accepting a client to the end of its login.
    pub timeout_login: Duration,
    /// Time a session may be idle; 0: for ever, the server's `wait_timeout` decides.
    pub timeout_idle: Duration,
    /// Largest payload a client may send, in bytes.
    pub packet_bytes_max: u64,
}

/// What a client over a limit gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverLimit {
    /// Error 1040 at once.
    Refuse,
    /// It waits for a place, `timeout_over_limit` at most.
    Wait,
}

/// How backends are connected to and watched.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthConfig {
    /// Time for a TCP connect and the server's greeting.
    pub timeout_connect: Duration,
    /// Time between two probes of a backend that is down, at first.
    pub probe_interval: Duration,
    /// The longest that time grows to while probes fail.
    pub probe_interval_max: Duration,
    /// Time between two look-ups of a backend's name; 0: once, at start.
    pub resolve_interval: Duration,
    /// Account for looking at backends that are up; none: only their connections are watched.
    pub monitor_user: Option<String>,
    /// Its password.
    pub monitor_password: Option<Secret>,
    /// Time between two looks at a backend that is up, with a monitor account.
    pub monitor_interval: Duration,
}

/// What is logged, how and where.
#[derive(Clone, Debug, PartialEq)]
pub struct LogConfig {
    /// The least important lines that are written.
    pub level: LogLevel,
    /// How a line looks.
    pub format: LogFormat,
    /// File to append to; none: standard error.
    pub file: Option<PathBuf>,
}

/// How important a log line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed for a client or the proxy.
    Error,
    /// Something will fail unless somebody looks.
    Warning,
    /// What an operator wants to know.
    Info,
    /// What a developer wants to know.
    Debug,
    /// Everything.
    Trace,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Default for Config {
    /// Every setting at its default, no backend.
    fn default() -> Self {
        Self {
            listen: vec![ListenAddress::Tcp(SocketAddr::new(
                Ipv4Addr::UNSPECIFIED.into(),
                LISTEN_PORT,
            ))],
            workers: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            pid_file: None,
            user: None,
            open_files_max: None,
            timeout_drain: Duration::from_secs(30),
            backends: Vec::new(),
            balance: BalanceConfig::default(),
            client_tls: ClientTlsConfig::default(),
            backend_tls: BackendTlsConfig::default(),
            compression: CompressionConfig::default(),
            proxy_protocol: ProxyProtocolConfig::default(),
            limits: LimitsConfig::default(),
            health: HealthConfig::default(),
            log: LogConfig::default(),
        }
    }
}

impl Default for BalanceConfig {
    fn default() -> Self {
        Self {
            policy: BalancePolicy::FewestSessions,
            replicas: ReplicaUse::Primary,
            slow_start: Duration::from_secs(10),
            timeout_backend_wait: Duration::ZERO,
        }
    }
}

impl Default for ClientTlsConfig {
    fn default() -> Self {
        Self {
            mode: ClientTlsMode::Optional,
            certificate: None,
            key: None,
            ca: None,
            client_certificate: ClientCertificate::NotAsked,
        }
    }
}

impl Default for BackendTlsConfig {
    fn default() -> Self {
        Self {
            mode: BackendTlsMode::Off,
            ca: None,
            certificate: None,
            key: None,
        }
    }
}

impl Default for CompressionConfig {
    fn default() -> Self {
        Self {
            client: vec![CompressionAlgorithm::Zlib, CompressionAlgorithm::Zstd],
            backend: BackendCompression::Off,
            zstd_level: 3,
        }
    }
}

impl Default for ProxyProtocolConfig {
    fn default() -> Self {
        Self {
            trusted_networks: Vec::new(),
            send: ProxyProtocolSend::Off,
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            sessions_max: 20_000,
            backend_sessions_max: None,
            over_limit: OverLimit::Refuse,
            timeout_over_limit: Duration::from_secs(10),
            timeout_login: Duration::from_secs(10),
            timeout_idle: Duration::ZERO,
            packet_bytes_max: 1 << 30,
        }
    }
}

impl Default for HealthConfig {
    fn default() -> Self {
        Self {
            timeout_connect: Duration::from_secs(2),
            probe_interval: Duration::from_secs(1),
            probe_interval_max: Duration::from_secs(30),
            resolve_interval: Duration::from_secs(30),
            monitor_user: None,
            monitor_password: None,
            monitor_interval: Duration::from_secs(5),
        }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            level: LogLevel::Info,
            format: LogFormat::Text,
            file: None,
        }
    }
}
