//! Statements by digest.

use std::collections::HashMap;
use std::sync::Arc;

pub use stats::hexadecimal;
use stats::{Counts, DigestRow, ProfileView, Tallied};

use crate::table::{Asks, Cell, Schema, TableDefinition, columns, text_or_null};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<DigestTotalsRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "digests",
    about: "Statements by digest, account, schema and backend, those that have taken the longest in all first; \
            a last row has what made room for others.",
    asks: Asks::Insight,
    columns: columns! {
        text "digest", "The hash of the normalised text; NULL in the row of those that made room.",
            |it| it.of(|row| hexadecimal(row.digest).into());
        text "digest_text", "The normalised text, cut behind 2 KiB.", |it| it.tallied.text().into();
        text "db", "The default schema; NULL: none.",
            |it| it.of(|row| text_or_null(&row.attribution.schema));
        text "account", "The account, or the name that a session that is not pooled has given.",
            |it| it.of(|row| (&row.attribution.account).into());
        text "backend", "The backend that ran them; NULL: they were answered before they reached one.",
            |it| it.of(|row| row.backend.as_ref().map(|ran| &*ran.name).into());
        integer "count", "How many.", |it| it.counts().count.into();
        integer "errors", "Of these, so many ended with an error.", |it| it.counts().errors.into();
        integer "rows_sent", "Rows of their results.", |it| it.counts().rows_sent.into();
        integer "rows_affected", "Rows that they have changed, by the servers' word.",
            |it| it.counts().rows_affected.into();
        integer "rows_examined_avg",
            "Rows that the backend has looked at, on the average of the profiles that are kept and tell it \
             (profiling.collect with events); NULL: none does.", |it| it.examined.into();
        measure "bytes_in" ["bytes"], "The bytes that clients have sent.", |it| it.counts().bytes_in.into();
        measure "bytes_out" ["bytes"], "The bytes of the replies, as the backends sent them.",
            |it| it.counts().bytes_out.into();
        measure "total_us" ["us"],
            "All of their time, from when they came to when their replies had ended: the sum of the next three.",
            |it| us(it.counts().whole_ns());
        measure "proxy_us" ["us"], "In the proxy before they left for a backend, queues apart.",
            |it| us(it.counts().proxy_ns);
        measure "queue_us" ["us"],
            "Before they left, of those that had to wait for a connection or for leave by a rule.",
            |it| us(it.counts().queue_ns);
        measure "backend_us" ["us"], "At the backend, up to the last byte of the reply.",
            |it| us(it.counts().backend_ns);
        measure "first_byte_us" ["us"],
            "At the backend, up to the first byte of the reply; on shared lanes, up to the last.",
            |it| us(it.counts().first_byte_ns);
        measure "avg_us" ["us"], "On the average, in all.",
            |it| {
                let counts = it.counts();
                us(counts.whole_ns() / counts.count.max(1))
            };
        measure "min_us" ["us"], "The fastest.", |it| us(it.counts().min_ns);
        measure "p50_us" ["us"], "Half of them took no longer.", |it| us(it.counts().percentile_ns(50));
        measure "p95_us" ["us"], "95 of a hundred took no longer.", |it| us(it.counts().percentile_ns(95));
        measure "p99_us" ["us"], "99 of a hundred took no longer.", |it| us(it.counts().percentile_ns(99));
        measure "max_us" ["us"], "The slowest.", |it| us(it.counts().max_ns);
        text "first_seen", "When the first had ended, in UTC.", |it| it.times.0.clone().into();
        text "last_seen", "When the last had ended, in UTC.", |it| it.times.1.clone().into();
        text "sample", "The slowest of them as it was said, if statement_stats.include_values allows.",
            |it| it.of(|row| row.sample.as_deref().into());
    },
    items,
};

/// When the first and the last statement ended.
type Times = (String, String);

/// One row.
pub struct DigestTotalsRow {
    tallied: Tallied,
    /// The average of rows that a statement examined, if known.
    examined: Option<u64>,
    times: Times,
}

impl DigestTotalsRow {
    fn of(&self, value: impl FnOnce(&DigestRow) -> Cell) -> Cell {
        self.tallied.row().map_or(Cell::Null, value)
    }

    fn counts(&self) -> &Counts {
        self.tallied.counts()
    }
}

/// Whole microseconds.
pub fn us(nanoseconds: u64) -> Cell {
    (nanoseconds / 1000).into()
}

fn items(input: &TableInput) -> Vec<DigestTotalsRow> {
    let statement_stats = &input.statement_stats;
    let times = |counts: &Counts| {
        let time = |at| statement_stats.time(at);
        (time(counts.first_seen), time(counts.last_seen))
    };
    let examined = examined(&statement_stats.profiles);
    let item = |tallied: Tallied| {
        let examined = tallied.row().and_then(|row| examined.get(&row.digest));
        DigestTotalsRow {
            examined: examined.map(|(rows, count)| rows / (*count).max(1)),
            times: times(tallied.counts()),
            tallied,
        }
    };
    Tallied::all(statement_stats).map(item).collect()
}

/// Rows that statements examined, and the number of statements for which that is known, by digest.
fn examined(profiles: &[Arc<ProfileView>]) -> HashMap<u64, (u64, u64)> {
    let mut examined: HashMap<u64, (u64, u64)> = HashMap::new();
    for profile in profiles {
        if let Some(rows) = profile.rows_examined {
            let known = examined.entry(profile.digest).or_default();
            *known = (known.0.saturating_add(rows), known.1 + 1);
        }
    }
    examined
}
