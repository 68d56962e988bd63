//! The meaning of single options.

use super::routes::kind;
use crate::ini::{Entry, Section, plain};
use crate::output::{Origin, Output, Toml};
use crate::units::milliseconds;

const ITSELF: &str = "the proxy does this by itself";

/// Writes the options of one section.
pub fn translate(section: &Section, output: &mut Output<'_>) {
    for entry in &section.entries {
        let from = Origin::new(
            entry.line,
            &format!("[{}] {}", section.name, entry.key),
            &entry.value,
        );
        let key = plain(&entry.key);
        match kind(section) {
            "DEFAULT" => general(&key, entry, &from, output),
            "routing" => routing(&key, entry, &from, output),
            "logger" | "filelog" | "consolelog" | "syslog" | "eventlog" => {
                logger(&key, entry, &from, output)
            }
            "metadata_cache" => metadata(&key, entry, &from, output),
            "connection_pool" => pool(&key, entry, &from, output),
            "io" if key == "threads" => number("workers", entry, &from, output),
            "http_server" => http(section, &key, &from, output),
            "destination_status" if key == "error_quarantine_interval" => {
                seconds("health.probe_interval", entry, &from, output);
            }
            "keepalive" | "io" | "destination_status" | "routing_guidelines" => {
                output.unneeded(&from, ITSELF)
            }
            kind if kind.starts_with("rest_") || kind.starts_with("http_auth") => {
                output.lost(
                    &from,
                    "the HTTP port has one way to log in, and all tables",
                    "[[admin_account]] and [http]",
                );
            }
            _ => output.lost(
                &from,
                "this import does not know the section",
                "see the manual's page Settings",
            ),
        }
    }
}

fn number(name: &'static str, entry: &Entry, from: &Origin, output: &mut Output<'_>) {
    match entry.value.parse() {
        Ok(number) => output.count(name, number, from),
        Err(_) => output.unreadable(from, "a number"),
    }
}

fn seconds(name: &'static str, entry: &Entry, from: &Origin, output: &mut Output<'_>) {
    match entry.value.parse::<f64>() {
        Ok(seconds) if (0.0..1e12).contains(&seconds) => {
            output.time(name, (seconds * 1000.0) as u64, from)
        }
        _ => match milliseconds(&entry.value, 1000) {
            Some(ms) => output.time(name, ms, from),
            None => output.unreadable(from, "a number of seconds"),
        },
    }
}

fn general(key: &str, entry: &Entry, from: &Origin, output: &mut Output<'_>) {
    match key {
        "max_total_connections" => number("limits.sessions_max", entry, from, output),
        "connect_timeout" => seconds("health.timeout_connect", entry, from, output),
        "pid_file" => drop(output.new_file("pid_file", &entry.value, from)),
        "name"
        | "user"
        | "config_folder"
        | "data_folder"
        | "runtime_folder"
        | "plugin_folder"
        | "keyring_path"
        | "master_key_path"
        | "master_key_reader"
        | "master_key_writer"
        | "dynamic_state"
        | "logging_folder"
        | "read_timeout"
        | "unknown_config_option"
        | "core_file"
        | "event_source_name"
        | "bind_address" => {
            output.unneeded(from, "it is of Router's own process");
        }
        _ => routing(key, entry, from, output),
    }
}

fn routing(key: &str, entry: &Entry, from: &Origin, output: &mut Output<'_>) {
    let value = entry.value.as_str();
    match key {
        "bind_address" | "bind_port" | "socket" | "destinations" | "mode" | "protocol"
        | "access_mode" | "connection_sharing" | "wait_for_my_writes" => {}
        "routing_strategy" if value != "round-robin-with-fallback" => {}
        "routing_strategy" => {
            output.unneeded(from, "reads go to the primary when no replica is left")
        }
        "max_connections" => {
            if value != "0" && output.number("limits.sessions_max").is_none() {
                number("limits.sessions_max", entry, from, output);
                output.differs(
                    from,
                    "the limit is of all sessions together",
                    "backend.sessions_max",
                );
            } else {
                output.unneeded(from, "another limit holds for all sessions");
            }
        }
        "connect_timeout" | "destination_connect_timeout" => {
            seconds("health.timeout_connect", entry, from, output);
        }
        "client_connect_timeout" => seconds("limits.timeout_login", entry, from, output),
        "max_connect_errors" => number("limits.connect_errors_max", entry, from, output),
        "wait_for_my_writes_timeout" => seconds("balance.timeout_consistency", entry, from, output),
        "unreachable_destination_refresh_interval" => {
            seconds("health.probe_interval", entry, from, output)
        }
        "net_buffer_length"
        | "thread_stack_size"
        | "connection_sharing_delay"
        | "accept_connections" => {
            output.unneeded(from, ITSELF);
        }
        "router_require_enforce" => {
            output.differs(
                from,
                "an account that demands TLS gets it",
                "client_tls.mode = \"as_account\"",
            );
        }
        key if key.starts_with("client_ssl") => client_tls(key, value, from, output),
        key if key.starts_with("server_ssl") => server_tls(key, value, from, output),
        _ => output.lost(
            from,
            "this import does not know the option",
            "see the manual's page Settings",
        ),
    }
}

