//! Errors that statements have ended with, as ProxySQL's statistics show them.

use std::sync::Arc;

use stats::ErrorRow;

use super::runtime_mysql_servers::Server;
use crate::material::Material;
use crate::sheet::{Asks, Column, Schema, Sheet, integer, measure, text};

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Stats,
    name: "stats_mysql_errors",
    about: "Errors that statements have ended with, by the names of ProxySQL; a hostgroup is a cluster.",
    asks: Asks::Errors,
    columns: COLUMNS,
    items,
};

/// The same, which counts from nothing again when it has been read.
pub static RESET: Sheet<Item> = Sheet {
    name: "stats_mysql_errors_reset",
    about: "The same; whoever reads it has errors counted from nothing again. For the role admin.",
    asks: Asks::ErrorsOnce,
    ..TABLE
};

const COLUMNS: &[Column<Item>] = &[
    integer(
        "hostgroup",
        "The cluster's number; -1 where the proxy itself has said it, or where the backend has gone.",
        |it| it.hostgroup().into(),
    ),
    text(
        "hostname",
        "The host, or the path of a socket; empty where hostgroup is -1.",
        |it| {
            it.server
                .as_ref()
                .map_or_else(String::new, Server::host)
                .into()
        },
    ),
    integer(
        "port",
        "The port; 0 for a socket, or where hostgroup is -1.",
        |it| it.server.as_ref().map_or(0, Server::port).into(),
    ),
    text("username", "The user.", |it| (&it.row.user).into()),
    text("client_address", "Not told apart: empty.", |_| "".into()),
    text("schemaname", "Not told apart: empty.", |_| "".into()),
    integer("errno", "The error's number.", |it| it.row.number.into()),
    integer("count_star", "How often.", |it| it.row.count.into()),
    measure("first_seen", "s", "When it came first, since 1970.", |it| {
        it.seen.0.into()
    }),
    measure("last_seen", "s", "When it came last, since 1970.", |it| {
        it.seen.1.into()
    }),
    text(
        "last_error",
        "What it said last; without what it quotes, unless that can only be names or insight.samples allows.",
        |it| (&it.row.message).into(),
    ),
];

/// Errors that are alike.
pub struct Item {
    row: Arc<ErrorRow>,
    server: Option<Server>,
    seen: (i64, i64),
}

impl Item {
    fn hostgroup(&self) -> i64 {
        let server = self.server.as_ref();
        server.map_or(-1, |server| i64::from(server.hostgroup()))
    }
}

fn items(material: &Material) -> Vec<Item> {
    let insight = &material.insight;
    let rows = insight.errors.iter();
    rows.map(|row| {
        let ran = row.backend.as_ref();
        let backend = ran.and_then(|ran| material.backend(ran.backend));
        Item {
            server: backend.map(Server::of),
            seen: (
                insight.second(row.first_seen),
                insight.second(row.last_seen),
            ),
            row: Arc::clone(row),
        }
    })
    .collect()
}
