//! Digests as ProxySQL's statistics show them.

use std::sync::Arc;

use proxy::DigestRow;

use super::digests::{hexadecimal, us};
use super::runtime_mysql_servers::Server;
use crate::material::Material;
use crate::sheet::{Asks, Column, Schema, Sheet, integer, measure, text};

/// See the module.
pub static TABLE: Sheet<Item> = Sheet {
    schema: Schema::Stats,
    name: "stats_mysql_query_digest",
    about: "Statements by digest, by the names of ProxySQL; a hostgroup is a cluster.",
    asks: Asks::Insight,
    columns: COLUMNS,
    items,
};

/// The same, which counts from nothing again when it has been read.
pub static RESET: Sheet<Item> = Sheet {
    name: "stats_mysql_query_digest_reset",
    about: "The same; whoever reads it has digests counted from nothing again. For the role admin.",
    asks: Asks::InsightOnce,
    ..TABLE
};

const COLUMNS: &[Column<Item>] = &[
    integer(
        "hostgroup",
        "The cluster's number; -1 where there was no backend, or where it has gone.",
        |it| {
            it.server
                .as_ref()
                .map_or(-1, |server| i64::from(server.hostgroup()))
                .into()
        },
    ),
    text("schemaname", "The default schema.", |it| {
        (&it.row.whose.schema).into()
    }),
    text("username", "The user.", |it| (&it.row.whose.user).into()),
    text("client_address", "Not told apart: empty.", |_| "".into()),
    text("digest", "The hash of the normalised text.", |it| {
        hexadecimal(it.row.digest).into()
    }),
    text("digest_text", "The normalised text.", |it| {
        (&*it.row.text).into()
    }),
    integer("count_star", "How many.", |it| it.row.counts.count.into()),
    measure(
        "first_seen",
        "s",
        "When the first had ended, since 1970.",
        |it| it.seen.0.into(),
    ),
    measure(
        "last_seen",
        "s",
        "When the last had ended, since 1970.",
        |it| it.seen.1.into(),
    ),
    measure(
        "sum_time",
        "us",
        "All of their time, from when they came to when their replies had ended.",
        |it| us(it.row.counts.whole_ns()),
    ),
    measure("min_time", "us", "The fastest.", |it| {
        us(it.row.counts.min_ns)
    }),
    measure("max_time", "us", "The slowest.", |it| {
        us(it.row.counts.max_ns)
    }),
    integer("sum_rows_affected", "Rows that they have changed.", |it| {
        it.row.counts.rows_affected.into()
    }),
    integer("sum_rows_sent", "Rows of their results.", |it| {
        it.row.counts.rows_sent.into()
    }),
];

/// One row.
pub struct Item {
    row: Arc<DigestRow>,
    server: Option<Server>,
    seen: (i64, i64),
}

fn items(material: &Material) -> Vec<Item> {
    let insight = &material.insight;
    let rows = insight.digests.iter();
    rows.map(|row| {
        let ran = row.backend.as_ref();
        let backend = ran.and_then(|ran| material.backend(ran.backend));
        Item {
            server: backend.map(Server::of),
            seen: (
                insight.second(row.counts.first_seen),
                insight.second(row.counts.last_seen),
            ),
            row: Arc::clone(row),
        }
    })
    .collect()
}
