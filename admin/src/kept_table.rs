//! A table whose rows are kept in a database of SQLite's.

use crate::table::{Asks, Cell, ColumnFacts, Schema, Table};
use crate::table_input::TableInput;

/// The name of the history of digests and of the load where a statement runs.
pub const HISTORY: &str = "history";

/// The same of the history of schemas.
pub const SCHEMAS: &str = "schemas";

/// A view in a database that is attached while a statement reads it.
pub struct KeptTable {
    /// The name of the database in a statement.
    pub home: &'static str,
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub about: &'static str,
    /// Its columns, as the view has them.
    pub columns: fn() -> Vec<ColumnFacts>,
}

impl Table for KeptTable {
    fn schema(&self) -> Schema {
        Schema::Pilotfish
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn asks(&self) -> Asks {
        Asks::Nothing
    }

    fn columns(&self) -> Vec<ColumnFacts> {
        (self.columns)()
    }

    fn home(&self) -> &'static str {
        self.home
    }

    /// None: a statement reads the rows in their database.
    fn rows(&self, _: &TableInput) -> Vec<Vec<Cell>> {
        Vec::new()
    }
}
