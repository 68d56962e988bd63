//! Every setting, defined once: its name, type, default, range, when a change applies, and the text
//! of help and manual (the doc comments). The structs are what the rest of the house works with:
//! whole, checked, with every default filled in. What belongs to the pool, to accounts and to rules is
//! in files of its own beside this one.

mod accounts;
mod admin;
mod balance;
mod history;
mod http;
mod insight;
mod journal;
mod pool;
mod profiling;
mod rule;
mod script;
mod tracing;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

pub use accounts::*;
pub use admin::*;
pub use balance::*;
pub use history::*;
pub use http::*;
pub use insight::*;
pub use ipnet::IpNet;
pub use journal::*;
pub use pool::*;
pub use profiling::*;
pub use rule::*;
pub use script::*;
pub use tracing::*;

use crate::address::{BACKEND_PORT, LISTEN_PORT};
use crate::define::{choices, settings};
use crate::{BackendAddress, ListenAddress, Secret, Traits};

/// Milliseconds, for the ranges of durations.
const MS: u64 = 1;
const SECOND: u64 = 1000 * MS;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

settings! {
    /// Settings of the whole proxy. In the file they stand above the first table.
    pub struct Config in Config [], "The proxy" {
        /// Where clients connect: IPv4 and IPv6 addresses with their ports, and paths of Unix
        /// sockets. `":4040"` is that port on all IPv4 addresses.
        listen: Vec<ListenAddress> = vec![ListenAddress::Tcp(SocketAddr::new(
            Ipv4Addr::UNSPECIFIED.into(),
            LISTEN_PORT,
        ))], Traits::RESTART;

        /// Worker threads. Each owns its sessions.
        workers: usize = cores(),
            Traits::RESTART.within(1, 1024).nothing("one for each core").default_text("0");

        /// File that holds the process id while the proxy runs.
        pid_file: Option<PathBuf> = None, Traits::RESTART;

        /// User to become once the listeners are bound. Needs root at start.
        user: Option<String> = None, Traits::RESTART;

        /// Limit of open files to ask the system for. A session needs two.
        open_files_max: Option<u32> = None,
            Traits::RESTART.within(64, 1 << 30).nothing("as many as the system allows");

        /// The zone this proxy is in, such as a data centre's name. Of backends that would do, those
        /// whose `zone` is the same are preferred.
        zone: Option<String> = None, Traits::RELOAD;

        /// How long running statements may take at shutdown before their sessions are closed.
        timeout_drain: Duration = Duration::from_secs(30),
            Traits::RELOAD.within(MS, DAY).nothing("close at once");
    }
    sections as SECTIONS {
        /// Which backend a session or a statement gets.
        balance: BalanceConfig,
        /// Backend connections that sessions share.
        pool: PoolConfig,
        /// Logins that the proxy answers itself.
        accounts: AccountsConfig,
        /// How backends are connected to and watched.
        health: HealthConfig,
        /// What the proxy puts up with.
        limits: LimitsConfig,
        /// What statements may say of where they go.
        hints: HintsConfig,
        /// TLS towards clients.
        client_tls: ClientTlsConfig,
        /// TLS towards backends.
        backend_tls: BackendTlsConfig,
        /// Compression, each side on its own.
        compression: CompressionConfig,
        /// The PROXY protocol, in and out.
        proxy_protocol: ProxyProtocolConfig,
        /// What is logged, how and where.
        log: LogConfig,
        /// A script that sessions run.
        script: ScriptConfig,
        /// What was seen of late, for `pilotfish plan`.
        digests: DigestsConfig,
        /// The port on which the proxy is looked at.
        admin: AdminConfig,
        /// The same over HTTP.
        http: HttpConfig,
        /// What is kept about statements, to be looked at.
        insight: InsightConfig,
        /// What digests have cost from interval to interval.
        history: HistoryConfig,
        /// Slow statements, in a file.
        slow_log: SlowLogConfig,
        /// Statements, in a file.
        query_log: QueryLogConfig,
        /// Logins and administration, in a file.
        audit_log: AuditLogConfig,
        /// What statements have cost their backends.
        profiling: ProfilingConfig,
        /// Spans of statements, for a collector.
        tracing: TracingConfig,
    }
    lists {
        /// Where clients connect besides `listen`; addresses unique, together with those of `listen`.
        listeners: Vec<ListenerConfig>,
        /// The servers behind the proxy; at least one, names and addresses unique.
        backends: Vec<BackendConfig>,
        /// Accounts whose logins the proxy answers, those it learns apart; user and host unique.
        configured_accounts: Vec<AccountConfig>,
        /// What is done about which statements, in order; names unique.
        rules: Vec<RuleConfig>,
        /// Users of the admin port besides `admin.username`; names unique.
        admin_accounts: Vec<AdminAccountConfig>,
    }
}

