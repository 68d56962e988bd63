//! Sessions that the kernel was to join, by outcome.

use worker::{JoinObstacle, JoinView};

use crate::table::{Asks, Schema, TableDefinition, columns};

/// See the module.
pub static TABLE: TableDefinition<JoinView> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "kernel_sessions",
    about: "The sessions of listeners with `routing.session = \"kernel\"`, by outcome, since the start.",
    asks: Asks::Sessions,
    columns: columns! {
        text "listener", "The address of the listener.", |it| it.listener.clone().into();
        text "backend", "The backend of the sessions.", |it| it.backend.clone().into();
        text "outcome", "joined: the kernel passes the bytes of the session; relayed: the proxy does.",
            |it| match it.obstacle { None => "joined".into(), Some(_) => "relayed".into() };
        text "reason",
            "Why sessions are relayed. `kernel`: the kernel or a privilege is missing. `tls`, `compression`: one side \
             uses it. `socket`: one side has no TCP connection. `closing`: one side was closing its connection.",
            |it| it.obstacle.map(JoinObstacle::name).into();
        integer "sessions", "Sessions since the start.", |it| it.sessions.into();
        integer "current", "Sessions that are joined now. NULL for relayed ones.",
            |it| it.is_joined().then_some(it.current).into();
        measure "bytes_sent" ["bytes"], "Bytes of joined sessions that went from clients to the backend.",
            |it| it.is_joined().then_some(it.bytes[0]).into();
        measure "bytes_received" ["bytes"], "Bytes of joined sessions that went from the backend to clients.",
            |it| it.is_joined().then_some(it.bytes[1]).into();
    },
    items: |input| input.data_plane.joins(),
};
