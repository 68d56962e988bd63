//! The addresses on which the proxy listens.

use config::{ListenAddress, ListenerConfig};

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<ListenerRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "listeners",
    about: "The addresses on which the proxy listens, by its configuration.",
    asks: Asks::Sessions,
    columns: columns! {
        text "address", "The address.", |it| it.address.clone().into();
        text "purpose", "clients, admin or http.", |it| it.purpose.into();
        text "mode", "For how long its sessions keep a connection, if it says so.", |it| it.mode.into();
        text "cluster", "The cluster that its sessions go to, if it says so.", |it| it.cluster.clone().into();
        integer "sessions", "Clients that have come by it and are here now.", |it| it.sessions.into();
    },
    items,
};

/// One address.
pub struct ListenerRow {
    address: String,
    purpose: &'static str,
    mode: Option<&'static str>,
    cluster: Option<String>,
    sessions: usize,
}

fn items(input: &TableInput) -> Vec<ListenerRow> {
    let config = &input.settings.config;
    let came_by = |address: &str| {
        let sessions = input.sessions();
        sessions.filter(|it| it.listener == address).count()
    };
    let of_clients = |address: &ListenAddress, listener: Option<&ListenerConfig>| {
        let routing = listener.map(|it| &it.routing);
        let address = address.to_string();
        ListenerRow {
            sessions: came_by(&address),
            address,
            purpose: "clients",
            mode: routing.and_then(|it| it.session).map(|mode| mode.name()),
            cluster: routing.and_then(|it| it.cluster.clone()),
        }
    };
    let port = |addresses: &[String], purpose, sessions| {
        let row = |address: &String| ListenerRow {
            address: address.clone(),
            purpose,
            mode: None,
            cluster: None,
            sessions,
        };
        addresses.iter().map(row).collect::<Vec<_>>()
    };
    let facts = &input.port;
    let plain = config.listen.iter().map(|it| of_clients(it, None));
    let others = config.listeners.iter();
    let mut rows: Vec<_> = plain
        .chain(others.map(|it| of_clients(&it.address, Some(it))))
        .collect();
    rows.extend(port(&facts.addresses, "admin", facts.clients));
    rows.extend(port(&facts.http_addresses, "http", facts.callers));
    rows
}
