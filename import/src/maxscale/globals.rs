//! The section `[maxscale]`, servers and monitors.

use super::objects::{Objects, password};
use crate::ini::{Section, plain};
use crate::output::{Origin, Output, Table, Toml};
use crate::units::{address, milliseconds, truth};

const ITSELF: &str = "the proxy does this by itself";
const NO_FAILOVER: &str =
    "Pilotfish promotes no server and changes no replication: it follows what it finds";
const ORCHESTRATOR: &str = "a program such as Orchestrator, or the operator; the proxy follows within health.replication_interval";

fn origin(section: &Section, key: &str, value: &str, line: usize) -> Origin {
    Origin::new(line, &format!("[{}] {key}", section.name), value)
}

fn time(name: &'static str, text: &str, unit_ms: u64, from: &Origin, output: &mut Output<'_>) {
    match milliseconds(text, unit_ms) {
        Some(ms) => output.time(name, ms, from),
        None => output.unreadable(from, "a time"),
    }
}

/// Writes the settings of `[maxscale]`.
pub fn translate(objects: &Objects, output: &mut Output<'_>) {
    let Some(section) = objects.global() else {
        return;
    };
    for entry in &section.entries {
        let value = entry.value.as_str();
        let from = origin(section, &entry.key, value, entry.line);
        match plain(&entry.key).as_str() {
            "threads" => match value.parse() {
                Ok(number) => output.count("workers", number, &from),
                Err(_) => output.count("workers", 0, &from),
            },
            "auth_connect_timeout" => time("health.timeout_connect", value, 1000, &from, output),
            "auth_read_timeout" => time("limits.timeout_login", value, 1000, &from, output),
            "max_auth_errors_until_block" => match value.parse() {
                Ok(number) => output.count("limits.connect_errors_max", number, &from),
                Err(_) => output.unreadable(&from, "a number"),
            },
            "users_refresh_time" => time("accounts.learn_interval", value, 1000, &from, output),
            "log_debug" if truth(value) == Some(true) => output.text("log.level", "debug", &from),
            "admin_host" | "admin_port" => http(section, &from, output),
            "passive" if truth(value) == Some(true) => output.unneeded(&from, NO_FAILOVER),
            "max_read_amount"
            | "query_retries"
            | "query_retry_timeout"
            | "auth_write_timeout"
            | "ms_timestamp"
            | "log_info"
            | "log_notice"
            | "log_warning"
            | "log_debug"
            | "log_messages"
            | "log_trace"
            | "log_augmentation"
            | "log_throttling"
            | "syslog"
            | "maxlog"
            | "log_to_shm"
            | "logdir"
            | "datadir"
            | "cachedir"
            | "piddir"
            | "libdir"
            | "execdir"
            | "language"
            | "persistdir"
            | "sharedir"
            | "module_configdir"
            | "connector_plugindir"
            | "query_classifier"
            | "query_classifier_args"
            | "query_classifier_cache_size"
            | "writeq_high_water"
            | "writeq_low_water"
            | "skip_name_resolve"
            | "skip_permission_checks"
            | "local_address"
            | "rebalance_period"
            | "rebalance_threshold"
            | "rebalance_window"
            | "threads_max"
            | "load_persisted_configs"
            | "persist_runtime_changes"
            | "users_refresh_interval"
            | "sql_mode"
            | "passive"
            | "auto_tune"
            | "thread_stack_size"
            | "dump_last_statements"
            | "retain_last_statements"
            | "session_trace"
            | "log_warn_super_user"
            | "host_cache_size"
            | "admin_gui"
            | "admin_enabled"
            | "sql_batch_size" => {
                output.unneeded(&from, ITSELF);
            }
            "admin_auth"
            | "admin_secure_gui"
            | "admin_pam_readwrite_service"
            | "admin_pam_readonly_service" => {
                output.lost(
                    &from,
                    "users of the admin port are settings",
                    "[[admin_account]]",
                );
            }
            "admin_ssl_cert" | "admin_ssl_key" | "admin_ssl_ca" | "admin_ssl_ca_cert"
            | "admin_ssl_version" => {
                output.lost(
                    &from,
                    "TLS of the HTTP port is as that of clients",
                    "client_tls.certificate and client_tls.key",
                );
            }
            "substitute_variables" if truth(value) == Some(true) => {
                output.lost(
                    &from,
                    "values are taken as they stand",
                    "\"env:NAME\" for passwords",
                );
            }
            "substitute_variables" => {}
            "config_sync_cluster"
            | "config_sync_user"
            | "config_sync_password"
            | "config_sync_interval"
            | "config_sync_timeout" => {
                output.lost(
                    &from,
                    "proxies do not copy their configuration to one another",
                    "give every proxy the same file",
                );
            }
            "key_manager" | "secretsdir" => {
                output.lost(
                    &from,
                    "no passwords are kept encrypted in the file",
                    "\"file:PATH\" and the file's permissions",
                );
            }
            _ => output.lost(
                &from,
                "this import does not know the setting",
                "see the manual's page Settings",
            ),
        }
    }
}

