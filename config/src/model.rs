//! Every setting, defined once: its name, type, default, range, when a change applies, and the text
//! of help and manual (the doc comments). The structs are what the rest of the house works with:
//! whole, checked, with every default filled in. What stands above the first table of a file is here;
//! each table is in a file of its own below this one.

mod accounts;
mod admin;
mod backend;
mod balance;
mod compression;
mod health;
mod hints;
mod http;
mod http_target;
mod journal;
mod limits;
mod listener;
mod log;
mod pool;
mod profiling;
mod proxy_protocol;
mod replication;
mod routing;
mod rule;
mod script;
mod statement_stats;
mod tls;
mod tracing;
mod units;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

pub use accounts::*;
pub use admin::*;
pub use backend::*;
pub use balance::*;
pub use compression::*;
pub use health::*;
pub use hints::*;
pub use http::*;
pub use http_target::*;
pub use ipnet::IpNet;
pub use journal::*;
pub use limits::*;
pub use listener::*;
pub use log::*;
pub use pool::*;
pub use profiling::*;
pub use proxy_protocol::*;
pub use replication::*;
pub use routing::*;
pub use rule::*;
pub use script::*;
pub use statement_stats::*;
pub use tls::*;
pub use tracing::*;

use crate::address::LISTEN_PORT;
use crate::define::settings;
use crate::{ListenAddress, Traits};
use units::{DAY, MS};

settings! {
    /// Settings of the whole proxy. In the file they stand above the first table.
    pub struct Config in [], "The proxy" {
        /// The addresses on which the proxy listens: IPv4 and IPv6 addresses with their ports, and paths of
        /// Unix sockets. `":4040"` is that port on all IPv4 addresses.
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
        /// Where sessions and statements go.
        routing: RoutingConfig,
        /// Which backend of its cluster a session or a statement gets.
        balance: BalanceConfig,
        /// Backend connections that sessions share.
        pool: PoolConfig,
        /// Logins that the proxy answers itself.
        accounts: AccountsConfig,
        /// How backends are connected to and watched.
        health: HealthConfig,
        /// Limits of sessions, logins and packets.
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
        /// The level, format and place of the log.
        log: LogConfig,
        /// What scripts may do.
        script: ScriptConfig,
        /// The port on which the proxy is looked at.
        admin: AdminConfig,
        /// The same over HTTP.
        http: HttpConfig,
        /// What is kept about statements.
        statement_stats: StatementStatsConfig,
        /// Changes of the schemas, and what they were.
        schema_history: SchemaHistoryConfig,
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
        /// Addresses on which the proxy listens besides `listen`; addresses unique, together with those of
        /// `listen`.
        listeners: Vec<ListenerConfig>,
        /// The servers behind the proxy; at least one, names and addresses unique.
        backends: Vec<BackendConfig>,
        /// Accounts whose logins the proxy answers, those it learns apart; user and host unique.
        configured_accounts: Vec<AccountConfig>,
        /// What is done about which statements, in order; names unique.
        rules: Vec<RuleConfig>,
        /// Users of the admin port besides `admin.username`; names unique.
        admin_accounts: Vec<AdminAccountConfig>,
        /// The clusters whose changes are followed; names and server ids unique.
        replications: Vec<ReplicationConfig>,
    }
}

impl Config {
    /// Where a session goes: by the settings of its account, or else of its listener, or else of [`RoutingConfig`].
    pub fn destination<'a>(
        &'a self,
        account: Option<&'a AccountConfig>,
        listener: Option<&'a ListenerConfig>,
    ) -> Destination<'a> {
        let said = [
            account.map(|it| &it.routing),
            listener.map(|it| &it.routing),
        ];
        let said = || said.into_iter().flatten();
        let all = &self.routing;
        let cluster = said().find_map(|it| it.cluster.as_deref());
        let replicas = said().find_map(|it| it.replicas);
        let consistency = said().find_map(|it| it.consistency);
        let is_optimistic = said().find_map(|it| it.optimistic_transactions);
        let lanes = said().find_map(|it| it.lanes);
        Destination {
            cluster: cluster.unwrap_or_else(|| self.default_cluster()),
            replicas: replicas.unwrap_or(all.replicas),
            consistency: consistency.unwrap_or(all.consistency),
            optimistic_transactions: is_optimistic.unwrap_or(all.optimistic_transactions),
            lanes: lanes.unwrap_or(all.lanes),
        }
    }

    /// The cluster of sessions for which no other cluster is configured.
    pub fn default_cluster(&self) -> &str {
        let first = || self.backends.first().map_or("", |it| &it.cluster);
        self.routing.cluster.as_deref().unwrap_or_else(first)
    }

    /// The scripts that a listener's sessions run, in their order.
    pub fn scripts_of<'a>(&'a self, listener: &'a ListenerConfig) -> &'a [PathBuf] {
        let own = listener.routing.script.as_deref();
        own.unwrap_or(&self.routing.script)
    }

    /// Every script in the configuration, each once.
    pub fn all_scripts(&self) -> Vec<&Path> {
        let of_listeners = self
            .listeners
            .iter()
            .filter_map(|it| it.routing.script.as_ref());
        let of_accounts = self.configured_accounts.iter();
        let of_accounts = of_accounts.filter_map(|it| it.routing.script.as_ref());
        let named = self.routing.script.iter();
        let named = named.chain(of_listeners.flatten());
        let named = named.chain(of_accounts.flatten()).chain(&self.admin.script);
        let named = named.chain(&self.schema_history.script);
        let filters = self.replications.iter().flat_map(|it| &it.filters);
        let named = named.chain(filters.filter_map(|it| it.script.as_ref()));
        let mut all: Vec<&Path> = Vec::new();
        for path in named {
            if !all.contains(&path.as_path()) {
                all.push(path);
            }
        }
        all
    }

    /// Whether some sessions run scripts.
    pub fn runs_scripts(&self) -> bool {
        let of_listeners = self.listeners.iter();
        let mut of_listeners = of_listeners
            .filter_map(|it| it.routing.script.as_ref())
            .flatten();
        !self.routing.script.is_empty()
            || of_listeners.next().is_some()
            || self.accounts_run_scripts()
    }

    /// Whether accounts have scripts of their own.
    pub fn accounts_run_scripts(&self) -> bool {
        let of_accounts = self
            .configured_accounts
            .iter()
            .filter_map(|it| it.routing.script.as_ref());
        of_accounts.flatten().next().is_some()
    }

    /// All users of the admin port: `username` and the `[[admin_account]]` tables.
    pub fn admins(&self) -> Vec<AdminAccountConfig> {
        let own = self.admin.username.as_ref().map(|user| AdminAccountConfig {
            user: user.clone(),
            password: self.admin.password.clone(),
            role: AdminRole::Admin,
        });
        own.into_iter()
            .chain(self.admin_accounts.iter().cloned())
            .collect()
    }

    /// Whether any client may use the HTTP port.
    pub fn has_http_callers(&self) -> bool {
        let is_open = self.http.metrics != MetricsReaders::Login;
        is_open || self.http.token.is_some() || !self.admins().is_empty()
    }

    /// Whether statistics about statements can have readers: on the ports, or at the receiver of metrics.
    pub fn has_readers(&self) -> bool {
        self.has_http_callers() || self.tracing.metrics_endpoint.is_some()
    }
}

/// The cores that this process may use; 1 if the system does not tell. The system is asked once, because it reads
/// several files for the answer.
pub(crate) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}
