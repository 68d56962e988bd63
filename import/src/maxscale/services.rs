//! Services and their listeners.

use super::objects::{Objects, words};
use crate::ini::{Section, plain};
use crate::output::{Origin, Output, Table, Toml};
use crate::units::{address, milliseconds, truth};

/// A listener of the result, for the filters of its service.
pub struct Placed {
    /// Its address.
    pub address: String,
    /// The filters of its service, in their order.
    pub filters: Vec<String>,
}

/// Writes a `[[listener]]` for each listener whose service routes statements.
pub fn translate(objects: &Objects, output: &mut Output<'_>) -> Vec<Placed> {
    for service in objects.of("service") {
        for entry in &service.entries {
            let from = Origin::new(
                entry.line,
                &format!("[{}] {}", service.name, entry.key),
                &entry.value,
            );
            option(&plain(&entry.key), &entry.value, &from, output);
        }
    }
    let mut placed = Vec::new();
    for section in objects.of("listener") {
        if let Some(listener) = listener(objects, section, output) {
            placed.push(listener);
        }
    }
    placed
}

fn listener(objects: &Objects, section: &Section, output: &mut Output<'_>) -> Option<Placed> {
    let from = Origin::named(section.line, format!("[{}]", section.name));
    let service = section.value("service").and_then(|it| objects.named(it));
    let Some(service) = service else {
        output.lost(&from, "its service is not in the file", "");
        return None;
    };
    let place = match section.value("socket") {
        Some(socket) if socket.starts_with('/') => socket.to_owned(),
        Some(socket) => {
            output.unneeded(
                &from,
                format!("\"{socket}\" is of MaxScale's own administration"),
            );
            return None;
        }
        None => {
            let host = section.value("address").unwrap_or("0.0.0.0");
            // MaxScale's default is all IPv4 and IPv6 addresses.
            let host = if host == "::" { "0.0.0.0" } else { host };
            address(host, section.value("port").unwrap_or("3306"))
        }
    };
    let protocol = section
        .value("protocol")
        .unwrap_or("mariadbprotocol")
        .to_ascii_lowercase();
    let is_sql = ["mariadb", "mysql"]
        .iter()
        .any(|it| protocol.starts_with(it));
    if !is_sql {
        output.lost(&from, format!("Pilotfish does not speak {protocol}"), "");
        return None;
    }
    let replicas = routing(service, &from, output)?;
    let address = output.listen_address(&place, &from)?;
    if output
        .listeners
        .iter()
        .any(|it| it.get("address") == Some(&address))
    {
        output.lost(&from, "another listener has the same address", "");
        return None;
    }
    let mut table = Table::new(format!(
        "[{}] of [{}], line {}",
        section.name, service.name, section.line
    ));
    table.text("address", &address);
    if let Some(server) = objects.servers_of(service).first() {
        table.text("routing.cluster", objects.cluster(server));
    }
    table.text("routing.replicas", replicas);
    if service
        .value("router")
        .is_some_and(|it| it.eq_ignore_ascii_case("readconnroute"))
    {
        table.text("routing.session", "transparent");
    }
    consistency(service, &mut table);
    for entry in &section.entries {
        let from = Origin::new(
            entry.line,
            &format!("[{}] {}", section.name, entry.key),
            &entry.value,
        );
        listener_option(&plain(&entry.key), &entry.value, &from, output);
    }
    output.listeners.push(table);
    let filters = service
        .value("filters")
        .unwrap_or("")
        .split('|')
        .map(|it| it.trim().to_owned());
    Some(Placed {
        address,
        filters: filters.filter(|it| !it.is_empty()).collect(),
    })
}

/// The setting `replicas` of a service's sessions.
fn routing(service: &Section, from: &Origin, output: &mut Output<'_>) -> Option<&'static str> {
    let router = service.value("router").unwrap_or("").to_ascii_lowercase();
    match router.as_str() {
        "readwritesplit" if service.value("max_slave_connections") == Some("0") => Some("primary"),
        "readwritesplit" => Some("split"),
        "readconnroute" => {
            let options = words(service.value("router_options").unwrap_or(""));
            let has = |name: &str| options.iter().any(|it| it == name);
            Some(match (has("master"), has("slave")) {
                (true, false) => "primary",
                (false, true) => "replica",
                _ => "any",
            })
        }
        "cli" | "maxinfo" | "debugcli" => {
            output.unneeded(
                from,
                "the admin port and the HTTP port show and change the proxy",
            );
            None
        }
        "schemarouter" => {
            let reason = "schemas are not looked for on several servers";
            output.lost(
                from,
                reason,
                "a [[backend]] with a cluster for each shard, and rules with schema and cluster",
            );
            None
        }
        "kafkacdc" => {
            output.lost(
                from,
                "streams of replication are not imported",
                "[[replication]] with [[replication.kafka]] sends the changes to Kafka, as JSON of another shape",
            );
            None
        }
        "binlogrouter" | "avrorouter" | "kafkaimporter" => {
            output.lost(
                from,
                format!("there is no {router} yet"),
                "keep MaxScale for it",
            );
            None
        }
        _ => {
            output.lost(
                from,
                format!("there is no router \"{router}\""),
                "a rule with mirror sends statements to another cluster as well",
            );
            None
        }
    }
}

fn consistency(service: &Section, table: &mut Table) {
    match service
        .value("causal_reads")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("local" | "fast" | "true" | "1") => table.text("routing.consistency", "session"),
        Some(_)
            if service.value("causal_reads") != Some("none")
                && service.value("causal_reads") != Some("false") =>
        {
            table.text("routing.consistency", "global");
        }
        // MaxScale's default does not wait.
        _ => table.text("routing.consistency", "none"),
    }
    if service.value("optimistic_trx").and_then(truth) == Some(true) {
        table.set("routing.optimistic_transactions", Toml::Truth(true));
    }
}