settings! {
    /// Where clients connect besides `listen`, one `[[listener]]` table for each address. Its
    /// sessions can have a mode of their own. With a `[[listener]]`, `listen` may be `[]`.
    pub struct ListenerConfig in ListenerConfig [[listener]], "Listeners" {
        /// An address as in `listen`.
        address: ListenAddress = ListenAddress::Tcp(SocketAddr::new(
            Ipv4Addr::UNSPECIFIED.into(),
            LISTEN_PORT,
        )), Traits::RESTART.required();

        /// For how long its sessions keep a backend connection, if the proxy answers their login.
        session: Option<SessionMode> = None,
            Traits::RESTART.default_text("what the account or `pool.session` says");

        /// Which cluster its sessions go to, unless their account says.
        cluster: Option<String> = None, Traits::RESTART.default_text("the first backend's");

        /// Which roles its sessions may use, unless their account says.
        replicas: Option<ReplicaUse> = None,
            Traits::RESTART.default_text("what `balance.replicas` says");

        /// Which of their statements may share a connection with others at the same time, unless
        /// their account says.
        lanes: Option<LaneUse> = None, Traits::RESTART.default_text("what `pool.lanes` says");

        /// The scripts that its sessions run; `[]`: none.
        script: Option<Vec<PathBuf>> = None,
            Traits::RESTART.default_text("what `script.file` says");

        /// What its sessions' reads see of earlier writes, unless their account says.
        consistency: Option<Consistency> = None,
            Traits::RESTART.default_text("what `balance.consistency` says");

        /// Whether transactions that may write begin on a replica, unless their account says.
        optimistic_transactions: Option<bool> = None,
            Traits::RESTART.default_text("what `balance.optimistic_transactions` says");
    }
}

settings! {
    /// The servers behind the proxy, one `[[backend]]` table for each. `--backend` and
    /// `--read-only-backend` on the command line replace all that the file has.
    pub struct BackendConfig in BackendConfig [[backend]], "Backends" {
        /// What logs and errors call it.
        name: String = String::new(), Traits::RELOAD.default_text("the address");

        /// Where it is: a name or IP address with its port (3306 unless given), or the path of a
        /// Unix socket.
        address: BackendAddress = BackendAddress::Tcp {
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: BACKEND_PORT,
        }, Traits::RELOAD.required();

        /// The cluster it belongs to: backends that replicate one another, in which statements may
        /// go to one as well as to another.
        cluster: String = "main".to_owned(), Traits::RELOAD;

        /// What it is among the servers that replicate one another.
        role: Role = Role::Primary, Traits::RELOAD;

        /// Its share of sessions and statements, relative to the others'.
        weight: u32 = 1, Traits::RELOAD.within(1, 1_000_000);

        /// The zone it is in, compared with the proxy's own `zone`.
        zone: Option<String> = None, Traits::RELOAD;

        /// Names by which rules choose it.
        tags: Vec<String> = Vec::new(), Traits::RELOAD;

        /// How far it may lag behind its primary, as a replica, before statements are kept from it.
        /// The servers count whole seconds; `"0s"` is no limit.
        lag_max: Option<Duration> = None,
            Traits::RELOAD.within(0, 365 * DAY).default_text("what `balance.lag_max` says");

        /// Whether it is to become free: true gives it no new session and no new statement. What
        /// runs there ends in its own time.
        drain: bool = false, Traits::RELOAD;

        /// Whether it is out of use: true has all that runs there end at once. Statements and
        /// transactions are cut, pinned and relayed sessions are ended, each client is told, and
        /// connections are closed. It is still probed.
        disable: bool = false, Traits::RELOAD;

        /// Sessions it may carry at the same time.
        sessions_max: Option<u32> = None, Traits::RELOAD
            .within(1, 1_000_000)
            .nothing("`limits.backend_sessions_max` holds");
    }
}

