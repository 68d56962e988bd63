//! Which tables SQLite knows in a schema of another name than clients do: those that are read where they are kept.

use history::{DIGEST_HISTORY, LOAD_HISTORY};

/// The name of the history of digests and of the load where a statement runs.
pub const HISTORY: &str = "history";

/// The same of the history of schemas.
pub const SCHEMAS: &str = "schemas";

/// Tables, and where SQLite knows them.
static HOMES: [(&str, &str); 4] = [
    (DIGEST_HISTORY.name, HISTORY),
    (LOAD_HISTORY.name, HISTORY),
    ("schema_changes", SCHEMAS),
    ("schema_versions", SCHEMAS),
];

/// Where SQLite knows a table of Pilotfish's schema, if not there.
pub fn home_of(table: &str) -> Option<&'static str> {
    let mut homes = HOMES.iter();
    let found = homes.find(|(name, _)| name.eq_ignore_ascii_case(table));
    found.map(|(_, home)| *home)
}