fn http(section: &Section, from: &Origin, output: &mut Output<'_>) {
    let host = section.value("admin_host").unwrap_or("127.0.0.1");
    let port = section.value("admin_port").unwrap_or("8989");
    if let Some(address) = output.listen_address(&address(host, port), from) {
        output.set("http.address", Toml::List(vec![address]), from);
    }
}

/// Writes the monitor account and its times, from the first monitor.
pub fn monitors(objects: &Objects, output: &mut Output<'_>) {
    for section in objects.of("monitor") {
        let from = Origin::named(section.line, format!("[{}]", section.name));
        let user = section.value("user");
        match (user, output.get("health.monitor_user").map(str::to_owned)) {
            (Some(user), None) => {
                output.text("health.monitor_user", user, &from);
                if let Some(password) = password(section, output) {
                    output.set("health.monitor_password", password, &from);
                }
            }
            (Some(user), Some(known)) if user != known => {
                let reason = format!("one account looks at all servers: \"{known}\"");
                output.lost(&from, reason, "create it on these servers as well");
            }
            _ => {}
        }
        for entry in &section.entries {
            let from = origin(section, &entry.key, &entry.value, entry.line);
            monitor(&plain(&entry.key), &entry.value, &from, output);
        }
    }
}

fn monitor(key: &str, value: &str, from: &Origin, output: &mut Output<'_>) {
    match key {
        "type" | "servers" | "user" | "password" | "passwd" | "@include" => {}
        "module" => match value {
            "mariadbmon" | "mysqlmon" | "galeramon" => {}
            "auroramon" | "grmon" => {
                output.differs(
                    from,
                    "roles are told by read_only, and new servers are not found",
                    "a [[backend]] for each server",
                );
            }
            _ => output.lost(
                from,
                "there is no monitor of the kind",
                "role = \"primary\" and \"replica\" by hand",
            ),
        },
        "monitor_interval" => {
            time("health.replication_interval", value, 1, from, output);
            time("health.monitor_interval", value, 1, from, output);
        }
        "backend_connect_timeout" => time("health.timeout_connect", value, 1000, from, output),
        "auto_failover"
        | "auto_rejoin"
        | "failcount"
        | "failover_timeout"
        | "switchover_timeout"
        | "replication_user"
        | "replication_password"
        | "replication_master_ssl"
        | "replication_custom_options"
        | "demotion_sql_file"
        | "promotion_sql_file"
        | "servers_no_promotion"
        | "handle_events"
        | "enforce_read_only_slaves"
        | "enforce_read_only_servers"
        | "enforce_writable_master"
        | "enforce_simple_topology"
        | "switchover_on_low_disk_space"
        | "maintenance_on_low_disk_space"
        | "cooperative_monitoring_locks"
        | "verify_master_failure"
        | "master_failure_timeout"
        | "mysqlrouter_compat"
        | "disk_space_threshold"
        | "disk_space_check_interval" => {
            output.lost(from, NO_FAILOVER, ORCHESTRATOR);
        }
        "script" | "events" | "script_timeout" => {
            output.lost(
                from,
                "no program is started when a server changes",
                "alerts on the metrics, or the log",
            );
        }
        "available_when_donor"
        | "use_priority"
        | "disable_master_failback"
        | "disable_master_role_setting"
        | "set_donor_nodes"
        | "root_node_as_master" => {
            output.lost(
                from,
                "of several writable servers the primary stays the primary",
                "role = \"primary\" and \"replica\" by hand",
            );
        }
        _ => output.unneeded(
            from,
            "the proxy looks at role, lag and Galera's state by itself",
        ),
    }
}