choices! {
    /// What a server is among those that replicate one another.
    pub enum Role {
        /// Takes writes.
        Primary = "primary" also "rw" | "master",
        /// Follows a primary; `--read-only-backend`.
        Replica = "replica" also "ro" | "slave" | "read_only",
        /// Asked with `health.monitor_user`: a server that is `read_only` is a replica. Of several
        /// in one cluster that are not, one is the primary: it stays so while it is up and
        /// writable.
        Auto = "auto",
    }
}

settings! {
    /// How backends are connected to, and how the proxy learns that they are down, up again or
    /// elsewhere.
    pub struct HealthConfig in Config [health], "Health" {
        /// Time for connecting and for the server's greeting. A backend that needs longer counts
        /// as down.
        timeout_connect: Duration = Duration::from_secs(2), Traits::RELOAD.within(10 * MS, 5 * MINUTE);

        /// Time between two probes of a backend that is down, at first; it doubles while probes
        /// fail.
        probe_interval: Duration = Duration::from_secs(1), Traits::RELOAD.within(50 * MS, HOUR);

        /// The longest that the time between two probes grows to.
        probe_interval_max: Duration = Duration::from_secs(30), Traits::RELOAD.within(50 * MS, DAY);

        /// How long a backend must be down before a command that has waited on it for as long is
        /// given up: its client gets an error that names the backend. For servers that hang or
        /// vanish from the network; one that closes its connections needs no waiting.
        timeout_down: Duration = Duration::from_secs(10),
            Traits::RELOAD.within(SECOND, DAY).nothing("clients wait until the connection breaks");

        /// Time between two look-ups of a backend's name.
        resolve_interval: Duration = Duration::from_secs(30),
            Traits::RELOAD.within(SECOND, DAY).nothing("looked up once, at start");

        /// Account with which the proxy looks at backends that are up, and ends statements that
        /// nobody waits for any more. Looking needs no privilege, ending needs `CONNECTION_ADMIN`
        /// (MariaDB: `CONNECTION ADMIN`). Without an account a backend counts as up until a
        /// connection to it fails, and such statements run on.
        monitor_user: Option<String> = None, Traits::RELOAD;

        /// Password of `monitor_user`. `"file:PATH"` reads it from a file, `"env:NAME"` from the
        /// environment. It is never shown.
        monitor_password: Option<Secret> = None, Traits::RELOAD;

        /// Time between two looks at a backend that is up, when there is a `monitor_user`.
        monitor_interval: Duration = Duration::from_secs(5), Traits::RELOAD.within(100 * MS, HOUR);

        /// Time between two questions about replication, when there is a `monitor_user`: whether a
        /// backend is read-only, how far it lags, which transactions it has. Asked where a cluster
        /// has several backends, or a role is `"auto"`. Lag needs `REPLICATION CLIENT` (MariaDB:
        /// `SLAVE MONITOR`); without it no lag is known, and none is limited.
        replication_interval: Duration = Duration::from_millis(500),
            Traits::RELOAD.within(50 * MS, HOUR);
    }
}

