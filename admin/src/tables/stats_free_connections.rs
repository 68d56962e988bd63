//! Backend connections that lie idle, one by one, as ProxySQL's statistics show them.

use std::time::Duration;

use proxy::IdleView;
use serde_json::json;

use super::runtime_mysql_servers::{Server, of};
use crate::material::Material;
use crate::sheet::{Asks, Cell, Schema, Sheet, integer, measure, text};

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Stats,
    name: "stats_mysql_free_connections",
    about: "Pooled connections that nobody uses, one by one, by the names of ProxySQL; a hostgroup is a cluster.",
    asks: Asks::Idle,
    columns: &[
        integer("fd", "Not told: NULL.", |_| Cell::Null),
        integer(
            "hostgroup",
            "The number of the backend's cluster; NULL: the backend has gone.",
            |it| of(&it.server, Server::hostgroup),
        ),
        text("srv_host", "The backend's host.", |it| {
            of(&it.server, Server::host)
        }),
        integer("srv_port", "The backend's port.", |it| {
            of(&it.server, Server::port)
        }),
        text("user", "The user that it is logged in as.", |it| {
            (&it.idle.user).into()
        }),
        text("schema", "The default schema; NULL: none.", |it| {
            it.idle.schema.clone().into()
        }),
        text("init_connect", "There is none: NULL.", |_| Cell::Null),
        text(
            "time_zone",
            "As a session has set it and nobody has set it back; NULL: as the login has left it.",
            |it| it.idle.time_zone.clone().into(),
        ),
        text("sql_mode", "Likewise.", |it| {
            it.idle.sql_mode.clone().into()
        }),
        text("autocommit", "Likewise.", |it| {
            it.idle.autocommit.clone().into()
        }),
        measure(
            "idle_ms",
            "ms",
            "For how long no session has had it.",
            |it| milliseconds(it.idle.idle).into(),
        ),
        text(
            "statistics",
            "As JSON: how old it is, in milliseconds, and how many statements are prepared on it.",
            |it| {
                let (age_ms, prepared) = (milliseconds(it.idle.age), it.idle.prepared);
                json!({"age_ms": age_ms, "prepared": prepared})
                    .to_string()
                    .into()
            },
        ),
        text(
            "mysql_info",
            "As JSON: its id at the backend, the account whose sessions share it, and the backend's version.",
            |it| {
                let IdleView {
                    thread_id,
                    account,
                    version,
                    ..
                } = &it.idle;
                json!({"thread_id": thread_id, "account": account, "server_version": version})
                    .to_string()
                    .into()
            },
        ),
    ],
    items,
};

/// One connection.
pub struct Item {
    idle: IdleView,
    server: Option<Server>,
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn items(material: &Material) -> Vec<Item> {
    let idle = material.idle.iter().flat_map(|worker| &worker.idle);
    idle.map(|idle| Item {
        server: material.backend(idle.backend).map(Server::of),
        idle: idle.clone(),
    })
    .collect()
}
