//! Which tables SQLite knows in a schema of another name than clients do: those that are read where they are kept.

use crate::history::load_view;
use crate::history::view::{HOME, NAME};

/// The name of the history of schemas where a statement runs.
pub const SCHEMAS: &str = "schemas";

/// Tables, and where SQLite knows them.
const HOMES: [(&str, &str); 4] = [
    (NAME, HOME),
    (load_view::NAME, HOME),
    ("schema_changes", SCHEMAS),
    ("schema_versions", SCHEMAS),
];

/// Where SQLite knows a table of Pilotfish's schema, if not there.
pub fn home_of(table: &str) -> Option<&'static str> {
    let mut homes = HOMES.iter();
    let found = homes.find(|(name, _)| name.eq_ignore_ascii_case(table));
    found.map(|(_, home)| *home)
}