settings! {
    /// What the proxy puts up with.
    pub struct LimitsConfig in Config [limits], "Limits" {
        /// Sessions in all, over all workers.
        sessions_max: usize = 20_000, Traits::RELOAD.within(1, 10_000_000);

        /// Sessions on each backend that sets no `sessions_max` of its own.
        backend_sessions_max: Option<u32> = None,
            Traits::RELOAD.within(1, 1_000_000).nothing("no limit");

        /// What a client over one of these two limits gets.
        over_limit: OverLimit = OverLimit::Refuse, Traits::RELOAD;

        /// How long a client waits under `over_limit = "wait"` before it gets error 1040.
        timeout_over_limit: Duration = Duration::from_secs(10), Traits::RELOAD.within(MS, HOUR);

        /// Time from a client's connect to the end of its login.
        timeout_login: Duration = Duration::from_secs(10), Traits::RELOAD.within(100 * MS, HOUR);

        /// Time a session may be idle before it is closed.
        timeout_idle: Duration = Duration::ZERO,
            Traits::RELOAD.within(SECOND, 365 * DAY).nothing("never, the server's wait_timeout decides");

        /// Largest payload a client may send, in bytes.
        packet_bytes_max: u64 = 1 << 30, Traits::RELOAD.within(1 << 10, 1 << 40);
    }
}

choices! {
    /// What a client over a limit gets.
    pub enum OverLimit {
        /// Error 1040 "Too many connections" at once.
        Refuse = "refuse",
        /// It waits for a place, `timeout_over_limit` at most.
        Wait = "wait",
    }
}

settings! {
    /// TLS towards clients. Certificate files are read again when they change.
    pub struct ClientTlsConfig in Config [client_tls], "TLS towards clients" {
        /// Whether clients can, or must, use TLS.
        mode: ClientTlsMode = ClientTlsMode::Optional, Traits::RELOAD;

        /// PEM file with the certificate and those that lead to its authority. Without one a
        /// self-signed certificate is made at start.
        certificate: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with the certificate's private key.
        key: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with the authorities that sign client certificates.
        ca: Option<PathBuf> = None, Traits::RELOAD;

        /// Whether clients can, or must, show a certificate signed by one of `ca`.
        client_certificate: ClientCertificate = ClientCertificate::NotAsked, Traits::RELOAD;
    }
}

choices! {
    /// Whether clients can, or must, use TLS.
    pub enum ClientTlsMode {
        /// Not offered.
        Off = "off" also "disabled",
        /// Offered.
        Optional = "optional" also "preferred",
        /// A client without it is refused.
        Required = "required",
    }
}

choices! {
    /// Whether clients can, or must, show a certificate.
    pub enum ClientCertificate {
        /// None is asked for.
        NotAsked = "not_asked",
        /// One is checked when the client has it.
        Optional = "optional",
        /// A client without one is refused.
        Required = "required",
    }
}

settings! {
    /// TLS towards backends. Certificate files are read again when they change.
    pub struct BackendTlsConfig in Config [backend_tls], "TLS towards backends" {
        /// Whether backends are spoken to over TLS, and how far they are trusted. MySQL's names
        /// (`VERIFY_CA`) are read as well.
        mode: BackendTlsMode = BackendTlsMode::Off, Traits::RELOAD;

        /// PEM file with the authorities that sign the backends' certificates.
        ca: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with a certificate to show to backends that ask for one.
        certificate: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with that certificate's private key.
        key: Option<PathBuf> = None, Traits::RELOAD;
    }
}

choices! {
    /// Whether backends are spoken to over TLS, and how far they are trusted.
    pub enum BackendTlsMode {
        /// Never.
        Off = "off" also "disabled",
        /// Where the backend offers it, whatever its certificate.
        Preferred = "preferred",
        /// Always, whatever the certificate.
        Required = "required",
        /// Always, with a certificate signed by one of `ca`.
        VerifyCa = "verify_ca",
        /// Always, with a certificate signed by one of `ca` for the name in the backend's address.
        VerifyIdentity = "verify_identity",
    }
}

settings! {
    /// Compression of the protocol, for each side on its own.
    pub struct CompressionConfig in Config [compression], "Compression" {
        /// What clients are offered; they decide. An empty list offers nothing.
        client: Vec<CompressionAlgorithm> =
            vec![CompressionAlgorithm::Zlib, CompressionAlgorithm::Zstd], Traits::RELOAD;

        /// What is asked of backends that offer it.
        backend: BackendCompression = BackendCompression::Off, Traits::RELOAD;

        /// Level of zstd on the backends' side; clients choose their own.
        zstd_level: u8 = 3, Traits::RELOAD.within(1, 22);
    }
}