fn time(name: &'static str, text: &str, from: &Origin, output: &mut Output<'_>) {
    match milliseconds(text, 1000) {
        Some(ms) => output.time(name, ms, from),
        None => output.unreadable(from, "a time"),
    }
}

fn option(key: &str, value: &str, from: &Origin, output: &mut Output<'_>) {
    let is_true = truth(value) == Some(true);
    match key {
        "type" | "router" | "servers" | "targets" | "cluster" | "user" | "password" | "passwd"
        | "filters" | "router_options" | "causal_reads" | "optimistic_trx" | "@include" => {}
        "max_slave_replication_lag" | "max_replication_lag" => {
            time("balance.lag_max", value, from, output)
        }
        "connection_timeout" | "wait_timeout" => time("limits.timeout_idle", value, from, output),
        "max_connections" => match value.parse() {
            Ok(0) => {}
            Ok(most) => {
                output.count("limits.sessions_max", most, from);
                output.differs(
                    from,
                    "the limit is of all sessions together",
                    "account.connections_max",
                );
            }
            Err(_) => output.unreadable(from, "a number"),
        },
        "causal_reads_timeout" => time("balance.timeout_consistency", value, from, output),
        "delayed_retry_timeout" => time("balance.timeout_backend_wait", value, from, output),
        "slave_selection_criteria" => match value.to_ascii_lowercase().as_str() {
            "adaptive_routing" => output.text("balance.reads", "latency", from),
            "least_current_operations" => output.text("balance.reads", "fewest_in_flight", from),
            _ => {
                output.text("balance.reads", "fewest_in_flight", from);
                output.differs(
                    from,
                    "replicas are compared by statements in flight",
                    "balance.reads",
                );
            }
        },
        "master_accept_reads" if is_true => {
            output.lost(
                from,
                "the primary takes reads only when no replica is left",
                "a rule with kind = \"SELECT\" and role = \"any\"",
            );
        }
        "max_slave_connections" | "slave_connections" if value != "0" => {
            output.unneeded(
                from,
                "a session uses any replica, without connections of its own",
            );
        }
        "idle_session_pool_time" | "multiplex_timeout" => {
            output.unneeded(from, "connections are shared between statements")
        }
        "transaction_replay"
        | "transaction_replay_max_size"
        | "transaction_replay_attempts"
        | "transaction_replay_timeout"
        | "transaction_replay_retry_on_deadlock" => {
            let reason = "a transaction that has written is not run a second time; one that has only begun or read goes on elsewhere";
            output.lost(
                from,
                reason,
                "the application repeats the transaction after the error",
            );
        }
        "weightby" => output.differs(
            from,
            "the servers' weight is the setting weight",
            "backend.weight",
        ),
        "connection_init_sql_file" => output.lost(
            from,
            "no statement is sent when a connection is opened",
            "the server's own init_connect",
        ),
        "user_accounts_file" | "user_mapping_file" => output.lost(
            from,
            "accounts are settings",
            "[[account]] with backend_user",
        ),
        "strict_multi_stmt" | "strict_sp_calls" => {
            output.unneeded(
                from,
                "the server tells the proxy what a statement has left behind",
            );
        }
        _ => output.unneeded(from, "the proxy does this by itself"),
    }
}

fn listener_option(key: &str, value: &str, from: &Origin, output: &mut Output<'_>) {
    match key {
        "type" | "service" | "protocol" | "port" | "address" | "socket" | "@include" => {}
        "ssl" if truth(value) == Some(true) || value == "required" => {
            output.text("client_tls.mode", "required", from)
        }
        "ssl_cert" => drop(output.file("client_tls.certificate", value, from)),
        "ssl_key" => drop(output.file("client_tls.key", value, from)),
        "ssl_ca" | "ssl_ca_cert" => drop(output.file("client_tls.ca", value, from)),
        "ssl_verify_peer_certificate" if truth(value) == Some(true) => {
            output.differs(
                from,
                "certificates of clients are asked for by the setting",
                "client_tls.client_certificate = \"required\"",
            );
        }
        "proxy_protocol_networks" => {
            let networks: Vec<_> = words(value)
                .into_iter()
                .filter(|it| it.parse::<config::IpNet>().is_ok())
                .collect();
            if networks.is_empty() {
                output.unreadable(from, "a list of networks");
            } else {
                output.set(
                    "proxy_protocol.trusted_networks",
                    Toml::List(networks),
                    from,
                );
            }
        }
        "authenticator"
            if value.to_ascii_lowercase().contains("mariadb")
                || value.to_ascii_lowercase().contains("mysql") => {}
        "authenticator" => output.differs(
            from,
            "logins that the proxy cannot answer pass through to the server",
            "accounts.others = \"relay\", which is the default",
        ),
        "connection_init_sql_file" => output.lost(
            from,
            "no statement is sent when a connection is opened",
            "the server's own init_connect",
        ),
        "user_mapping_file" => output.lost(
            from,
            "accounts are settings",
            "[[account]] with backend_user",
        ),
        _ => output.unneeded(from, "the proxy does this by itself"),
    }
}
