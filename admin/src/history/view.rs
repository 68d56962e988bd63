//! How the history is shown: the columns of `digest_history`, each with what it is made of in the database
//! that keeps it. The table is a view there, so that statements find their rows by its indexes.

use crate::material::Material;
use crate::table::{Asks, Cell, CellType, ColumnFacts, Schema, Table};

/// The database's name where a statement runs.
pub const HOME: &str = "history";

/// The table's name.
pub const NAME: &str = "digest_history";

/// See the module.
pub struct DigestHistory;

const COLUMNS: [(&str, &str, ColumnFacts); 20] = [
    of(
        "start",
        "intervals.start",
        CellType::Integer,
        Some("s"),
        "When the interval began, in seconds since 1970.",
    ),
    of(
        "time",
        "strftime('%Y-%m-%d %H:%M:%S', intervals.start, 'unixepoch')",
        CellType::Text,
        None,
        "The same in UTC, for people.",
    ),
    of(
        "seconds",
        "intervals.seconds",
        CellType::Integer,
        Some("s"),
        "How long it was.",
    ),
    of(
        "digest",
        "series.digest",
        CellType::Text,
        None,
        "The hash of the normalised text; NULL in the row of all that have none of their own.",
    ),
    of(
        "digest_text",
        "series.digest_text",
        CellType::Text,
        None,
        "The normalised text, cut behind 2 KiB.",
    ),
    of(
        "db",
        "nullif(series.db, '')",
        CellType::Text,
        None,
        "The default schema; NULL: none.",
    ),
    of(
        "account",
        "nullif(series.account, '')",
        CellType::Text,
        None,
        "The account of the statements.",
    ),
    of(
        "backend",
        "nullif(series.backend, '')",
        CellType::Text,
        None,
        "Where they ran; NULL: they reached no backend.",
    ),
    of(
        "count",
        "intervals.count",
        CellType::Integer,
        None,
        "How many ended in this interval.",
    ),
    of(
        "errors",
        "intervals.errors",
        CellType::Integer,
        None,
        "Of these, so many ended with an error.",
    ),
    of(
        "rows_sent",
        "intervals.rows_sent",
        CellType::Integer,
        None,
        "Rows of their results.",
    ),
    of(
        "rows_affected",
        "intervals.rows_affected",
        CellType::Integer,
        None,
        "Rows that they have changed, by the servers' word.",
    ),
    of(
        "bytes_in",
        "intervals.bytes_in",
        CellType::Integer,
        Some("bytes"),
        "What clients have sent.",
    ),
    of(
        "bytes_out",
        "intervals.bytes_out",
        CellType::Integer,
        Some("bytes"),
        "What they were answered.",
    ),
    of(
        "total_us",
        "intervals.proxy_us + intervals.queue_us + intervals.backend_us",
        CellType::Integer,
        Some("us"),
        "All of their time.",
    ),
    of(
        "backend_us",
        "intervals.backend_us",
        CellType::Integer,
        Some("us"),
        "Of it, at the backend.",
    ),
    of(
        "p50_us",
        "intervals.p50_us",
        CellType::Integer,
        Some("us"),
        "Half of them took no longer.",
    ),
    of(
        "p95_us",
        "intervals.p95_us",
        CellType::Integer,
        Some("us"),
        "95 of a hundred took no longer.",
    ),
    of(
        "p99_us",
        "intervals.p99_us",
        CellType::Integer,
        Some("us"),
        "99 of a hundred took no longer.",
    ),
    of(
        "max_us",
        "intervals.max_us",
        CellType::Integer,
        Some("us"),
        "The slowest, a quarter too slow at most.",
    ),
];

/// A column: its name, what it is made of, and what is to be known of it.
pub(super) const fn of(
    name: &'static str,
    made_of: &'static str,
    kind: CellType,
    unit: Option<&'static str>,
    about: &'static str,
) -> (&'static str, &'static str, ColumnFacts) {
    let facts = ColumnFacts {
        name,
        kind,
        unit,
        about,
    };
    (name, made_of, facts)
}

/// The view.
pub fn definition() -> String {
    let columns = COLUMNS.map(|(name, made_of, _)| format!("{made_of} AS \"{name}\""));
    format!(
        "CREATE VIEW {NAME} AS SELECT {} FROM intervals JOIN series ON series.id = intervals.series",
        columns.join(", ")
    )
}

impl Table for DigestHistory {
    fn schema(&self) -> Schema {
        Schema::Pilotfish
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "What digests have cost from interval to interval, kept in a file over restarts, if wanted."
    }

    fn asks(&self) -> Asks {
        Asks::Nothing
    }

    fn columns(&self) -> Vec<ColumnFacts> {
        COLUMNS.map(|(_, _, facts)| facts).to_vec()
    }

    fn home(&self) -> &'static str {
        HOME
    }

    /// None that could be put somewhere else: they are read where they are.
    fn rows(&self, _: &Material) -> Vec<Vec<Cell>> {
        Vec::new()
    }
}