choices! {
    /// A compression of the protocol.
    pub enum CompressionAlgorithm {
        /// zlib, known to all clients.
        Zlib = "zlib",
        /// zstd, known to MySQL's clients from 8.0.18.
        Zstd = "zstd",
    }
}

choices! {
    /// What is asked of backends.
    pub enum BackendCompression {
        /// No compression.
        Off = "off",
        /// zlib.
        Zlib = "zlib",
        /// zstd; MySQL from 8.0.18, not MariaDB.
        Zstd = "zstd",
    }
}

settings! {
    /// The PROXY protocol, with which one proxy tells the next where a client really is.
    pub struct ProxyProtocolConfig in Config [proxy_protocol], "PROXY protocol" {
        /// Networks whose connections begin with a PROXY header (version 1 or 2). A header from
        /// elsewhere is not believed.
        trusted_networks: Vec<IpNet> = Vec::new(), Traits::RELOAD;

        /// What connections to backends begin with. MariaDB wants `proxy_protocol_networks` set.
        send: ProxyProtocolSend = ProxyProtocolSend::Off, Traits::RELOAD;
    }
}

choices! {
    /// What connections to backends begin with.
    pub enum ProxyProtocolSend {
        /// No header.
        Off = "off",
        /// A header of version 2 with the client's address.
        V2 = "v2",
    }
}

settings! {
    /// What is logged, how and where.
    pub struct LogConfig in Config [log], "Log" {
        /// The least important lines that are written. MySQL Proxy's names are read as well.
        level: LogLevel = LogLevel::Info, Traits::RELOAD;

        /// How a line looks.
        format: LogFormat = LogFormat::Text, Traits::RESTART;

        /// File to append to; standard error unless given. A reload opens it again.
        file: Option<PathBuf> = None, Traits::RESTART;

        /// Statements of pooled sessions that take so long or longer are recorded: what they were, where
        /// they went, and why. Sessions that have begun keep what held then.
        slow_statements: Duration = Duration::ZERO,
            Traits::RELOAD.within(MS, DAY).nothing("none");

        /// Statements of pooled sessions that end with an error are recorded.
        failed_statements: bool = false, Traits::RELOAD;

        /// One of so many statements of pooled sessions is recorded, by chance.
        sampled_statements: u32 = 0, Traits::RELOAD.within(1, 1_000_000_000).nothing("none");
    }
}

settings! {
    /// Statements that were seen of late, without their values, for `pilotfish plan`. See
    /// [Explaining](explain.md).
    pub struct DigestsConfig in Config [digests], "Digests" {
        /// File to which they are written, from time to time and at the end; nothing is kept unless
        /// it is given. Only pooled sessions' statements are seen.
        file: Option<PathBuf> = None, Traits::RELOAD;

        /// How many each worker keeps, of each account and schema for itself; those seen last stay.
        count_max: u32 = 1000, Traits::RELOAD.within(1, 100_000);

        /// Time between two writings of the file, give or take five seconds.
        interval: Duration = Duration::from_secs(60), Traits::RELOAD.within(SECOND, DAY);
    }
}

choices! {
    /// How important a log line is, the most important first.
    pub enum LogLevel {
        /// Something failed for a client or the proxy.
        Error = "error" also "critical",
        /// Something will fail unless somebody looks.
        Warning = "warning" also "warn",
        /// What an operator wants to know.
        Info = "info" also "message",
        /// What a developer wants to know.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

choices! {
    /// How a log line looks.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

impl BackendConfig {
    /// A backend with everything else at its default, named after its address.
    pub fn new(address: BackendAddress, role: Role) -> Self {
        Self {
            name: address.to_string(),
            address,
            role,
            ..Self::default()
        }
    }
}

/// Cores this process may use; 1 when the system does not say.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
