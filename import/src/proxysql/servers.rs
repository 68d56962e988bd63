//! `mysql_servers`: backends.

use std::collections::BTreeMap;

use super::groups::{Groups, Target};
use super::tables::{Row, Tables};
use crate::output::{Origin, Output, Table, Toml};
use crate::units::{address, spell_time};

const TABLE: &str = "mysql_servers";

/// Writes every server once: an address is one backend, even if it is in several host groups.
pub fn translate(tables: &Tables, groups: &Groups, output: &mut Output<'_>) {
    let default = tables
        .rows("mysql_users")
        .next()
        .and_then(|it| it.number("default_hostgroup"));
    let mut rows: Vec<&Row> = tables.rows(TABLE).collect();
    let cluster = |row: &&Row| target(row, groups).map(|it| it.cluster.clone());
    // Sessions that name no cluster go to the first backend's cluster.
    let first = default
        .and_then(|it| groups.target(it))
        .map(|it| it.cluster.clone());
    rows.sort_by_key(|row| cluster(row) != first);
    let mut seen: BTreeMap<String, Target> = BTreeMap::new();
    let mut tls = Vec::new();
    for row in rows {
        let Some(host) = row.get("hostname") else {
            output.lost(
                &Origin::named(row.line, TABLE),
                "the server has no hostname",
                "",
            );
            continue;
        };
        let address = match row.get("port") {
            Some("0") => host.to_owned(),
            port => address(host, port.unwrap_or("3306")),
        };
        let Some(target) = target(row, groups) else {
            continue;
        };
        if address.parse::<config::BackendAddress>().is_err() {
            output.lost(
                &row.origin(TABLE, "hostname"),
                "this is no address",
                "HOST:PORT",
            );
            continue;
        }
        if let Some(earlier) = seen.get(&address) {
            again(row, &address, earlier, target, output);
            continue;
        }
        seen.insert(address.clone(), target.clone());
        tls.push(row.truth("use_ssl", false));
        let table = backend(row, address, target, groups, output);
        output.backends.push(table);
    }
    encrypt(tables, &tls, output);
}

fn target<'a>(row: &Row, groups: &'a Groups) -> Option<&'a Target> {
    groups.target(row.number("hostgroup_id").unwrap_or(0))
}

/// Notes a server that is in a second host group.
fn again(row: &Row, address: &str, earlier: &Target, target: &Target, output: &mut Output<'_>) {
    let origin = row.origin(TABLE, "hostgroup_id");
    if earlier.cluster != target.cluster {
        let reason = format!(
            "{address} is in cluster \"{}\" already, and a backend is in one cluster",
            earlier.cluster
        );
        output.lost(
            &origin,
            reason,
            "a rule with backend = NAME sends statements there",
        );
    } else if target.role == "replica" {
        output.differs(
            &origin,
            "the primary takes reads only when no replica is left",
            "rule.routing.replicas = \"any\"",
        );
    }
}

fn backend(
    row: &Row,
    address: String,
    target: &Target,
    groups: &Groups,
    output: &mut Output<'_>,
) -> Table {
    let comment = row
        .get("comment")
        .map(|it| format!(", {it}"))
        .unwrap_or_default();
    let group = row.number("hostgroup_id").unwrap_or(0);
    let line = row
        .line
        .map(|it| format!("line {it}, "))
        .unwrap_or_default();
    let mut table = Table::new(format!("{TABLE}, {line}hostgroup {group}{comment}"));
    table.text("address", address);
    table.text("cluster", &target.cluster);
    let role = match (groups.has_monitored_roles(&target.cluster), target.role) {
        (true, _) => "auto",
        (false, "replica") => "replica",
        // If a host group shares servers with the primary's group, its other servers are replicas.
        (false, "any") => "replica",
        (false, _) => "primary",
    };
    table.text("role", role);
    for column in row.names() {
        let origin = row.origin(TABLE, column);
        let number = row.number(column);
        match (column, number) {
            ("hostgroup_id" | "hostname" | "port" | "comment" | "use_ssl" | "gtid_port", _) => {}
            ("status", _) => status(row, &origin, &mut table, output),
            ("weight", Some(0)) => {
                table.set("drain", Toml::Truth(true));
                output.differs(
                    &origin,
                    "a backend without a share is one that is drained",
                    "",
                );
            }
            ("weight", Some(weight)) => {
                let weight = output.bounded("backend.weight", weight, &origin, |it| it.to_string());
                table.set("weight", Toml::Number(weight));
            }
            ("max_connections", Some(most)) => connections(most, &origin, output),
            ("max_replication_lag", Some(0)) | ("compression" | "max_latency_ms", Some(0)) => {}
            ("max_replication_lag", Some(lag)) => {
                let lag = output.bounded(
                    "backend.lag_max",
                    lag.saturating_mul(1000),
                    &origin,
                    spell_time,
                );
                table.text("lag_max", spell_time(lag));
            }
            ("compression", Some(_)) => output.text("compression.backend", "zlib", &origin),
            ("max_latency_ms", Some(_)) => output.lost(
                &origin,
                "a slow answer to a ping leaves no backend out",
                "balance.reads = \"latency\" prefers those that answer sooner",
            ),
            ("weight" | "max_connections" | "max_replication_lag", None) => {
                output.unreadable(&origin, "a number")
            }
            _ => output.lost(&origin, "servers have no such setting here", ""),
        }
    }
    table
}

fn status(row: &Row, origin: &Origin, table: &mut Table, output: &mut Output<'_>) {
    match row
        .get("status")
        .unwrap_or("")
        .to_ascii_uppercase()
        .as_str()
    {
        "ONLINE" => {}
        "OFFLINE_SOFT" => table.set("drain", Toml::Truth(true)),
        "OFFLINE_HARD" => table.set("disable", Toml::Truth(true)),
        _ => output.unneeded(
            origin,
            "the proxy finds out by itself which backends are up",
        ),
    }
}

/// Sets the limit of pooled connections. It is the same for all backends: the lowest of the limits.
fn connections(most: u64, origin: &Origin, output: &mut Output<'_>) {
    const NAME: &str = "pool.backend_connections_max";
    let known = output.number(NAME);
    if known.is_some_and(|it| it != most) {
        output.differs(
            origin,
            "the limit is the same for all backends, the lowest of all",
            "backend.sessions_max",
        );
    }
    if known.is_none_or(|it| most < it) {
        output.count(NAME, most, origin);
    }
}

/// TLS towards backends is one setting.
fn encrypt(tables: &Tables, tls: &[bool], output: &mut Output<'_>) {
    if !tls.contains(&true) {
        return;
    }
    let row = tables.rows(TABLE).find(|it| it.truth("use_ssl", false));
    let origin = row.map_or_else(
        || Origin::named(None, "use_ssl"),
        |it| it.origin(TABLE, "use_ssl"),
    );
    if tls.contains(&false) {
        output.text("backend_tls.mode", "preferred", &origin);
        let reason = "TLS towards backends is one setting: each backend that offers TLS is spoken to with it";
        output.differs(
            &origin,
            reason,
            "backend_tls.mode = \"required\" if all of them offer it",
        );
    } else {
        output.text("backend_tls.mode", "required", &origin);
    }
}