/// Writes a backend for each server.
pub fn servers(objects: &Objects, output: &mut Output<'_>) {
    let has_monitored_roles = output.has("health.monitor_user");
    let mut is_first = true;
    for section in objects.of("server") {
        let mut table = Table::new(format!("[{}], line {}", section.name, section.line));
        table.text("name", &section.name);
        let place = match section.value("socket") {
            Some(socket) => socket.to_owned(),
            None => address(
                section.value("address").unwrap_or(""),
                section.value("port").unwrap_or("3306"),
            ),
        };
        let from = Origin::named(section.line, format!("[{}]", section.name));
        if place.parse::<config::BackendAddress>().is_err() {
            output.lost(
                &from,
                format!("\"{place}\" is no address"),
                "address = HOST and port = PORT",
            );
            continue;
        }
        if output
            .backends
            .iter()
            .any(|it| it.get("address") == Some(&place))
        {
            output.lost(&from, "another server has the same address", "");
            continue;
        }
        table.text("address", place);
        table.text("cluster", objects.cluster(&section.name));
        let role = match (has_monitored_roles, is_first) {
            (true, _) => "auto",
            (false, true) => "primary",
            (false, false) => "replica",
        };
        if !has_monitored_roles && !is_first {
            output.differs(
                &from,
                "without a monitor the first server is the primary",
                "health.monitor_user and role = \"auto\"",
            );
        }
        is_first = false;
        table.text("role", role);
        for entry in &section.entries {
            let from = origin(section, &entry.key, &entry.value, entry.line);
            server(&plain(&entry.key), &entry.value, &from, &mut table, output);
        }
        output.backends.push(table);
    }
}

fn server(key: &str, value: &str, from: &Origin, table: &mut Table, output: &mut Output<'_>) {
    let is_true = truth(value) == Some(true);
    match key {
        "type" | "address" | "port" | "socket" | "protocol" | "authenticator" | "@include" => {}
        "max_routing_connections" => match value.parse() {
            Ok(most) => {
                let most = output.bounded("backend.sessions_max", most, from, |it| it.to_string());
                table.set("sessions_max", Toml::Number(most));
            }
            Err(_) => output.unreadable(from, "a number"),
        },
        "serv_weight" | "serversize" | "weight" => match value.parse() {
            Ok(weight) => {
                let weight = output.bounded("backend.weight", weight, from, |it| it.to_string());
                table.set("weight", Toml::Number(weight));
            }
            Err(_) => output.unreadable(from, "a number"),
        },
        "persistmaxtime" => time("pool.timeout_idle", value, 1000, from, output),
        "persistpoolmax" => output.unneeded(
            from,
            "connections are shared as long as pool.timeout_idle and pool.age_max say",
        ),
        "proxy_protocol" if is_true => {
            output.text("proxy_protocol.send", "v2", from);
            output.differs(from, "every backend gets the header, in version 2", "");
        }
        "ssl" if is_true || value == "required" => {
            if output.get("backend_tls.mode").is_none() {
                output.text("backend_tls.mode", "required", from);
            }
        }
        "ssl_ca" | "ssl_ca_cert" => drop(output.file("backend_tls.ca", value, from)),
        "ssl_cert" => drop(output.file("backend_tls.certificate", value, from)),
        "ssl_key" => drop(output.file("backend_tls.key", value, from)),
        "ssl_verify_peer_certificate" if is_true => {
            output.text("backend_tls.mode", "verify_ca", from)
        }
        "ssl_verify_peer_host" if is_true => {
            output.text("backend_tls.mode", "verify_identity", from)
        }
        "proxy_protocol"
        | "ssl"
        | "ssl_verify_peer_certificate"
        | "ssl_verify_peer_host"
        | "ssl_version"
        | "ssl_cert_verify_depth"
        | "ssl_cipher" => output.unneeded(from, ITSELF),
        "rank" | "priority" => output.lost(
            from,
            "a server has no rank",
            "weight, zone, or drain = true for one that stands by",
        ),
        "monitoruser" | "monitorpw" => output.lost(
            from,
            "one account looks at all servers",
            "health.monitor_user",
        ),
        "disk_space_threshold" => output.lost(from, NO_FAILOVER, "an alert on the disk"),
        "extra_port" | "private_address" | "replication_custom_options" => {
            output.unneeded(from, "the proxy connects where clients' statements go");
        }
        _ => output.lost(
            from,
            "this import does not know the setting",
            "see the manual's page Settings",
        ),
    }
}
