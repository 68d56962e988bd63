//! How the history of the load is shown: the columns of `load_history`, each with what it is made of in the database
//! that keeps it.

use super::view::{HOME, of};
use crate::material::Material;
use crate::table::CellType::{Integer, Text};
use crate::table::{Asks, Cell, ColumnFacts, Schema, Table};

/// The table's name.
pub const NAME: &str = "load_history";

/// See the module.
pub struct LoadHistory;

const US: Option<&str> = Some("us");

const COLUMNS: [(&str, &str, ColumnFacts); 14] = [
    of(
        "start",
        "start",
        Integer,
        Some("s"),
        "When the interval began, in seconds since 1970.",
    ),
    of(
        "time",
        "strftime('%Y-%m-%d %H:%M:%S', start, 'unixepoch')",
        Text,
        None,
        "The same in UTC, for people.",
    ),
    of(
        "seconds",
        "seconds",
        Integer,
        Some("s"),
        "The length of the interval.",
    ),
    of(
        "backend",
        "nullif(backend, '')",
        Text,
        None,
        "The backend; NULL: the row has the sums of the proxy.",
    ),
    of(
        "statements",
        "statements",
        Integer,
        None,
        "Statements that were answered in the interval.",
    ),
    of(
        "p50_us",
        "p50_us",
        Integer,
        US,
        "Half of the statements took this time or less at backends.",
    ),
    of(
        "p95_us",
        "p95_us",
        Integer,
        US,
        "95 of 100 statements took this time or less at backends.",
    ),
    of(
        "p99_us",
        "p99_us",
        Integer,
        US,
        "99 of 100 statements took this time or less at backends.",
    ),
    of(
        "waited_p99_us",
        "waited_p99_us",
        Integer,
        US,
        "99 of 100 statements waited this time or less in the proxy.",
    ),
    of(
        "sessions",
        "sessions",
        Integer,
        None,
        "Sessions at the end of the interval; NULL in rows of backends, or if a worker did not answer.",
    ),
    of(
        "running",
        "running",
        Integer,
        None,
        "The number of these sessions that executed a statement.",
    ),
    of(
        "pinned",
        "pinned",
        Integer,
        None,
        "The number of these sessions that kept a pooled connection.",
    ),
    of(
        "cpu_us",
        "cpu_us",
        Integer,
        US,
        "Processor time of the process in the interval; NULL in rows of backends.",
    ),
    of(
        "resident_bytes",
        "resident_bytes",
        Integer,
        Some("bytes"),
        "Memory of the process at the end of the interval; NULL in rows of backends.",
    ),
];

/// The view.
pub fn definition() -> String {
    let columns = COLUMNS.map(|(name, made_of, _)| format!("{made_of} AS \"{name}\""));
    let columns = columns.join(", ");
    format!("CREATE VIEW IF NOT EXISTS {NAME} AS SELECT {columns} FROM load")
}

impl Table for LoadHistory {
    fn schema(&self) -> Schema {
        Schema::Pilotfish
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "The load of the proxy and of its backends, interval by interval. The charts of the dashboard show it."
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

    /// None: the rows are read where they are kept.
    fn rows(&self, _: &Material) -> Vec<Vec<Cell>> {
        Vec::new()
    }
}
