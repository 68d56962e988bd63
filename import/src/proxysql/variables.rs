//! `mysql_variables`, `admin_variables` and the settings above all sections.

use super::tables::{Tables, Variable};
use crate::output::{Origin, Output, Table, Toml};
use crate::units::truth;

/// The meaning of a variable in Pilotfish.
enum Meaning {
    /// A number.
    Count(&'static str),
    /// A size in bytes.
    Size(&'static str),
    /// A time in milliseconds.
    Time(&'static str),
    /// A time in milliseconds that stands for several settings.
    Times(&'static [&'static str]),
    /// True or false.
    Truth(&'static str),
    /// A file that is read.
    File(&'static str),
    /// A file that is written.
    NewFile(&'static str),
    /// The variable is not needed, with the reason.
    Unneeded(&'static str),
    /// There is no counterpart: the reason, and the nearest way.
    Lost(&'static str, &'static str),
    /// Another function reads the variable.
    Elsewhere,
}

use Meaning::{Count, Elsewhere, File, Lost, NewFile, Size, Time, Times, Truth, Unneeded};

const ITSELF: &str = "the proxy does this by itself";
const PROTOCOL: &str = "the proxy passes the protocol on as client and server speak it";
const ROTATED: &str = "logrotate or the like moves files, and SIGUSR1 has new ones begun";
const OWN_TIMES: &str = "the proxy has its own times for looking at servers, in [health]";
const NO_CACHE: &str = "Pilotfish has no result cache yet";

/// Every variable with a meaning. A name with `*` at its end is a prefix of names.
const VARIABLES: &[(&str, Meaning)] = &[
    ("mysql-threads", Count("workers")),
    ("mysql-max_connections", Count("limits.sessions_max")),
    (
        "mysql-connect_timeout_server",
        Time("health.timeout_connect"),
    ),
    (
        "mysql-connect_timeout_server_max",
        Times(&["pool.timeout_wait", "balance.timeout_backend_wait"]),
    ),
    ("mysql-connect_timeout_client", Time("limits.timeout_login")),
    ("mysql-wait_timeout", Time("limits.timeout_idle")),
    ("mysql-monitor_username", Elsewhere),
    ("mysql-monitor_password", Elsewhere),
    (
        "mysql-monitor_ping_interval",
        Time("health.monitor_interval"),
    ),
    (
        "mysql-monitor_read_only_interval",
        Time("health.replication_interval"),
    ),
    (
        "mysql-monitor_replication_lag_interval",
        Unneeded("lag is asked for together with read_only"),
    ),
    (
        "mysql-monitor_galera_healthcheck_interval",
        Time("health.replication_interval"),
    ),
    (
        "mysql-monitor_groupreplication_healthcheck_interval",
        Time("health.replication_interval"),
    ),
    ("mysql-monitor_enabled", Elsewhere),
    ("mysql-monitor_*", Unneeded(OWN_TIMES)),
    (
        "mysql-ping_interval_server_msec",
        Time("pool.ping_interval"),
    ),
    ("mysql-ping_interval_server", Time("pool.ping_interval")),
    ("mysql-ping_timeout_server", Unneeded(ITSELF)),
    ("mysql-connection_max_age_ms", Time("pool.age_max")),
    ("mysql-max_stmts_per_connection", Count("pool.prepared_max")),
    ("mysql-max_allowed_packet", Size("limits.packet_bytes_max")),
    (
        "mysql-throttle_connections_per_sec_to_hostgroup",
        Count("pool.opens_per_second"),
    ),
    (
        "mysql-long_query_time",
        Time("statement_stats.slow_statements"),
    ),
    ("mysql-query_digests", Truth("statement_stats.digests")),
    ("mysql-query_digests_*", Unneeded(ITSELF)),
    ("mysql-auditlog_filename", NewFile("audit_log.file")),
    ("mysql-eventslog_filename", NewFile("query_log.file")),
    ("mysql-eventslog_filesize", Unneeded(ROTATED)),
    ("mysql-auditlog_filesize", Unneeded(ROTATED)),
    (
        "mysql-eventslog_format",
        Unneeded("query_log.format is json unless it says mysql"),
    ),
    (
        "mysql-eventslog_*",
        Unneeded("query_log.sample_one_in and query_log.include_values say what is written"),
    ),
    ("mysql-auditlog_*", Unneeded(ITSELF)),
    ("mysql-ssl_p2s_ca", File("backend_tls.ca")),
    ("mysql-ssl_p2s_cert", File("backend_tls.certificate")),
    ("mysql-ssl_p2s_key", File("backend_tls.key")),
    (
        "mysql-ssl_p2s_*",
        Lost(
            "the TLS library's own ciphers and authorities are used",
            "backend_tls.ca",
        ),
    ),
    ("mysql-interfaces", Elsewhere),
    ("mysql-default_schema", Elsewhere),
    ("mysql-default_query_timeout", Elsewhere),
    ("mysql-have_compress", Elsewhere),
    ("mysql-have_ssl", Elsewhere),
    ("mysql-multiplexing", Elsewhere),
    ("mysql-proxy_protocol_networks", Elsewhere),
    (
        "mysql-server_version",
        Unneeded("the greeting names the version of the backends"),
    ),
    ("mysql-server_capabilities", Unneeded(PROTOCOL)),
    ("mysql-default_authentication_plugin", Unneeded(PROTOCOL)),
    ("mysql-enable_*", Unneeded(PROTOCOL)),
    ("mysql-default_charset", Unneeded(PROTOCOL)),
    ("mysql-default_character*", Unneeded(PROTOCOL)),
    ("mysql-default_collation*", Unneeded(PROTOCOL)),
    (
        "mysql-default_sql_mode",
        Unneeded("sessions begin with the server's own sql_mode"),
    ),
    (
        "mysql-default_time_zone",
        Unneeded("sessions begin with the server's own time zone"),
    ),
    (
        "mysql-default_*",
        Unneeded("sessions begin with the server's own variables"),
    ),
    (
        "mysql-query_retries_on_failure",
        Lost(
            "a read is sent again twice, and a write never",
            "rule.retry",
        ),
    ),
    (
        "mysql-connect_retries_*",
        Unneeded("clients wait for a backend for balance.timeout_backend_wait"),
    ),
    (
        "mysql-shun_*",
        Lost(
            "one failed connection leaves a backend out, and probes bring it back",
            "health.probe_interval",
        ),
    ),
    (
        "mysql-max_transaction_time",
        Lost(
            "only idle time within a transaction has a limit",
            "limits.timeout_idle_transaction",
        ),
    ),
    (
        "mysql-max_transaction_idle_time",
        Time("limits.timeout_idle_transaction"),
    ),
    (
        "mysql-free_connections_pct",
        Lost(
            "idle connections are kept by time",
            "pool.timeout_idle and pool.connections_min",
        ),
    ),
    (
        "mysql-connection_delay_multiplex_ms",
        Unneeded("no connection needs to rest before others use it"),
    ),
    (
        "mysql-auto_increment_delay_multiplex*",
        Unneeded("LAST_INSERT_ID() is the session's own on any connection"),
    ),
    (
        "mysql-keep_multiplexing_variables",
        Unneeded("reading a variable pins no session"),
    ),
    (
        "mysql-init_connect",
        Lost(
            "no statement is sent when a connection is opened",
            "the server's own init_connect",
        ),
    ),
    (
        "mysql-ldap*",
        Lost(
            "there are no LDAP accounts",
            "accounts.others = \"relay\" lets the server ask",
        ),
    ),
    ("mysql-query_cache_*", Unneeded(NO_CACHE)),
    ("mysql-default_query_delay", Elsewhere),
    (
        "mysql-mirror_max_*",
        Unneeded("at most 1000 statements and 16 MiB wait for each client"),
    ),
    (
        "mysql-client_*",
        Lost(
            "hosts that fail to log in are delayed or blocked otherwise",
            "limits.connect_errors_max",
        ),
    ),
    (
        "mysql-kill_backend_connection_when_disconnect",
        Unneeded(ITSELF),
    ),
    ("mysql-commands_stats", Unneeded(ITSELF)),
    ("mysql-sessions_sort", Unneeded(ITSELF)),
    ("mysql-session_idle_*", Unneeded(ITSELF)),
    ("mysql-poll_timeout*", Unneeded(ITSELF)),
    ("mysql-stacksize", Unneeded(ITSELF)),
    ("mysql-threshold_*", Unneeded(ITSELF)),
    ("mysql-stats_time_*", Unneeded(ITSELF)),
    ("mysql-hostgroup_manager_verbose", Unneeded(ITSELF)),
    ("mysql-verbose_query_error", Unneeded(ITSELF)),
    ("mysql-query_processor_*", Unneeded(ITSELF)),
    (
        "mysql-set_query_lock_on_hostgroup",
        Unneeded("the server tells the proxy what SET has changed"),
    ),
    (
        "mysql-forward_autocommit",
        Unneeded("a session's autocommit is its own on any connection"),
    ),
    (
        "mysql-autocommit_*",
        Unneeded("a session's autocommit is its own on any connection"),
    ),
    (
        "mysql-enforce_autocommit_on_reads",
        Unneeded("a session's autocommit is its own on any connection"),
    ),
    ("mysql-reset_connection_algorithm", Unneeded(ITSELF)),
    ("mysql-handle_*", Unneeded(ITSELF)),
    (
        "mysql-*",
        Lost(
            "this import does not know the variable",
            "see the manual's page Settings",
        ),
    ),
    ("admin-mysql_ifaces", Elsewhere),
    ("admin-admin_credentials", Elsewhere),
    ("admin-stats_credentials", Elsewhere),
    ("admin-web_*", Elsewhere),
    ("admin-restapi_*", Elsewhere),
    ("admin-prometheus*", Unneeded("the HTTP port has /metrics")),
    (
        "admin-cluster_*",
        Lost(
            "proxies do not copy their configuration to one another",
            "give every proxy the same file",
        ),
    ),
    ("admin-telnet_*", Unneeded("there is no such port")),
    (
        "admin-hash_passwords",
        Unneeded("an account has its password or its hash"),
    ),
    (
        "admin-read_only",
        Lost(
            "who may change the configuration is a matter of roles",
            "admin_account.role = \"stats\"",
        ),
    ),
    ("admin-*", Unneeded(ITSELF)),
    (
        "pgsql-*",
        Lost("Pilotfish does not speak PostgreSQL's protocol", ""),
    ),
    ("errorlog", NewFile("log.file")),
    (
        "datadir",
        Unneeded("the configuration is one file, and there is no database"),
    ),
    ("*", Unneeded("it is of ProxySQL's own process")),
];

/// Writes the settings of all variables.
pub fn translate(tables: &Tables, output: &mut Output<'_>) {
    listen(tables, output);
    for variable in &tables.variables {
        let fits = |(name, _): &&(&str, Meaning)| match name.strip_suffix('*') {
            Some(beginning) => variable.name.starts_with(beginning),
            None => variable.name == *name,
        };
        if let Some((_, meaning)) = VARIABLES.iter().find(fits) {
            put(variable, meaning, output);
        }
    }
    monitor(tables, output);
    admin(tables, output);
    files(output);
}

fn origin(variable: &Variable) -> Origin {
    Origin::new(variable.line, &variable.name, &variable.value)
}

fn put(variable: &Variable, meaning: &Meaning, output: &mut Output<'_>) {
    let from = origin(variable);
    let value = variable.value.trim();
    let number = value.parse::<u64>();
    match (meaning, number) {
        (Unneeded(reason), _) => output.unneeded(&from, *reason),
        (Lost(reason, nearest), _) => output.lost(&from, *reason, nearest),
        (Count(name) | Size(name), Ok(number)) => output.count(name, number, &from),
        (Time(name), Ok(ms)) => output.time(name, ms, &from),
        (Times(names), Ok(ms)) => names.iter().for_each(|name| output.time(name, ms, &from)),
        (Truth(name), _) => match truth(value) {
            Some(value) => output.set(name, Toml::Truth(value), &from),
            None => output.unreadable(&from, "true or false"),
        },
        (_, _) if value.is_empty() => {}
        (File(name), _) => drop(output.file(name, value, &from)),
        // A file name without a folder is in ProxySQL's data folder.
        (NewFile(name), _) if !value.starts_with('/') => {
            output.new_file(name, &format!("/var/lib/proxysql/{value}"), &from);
        }
        (NewFile(name), _) => drop(output.new_file(name, value, &from)),
        (Count(_) | Size(_) | Time(_) | Times(_), Err(_)) => output.unreadable(&from, "a number"),
        (Elsewhere, _) => special(&variable.name, value, &from, output),
    }
}

fn special(name: &str, value: &str, from: &Origin, output: &mut Output<'_>) {
    match (name, truth(value)) {
        ("mysql-have_compress", Some(false)) => {
            output.set("compression.client", Toml::List(Vec::new()), from)
        }
        ("mysql-have_ssl", Some(false)) => output.text("client_tls.mode", "off", from),
        ("mysql-multiplexing", Some(false)) => output.text("routing.session", "transparent", from),
        ("mysql-default_query_delay", _) if value != "0" => {
            output.lost(
                from,
                "there is no delay for all statements",
                "a [[rule]] with delay",
            );
        }
        ("mysql-proxy_protocol_networks", _) => {
            let networks = value
                .split([',', ' ', ';'])
                .filter(|it| !it.is_empty())
                .map(|it| match it {
                    "*" => "0.0.0.0/0".to_owned(),
                    it => it.to_owned(),
                });
            let (good, bad): (Vec<_>, Vec<_>) =
                networks.partition(|it| it.parse::<config::IpNet>().is_ok());
            if !bad.is_empty() {
                output.unreadable(from, "a list of networks");
            }
            output.set("proxy_protocol.trusted_networks", Toml::List(good), from);
        }
        ("mysql-monitor_enabled", Some(false)) => {
            output.differs(
                from,
                "the servers are looked at with the monitor account",
                "leave health.monitor_user out",
            );
        }
        _ => {}
    }
}

fn listen(tables: &Tables, output: &mut Output<'_>) {
    let found = tables
        .variables
        .iter()
        .rev()
        .find(|it| it.name == "mysql-interfaces");
    let from = found.map_or_else(
        || Origin::named(None, "mysql-interfaces (the default)"),
        origin,
    );
    let value = found.map_or("0.0.0.0:6033", |it| it.value.as_str());
    let addresses = addresses(value, &from, output);
    let addresses = if addresses.is_empty() {
        vec!["0.0.0.0:6033".to_owned()]
    } else {
        addresses
    };
    output.set("listen", Toml::List(addresses), &from);
}

fn addresses(value: &str, from: &Origin, output: &mut Output<'_>) -> Vec<String> {
    let mut addresses = Vec::new();
    for text in value.split(';').map(str::trim).filter(|it| !it.is_empty()) {
        if let Some(address) = output.listen_address(text, from)
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    addresses
}

/// Writes the monitor account. ProxySQL's default is the account `monitor` with the password `monitor`.
fn monitor(tables: &Tables, output: &mut Output<'_>) {
    for (name, setting) in [
        ("mysql-monitor_username", "health.monitor_user"),
        ("mysql-monitor_password", "health.monitor_password"),
    ] {
        let found = tables.variables.iter().rev().find(|it| it.name == name);
        let from = found.map_or_else(
            || Origin::named(None, format!("{name} (the default)")),
            origin,
        );
        let value = found.map_or("monitor", |it| it.value.as_str());
        let value = if value.is_empty() && name.ends_with("username") {
            "monitor"
        } else {
            value
        };
        if let Some(secret) = output.secret(value, &from) {
            output.set(setting, secret, &from);
        }
    }
}

fn admin(tables: &Tables, output: &mut Output<'_>) {
    let find = |name: &str| tables.variables.iter().rev().find(|it| it.name == name);
    if let Some(variable) = find("admin-mysql_ifaces") {
        let from = origin(variable);
        let addresses = addresses(&variable.value, &from, output);
        if !addresses.is_empty() {
            output.set("admin.address", Toml::List(addresses), &from);
        }
    }
    for (name, role) in [
        ("admin-admin_credentials", "admin"),
        ("admin-stats_credentials", "stats"),
    ] {
        let Some(variable) = find(name) else { continue };
        for pair in variable.value.split(';').filter(|it| !it.trim().is_empty()) {
            admin_account(variable, pair.trim(), role, output);
        }
    }
    web(tables, output);
}

fn admin_account(variable: &Variable, pair: &str, role: &'static str, output: &mut Output<'_>) {
    let from = origin(variable);
    let (user, password) = pair.split_once(':').unwrap_or((pair, ""));
    let has_user = output.admins.iter().any(|it| it.get("user") == Some(user));
    if password.is_empty() || user.is_empty() {
        output.lost(
            &from,
            "a user of the admin port has a name and a password",
            "[[admin_account]]",
        );
    } else if !has_user && let Some(secret) = output.secret(password, &from) {
        let mut table = Table::new(&variable.name);
        table.text("user", user);
        table.set("password", secret);
        table.text("role", role);
        output.admins.push(table);
    }
}

/// The web page and the REST API are one port in Pilotfish.
fn web(tables: &Tables, output: &mut Output<'_>) {
    for (enabled, port) in [
        ("admin-web_enabled", "admin-web_port"),
        ("admin-restapi_enabled", "admin-restapi_port"),
    ] {
        let is_on = tables.variable(enabled).and_then(truth).unwrap_or(false);
        let Some(variable) = tables.variables.iter().rev().find(|it| it.name == port) else {
            continue;
        };
        let Some(port) = variable
            .value
            .parse::<u16>()
            .ok()
            .filter(|it| is_on && *it > 0)
        else {
            continue;
        };
        let from = origin(variable);
        if output.has("http.address") {
            output.differs(
                &from,
                "the page, the API and the metrics are on one port",
                "http.address",
            );
            continue;
        }
        output.set(
            "http.address",
            Toml::List(vec![format!("0.0.0.0:{port}")]),
            &from,
        );
    }
}

/// Removes a certificate without its key, or a key without its certificate.
fn files(output: &mut Output<'_>) {
    if output.has("backend_tls.certificate") != output.has("backend_tls.key") {
        output.unset("backend_tls.certificate");
        output.unset("backend_tls.key");
    }
}
