//! Where the proxy listens.

use crate::material::Material;
use crate::table::{Asks, Schema, TableDefinition, integer, text};

/// See the module.
pub static TABLE: TableDefinition<ListenerRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "listeners",
    about: "The addresses on which the proxy listens, by its configuration.",
    asks: Asks::Sessions,
    columns: &[
        text("address", "The address.", |it| it.address.clone().into()),
        text("purpose", "clients, admin or http.", |it| it.purpose.into()),
        text(
            "mode",
            "For how long its sessions keep a connection, if it says so.",
            |it| it.mode.into(),
        ),
        text(
            "cluster",
            "The cluster that its sessions go to, if it says so.",
            |it| it.cluster.clone().into(),
        ),
        integer(
            "sessions",
            "Clients that have come by it and are here now.",
            |it| it.sessions.into(),
        ),
    ],
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

fn items(material: &Material) -> Vec<ListenerRow> {
    let config = &material.settings.config;
    let came_by = |address: &str| {
        let sessions = material.sessions();
        sessions.filter(|it| it.listener == address).count()
    };
    let plain = config.listen.iter().map(|address| {
        let address = address.to_string();
        ListenerRow {
            sessions: came_by(&address),
            address,
            purpose: "clients",
            mode: None,
            cluster: None,
        }
    });
    let others = config.listeners.iter().map(|listener| {
        let address = listener.address.to_string();
        ListenerRow {
            sessions: came_by(&address),
            address,
            purpose: "clients",
            mode: listener.routing.session.map(|mode| mode.name()),
            cluster: listener.routing.cluster.clone(),
        }
    });
    let admin = material.port.addresses.iter().map(|address| ListenerRow {
        address: address.clone(),
        purpose: "admin",
        mode: None,
        cluster: None,
        sessions: material.port.guests,
    });
    let http = material
        .port
        .http_addresses
        .iter()
        .map(|address| ListenerRow {
            address: address.clone(),
            purpose: "http",
            mode: None,
            cluster: None,
            sessions: material.port.callers,
        });
    plain.chain(others).chain(admin).chain(http).collect()
}
