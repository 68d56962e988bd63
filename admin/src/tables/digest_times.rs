//! How long statements took, by digest: the histograms of `digests`.

use stats::{DigestRow, Tallied};

use super::digests::hexadecimal;
use crate::table::{Asks, Cell, Schema, TableDefinition, columns, text_or_null};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<DigestTimesRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "digest_times",
    about: "How many statements of each digest took how long: the bars of a histogram, those that have some.",
    asks: Asks::Insight,
    columns: columns! {
        text "digest", "The hash of the normalised text; NULL for those that made room.",
            |it| it.of(|row| hexadecimal(row.digest).into());
        text "db", "The default schema; NULL: none.",
            |it| it.of(|row| text_or_null(&row.attribution.schema));
        text "account", "The account of the statements.", |it| it.of(|row| (&row.attribution.account).into());
        text "backend", "The backend that ran them; NULL: they reached no backend.",
            |it| it.of(|row| row.backend.as_ref().map(|ran| &*ran.name).into());
        measure "up_to_us" ["us"],
            "They took no longer than that, from when they came to when their replies had ended, and longer than four \
             fifths of it; NULL: longer than a minute.", |it| it.up_to_ns.map(|end| end.div_ceil(1000)).into();
        integer "count", "How many.", |it| it.count.into();
    },
    items,
};

/// A bar of one digest's histogram.
pub struct DigestTimesRow {
    tallied: Tallied,
    up_to_ns: Option<u64>,
    count: u64,
}

impl DigestTimesRow {
    fn of(&self, value: impl FnOnce(&DigestRow) -> Cell) -> Cell {
        self.tallied.row().map_or(Cell::Null, value)
    }
}

fn items(input: &TableInput) -> Vec<DigestTimesRow> {
    let bars = |tallied: Tallied| {
        let bars = tallied.counts().histogram().into_iter();
        bars.map(move |(up_to_ns, count)| DigestTimesRow {
            tallied: tallied.clone(),
            up_to_ns,
            count,
        })
    };
    Tallied::all(&input.statement_stats)
        .flat_map(bars)
        .collect()
}
