//! The sections `[routing:NAME]`, and the servers of `[metadata_cache]`.

use crate::ini::{Section, plain};
use crate::output::{Origin, Output};
use crate::units::{address, truth};

/// A route of the classic protocol.
#[derive(Debug)]
pub struct Routing {
    /// Its name.
    pub name: String,
    /// Its line.
    pub line: usize,
    /// The addresses on which it listens.
    pub addresses: Vec<String>,
    /// The servers to which it leads.
    pub destination: Destination,
    /// The strategy, such as `first-available`.
    pub strategy: String,
    /// Whether it takes writes, by its mode.
    pub writes: Option<bool>,
    /// Whether it shares connections.
    pub shares: bool,
    /// Whether reads wait for the session's writes.
    pub waits_for_writes: Option<bool>,
}

/// The destination of a route.
#[derive(Debug)]
pub enum Destination {
    /// Servers of the file.
    Servers(Vec<String>),
    /// Members of the cluster in these roles.
    Metadata {
        /// The setting `replicas`.
        replicas: &'static str,
    },
}

/// All routes of the classic protocol.
pub fn routings(sections: &[Section], output: &mut Output<'_>) -> Vec<Routing> {
    let default = sections.iter().find(|it| it.name == "DEFAULT");
    let mut routings = Vec::new();
    for section in sections.iter().filter(|it| kind(it) == "routing") {
        let name = section
            .name
            .split_once(':')
            .map_or("routing", |(_, name)| name)
            .to_owned();
        let from = Origin::named(section.line, format!("[{}]", section.name));
        if section.value("protocol") == Some("x") {
            output.lost(
                &from,
                "Pilotfish speaks the classic protocol, and not X",
                "the server's own port of the X protocol",
            );
            continue;
        }
        let get = |key: &str| {
            section
                .value(key)
                .or_else(|| default.and_then(|it| it.value(key)))
        };
        let Some(destination) = section
            .value("destinations")
            .and_then(|it| destination(it, section, &from, output))
        else {
            output.lost(
                &from,
                "the section has no destinations that can be read",
                "destinations = HOST:PORT,HOST:PORT",
            );
            continue;
        };
        let mode = section.value("mode").map(plain);
        let strategy = section
            .value("routing_strategy")
            .unwrap_or(match mode.as_deref() {
                Some("read_only") => "round-robin",
                _ => "first-available",
            });
        routings.push(Routing {
            name,
            line: section.line,
            addresses: addresses(section, default),
            destination,
            strategy: strategy.to_owned(),
            writes: mode.map(|it| it == "read_write"),
            shares: get("connection_sharing").and_then(truth).unwrap_or(false),
            waits_for_writes: section.value("wait_for_my_writes").and_then(truth),
        });
    }
    routings
}

/// The word before the colon of a section's name.
pub fn kind(section: &Section) -> &str {
    section
        .name
        .split_once(':')
        .map_or(&section.name, |(kind, _)| kind)
}

fn addresses(section: &Section, default: Option<&Section>) -> Vec<String> {
    let host = section
        .value("bind_address")
        .or_else(|| default.and_then(|it| it.value("bind_address")));
    let host = host.unwrap_or("127.0.0.1");
    let socket = section.value("socket").map(str::to_owned);
    let tcp = match (section.value("bind_port"), host.rsplit_once(':')) {
        (Some(port), _) => Some(address(host, port)),
        // An address with its port.
        (None, Some((before, _))) if !before.contains(':') || before.ends_with(']') => {
            Some(host.to_owned())
        }
        (None, _) if socket.is_none() => Some(address(host, "7001")),
        _ => None,
    };
    tcp.into_iter().chain(socket).collect()
}

fn destination(
    text: &str,
    section: &Section,
    from: &Origin,
    output: &mut Output<'_>,
) -> Option<Destination> {
    if let Some(rest) = text.strip_prefix("metadata-cache://") {
        let rest = rest.to_ascii_uppercase();
        let is_auto = section.value("access_mode") == Some("auto");
        let replicas = match () {
            () if is_auto => "split",
            () if rest.contains("ROLE=PRIMARY_AND_SECONDARY") => "any",
            () if rest.contains("ROLE=SECONDARY") => "replica",
            () if section.value("mode") == Some("read-only") => "replica",
            () => "primary",
        };
        if rest.contains("DISCONNECT_ON") {
            output.unneeded(
                from,
                "sessions of a server that is no longer the primary end by themselves",
            );
        }
        return Some(Destination::Metadata { replicas });
    }
    let mut servers: Vec<String> = Vec::new();
    for word in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        match word.parse::<config::BackendAddress>() {
            Ok(address) if !servers.contains(&address.to_string()) => {
                servers.push(address.to_string())
            }
            Ok(_) => {}
            Err(error) => output.lost(from, error.to_string(), "HOST:PORT"),
        }
    }
    (!servers.is_empty()).then_some(Destination::Servers(servers))
}

/// The servers from which Router reads the metadata at first.
pub fn metadata_servers(sections: &[Section], output: &mut Output<'_>) -> Vec<String> {
    let mut servers = Vec::new();
    for section in sections.iter().filter(|it| kind(it) == "metadata_cache") {
        let Some(entry) = section.entry("bootstrap_server_addresses") else {
            continue;
        };
        for word in entry
            .value
            .split(',')
            .map(str::trim)
            .filter(|it| !it.is_empty())
        {
            let word = word.trim_start_matches("mysql://").trim_end_matches('/');
            let from = Origin::new(entry.line, &entry.key, word);
            match word.parse::<config::BackendAddress>() {
                Ok(address) if servers.contains(&address.to_string()) => {}
                Ok(address) => servers.push(address.to_string()),
                Err(error) => output.lost(&from, error.to_string(), "mysql://HOST:PORT"),
            }
        }
    }
    servers
}
