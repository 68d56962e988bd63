//! Digests as ProxySQL's statistics show them.

use stats::{Counts, DigestRow, Tallied};

use super::digests::{hexadecimal, us};
use super::runtime_mysql_servers::Server;
use crate::table::{Asks, Cell, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<StatsQueryDigestRow> = TableDefinition {
    schema: Schema::Stats,
    name: "stats_mysql_query_digest",
    about: "Statements by digest, by the names of ProxySQL; a hostgroup is a cluster.",
    asks: Asks::Insight,
    columns: columns! {
        integer "hostgroup", "The cluster's number; -1 where there was no backend, or where it has gone.",
            |it| it.server.as_ref().map_or(-1, |server| i64::from(server.hostgroup())).into();
        text "schemaname", "The default schema.", |it| it.of(|row| (&row.attribution.schema).into());
        text "username", "The user.", |it| it.of(|row| (&row.attribution.user).into());
        text "client_address", "Not told apart: empty.", |_| "".into();
        text "digest", "The hash of the normalised text; empty in the last row, of those that made room for others.",
            |it| it.of(|row| hexadecimal(row.digest).into());
        text "digest_text", "The normalised text.", |it| it.tallied.text().into();
        integer "count_star", "How many.", |it| it.counts().count.into();
        measure "first_seen" ["s"], "When the first had ended, since 1970.", |it| it.first_and_last.0.into();
        measure "last_seen" ["s"], "When the last had ended, since 1970.", |it| it.first_and_last.1.into();
        measure "sum_time" ["us"], "All of their time, from when they came to when their replies had ended.",
            |it| us(it.counts().whole_ns());
        measure "min_time" ["us"], "The fastest.", |it| us(it.counts().min_ns);
        measure "max_time" ["us"], "The slowest.", |it| us(it.counts().max_ns);
        integer "sum_rows_affected", "Rows that they have changed.", |it| it.counts().rows_affected.into();
        integer "sum_rows_sent", "Rows of their results.", |it| it.counts().rows_sent.into();
    },
    items,
};

/// One row.
pub struct StatsQueryDigestRow {
    tallied: Tallied,
    server: Option<Server>,
    first_and_last: (i64, i64),
}

impl StatsQueryDigestRow {
    /// A column's value. ProxySQL's columns are never NULL, so the row of evicted digests has an empty text.
    fn of(&self, value: impl FnOnce(&DigestRow) -> Cell) -> Cell {
        self.tallied.row().map_or_else(|| "".into(), value)
    }

    fn counts(&self) -> &Counts {
        self.tallied.counts()
    }
}

fn items(input: &TableInput) -> Vec<StatsQueryDigestRow> {
    let statement_stats = &input.statement_stats;
    let item = |tallied: Tallied| {
        let ran = tallied.row().and_then(|row| row.backend.as_ref());
        let backend = ran.and_then(|ran| input.backend(ran.backend));
        let counts = tallied.counts();
        StatsQueryDigestRow {
            server: backend.map(Server::of),
            first_and_last: (
                statement_stats.second(counts.first_seen),
                statement_stats.second(counts.last_seen),
            ),
            tallied,
        }
    };
    Tallied::all(statement_stats).map(item).collect()
}
