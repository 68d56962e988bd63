//! Connections as MySQL Proxy's first admin port showed them.

use worker::SessionState;

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<ProxyConnectionRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "proxy_connections",
    about: "Clients' connections, and the backend connections that sessions use or keep, as MySQL Proxy 0.5 \
            showed them.",
    asks: Asks::Sessions,
    columns: columns! {
        integer "id", "The session, as in sessions.", |it| it.id.into();
        text "type", "proxy: a client's connection; server: a backend's.", |it| it.kind.into();
        text "state", "login, idle, running or joined.", |it| it.state.name().into();
        text "db", "The session's default schema; of a backend's connection nothing.", |it| it.db.clone().into();
    },
    items,
};

/// One connection.
pub struct ProxyConnectionRow {
    id: u32,
    kind: &'static str,
    state: SessionState,
    db: Option<String>,
}

fn items(input: &TableInput) -> Vec<ProxyConnectionRow> {
    let mut items = Vec::new();
    for session in input.sessions() {
        let mut item = |kind, db: &Option<String>| {
            items.push(ProxyConnectionRow {
                id: session.id,
                kind,
                state: session.state,
                db: db.clone(),
            });
        };
        item("proxy", &session.schema);
        if session.backend.is_some() {
            item("server", &Some(String::new()));
        }
    }
    items
}