fn client_tls(key: &str, value: &str, from: &Origin, output: &mut Output<'_>) {
    match (key, value.to_ascii_uppercase().as_str()) {
        ("client_ssl_mode", "DISABLED") => output.text("client_tls.mode", "off", from),
        ("client_ssl_mode", "PREFERRED" | "") => output.text("client_tls.mode", "optional", from),
        ("client_ssl_mode", "REQUIRED") => {
            // "required" needs a certificate, which may not be on this machine.
            if output.has("client_tls.certificate") {
                output.text("client_tls.mode", "required", from);
            } else {
                let reason = "client_tls.mode = \"required\" needs the certificate, and the file names none before it";
                output.aside("client_tls.mode", Toml::Text("required".to_owned()), reason);
                output.differs(from, reason, "client_tls.certificate and client_tls.key");
            }
        }
        ("client_ssl_mode", _) => output.differs(
            from,
            "TLS ends at the proxy, and begins again towards the server",
            "client_tls and backend_tls, each with certificates",
        ),
        ("client_ssl_cert", _) => drop(output.file("client_tls.certificate", value, from)),
        ("client_ssl_key", _) => drop(output.file("client_tls.key", value, from)),
        ("client_ssl_ca", _) => drop(output.file("client_tls.ca", value, from)),
        _ => output.unneeded(
            from,
            "TLS 1.2 and 1.3 are spoken with the ciphers that are safe today",
        ),
    }
    if output.has("client_tls.key") != output.has("client_tls.certificate")
        && key == "client_ssl_key"
    {
        output.unset("client_tls.key");
    }
}

fn server_tls(key: &str, value: &str, from: &Origin, output: &mut Output<'_>) {
    let mode = match (key, value.to_ascii_uppercase().as_str()) {
        ("server_ssl_mode", "DISABLED") => "off",
        ("server_ssl_mode", "PREFERRED") => "preferred",
        ("server_ssl_mode", "REQUIRED") => "required",
        ("server_ssl_mode", "AS_CLIENT" | "PREFER_AS_CLIENT") => {
            output.differs(
                from,
                "TLS towards backends does not depend on the client",
                "backend_tls.mode",
            );
            "preferred"
        }
        ("server_ssl_verify", "VERIFY_CA" | "VERIFY_IDENTITY") if output.has("backend_tls.ca") => {
            if value.eq_ignore_ascii_case("VERIFY_CA") {
                "verify_ca"
            } else {
                "verify_identity"
            }
        }
        ("server_ssl_verify", "VERIFY_CA" | "VERIFY_IDENTITY") => {
            return output.differs(
                from,
                "a certificate is checked against backend_tls.ca, which is not set",
                "backend_tls.mode",
            );
        }
        ("server_ssl_verify", _) => return,
        ("server_ssl_ca", _) => {
            output.file("backend_tls.ca", value, from);
            return;
        }
        ("server_ssl_cert" | "server_ssl_key", _) => {
            return output.lost(
                from,
                "certificates towards servers are not carried over",
                "backend_tls.certificate and backend_tls.key",
            );
        }
        _ => {
            return output.unneeded(
                from,
                "TLS 1.2 and 1.3 are spoken with the ciphers that are safe today",
            );
        }
    };
    let is_verified = output
        .get("backend_tls.mode")
        .is_some_and(|it| it.starts_with("verify"));
    if !is_verified {
        output.text("backend_tls.mode", mode, from);
    }
}

fn logger(key: &str, entry: &Entry, from: &Origin, output: &mut Output<'_>) {
    match (key, entry.value.to_ascii_lowercase().as_str()) {
        ("level", "debug") => output.text("log.level", "debug", from),
        ("level", "error" | "fatal" | "system") => output.text("log.level", "error", from),
        ("level", "warning" | "info" | "note") => output.text("log.level", "info", from),
        ("level", _) => output.unreadable(from, "a level of the log"),
        ("filename" | "destination", name) if name.starts_with('/') && name != "/dev/null" => {
            output.new_file("log.file", &entry.value, from);
        }
        _ => output.unneeded(
            from,
            "the log goes to standard error, where the journal takes it",
        ),
    }
}

fn metadata(key: &str, entry: &Entry, from: &Origin, output: &mut Output<'_>) {
    match key {
        "bootstrap_server_addresses" => {}
        "user" => output.text("health.monitor_user", &entry.value, from),
        "ttl" => {
            seconds("health.replication_interval", entry, from, output);
        }
        "use_gr_notifications" => output.unneeded(
            from,
            "roles are asked for at every health.replication_interval",
        ),
        "cluster_type"
        | "router_id"
        | "metadata_cluster"
        | "auth_cache_ttl"
        | "auth_cache_refresh_interval"
        | "close_connection_after_refresh"
        | "connect_timeout"
        | "read_timeout"
        | "thread_stack_size" => {
            output.unneeded(
                from,
                "roles are read from the servers, not from the metadata schema",
            );
        }
        key if key.starts_with("ssl") => {
            output.unneeded(from, "backend_tls holds for these connections, too")
        }
        _ => output.lost(
            from,
            "this import does not know the option",
            "see the manual's page Settings",
        ),
    }
}

fn pool(key: &str, entry: &Entry, from: &Origin, output: &mut Output<'_>) {
    match key {
        "idle_timeout" => seconds("pool.timeout_idle", entry, from, output),
        "max_idle_server_connections" if entry.value == "0" => {
            output.text("routing.session", "transparent", from);
        }
        "max_idle_server_connections" => output.lost(
            from,
            "idle connections are closed by time, not by number",
            "pool.timeout_idle; pool.backend_connections_max limits all",
        ),
        _ => output.unneeded(from, ITSELF),
    }
}

fn http(section: &Section, key: &str, from: &Origin, output: &mut Output<'_>) {
    match key {
        "port" => {
            let host = section.value("bind_address").unwrap_or("0.0.0.0");
            let port = section.value("port").unwrap_or("8081");
            if let Some(address) = output.listen_address(&crate::units::address(host, port), from) {
                output.set("http.address", Toml::List(vec![address]), from);
            }
        }
        "bind_address" | "require_realm" | "static_folder" => {}
        _ => output.unneeded(from, "client_tls holds for the HTTP port, too"),
    }
}
