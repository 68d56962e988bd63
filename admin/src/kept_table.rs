//! A table whose rows are in an SQLite file.

use crate::table::{Asks, Cell, ColumnFacts, Schema, Table};
use crate::table_input::TableInput;

/// The name under which the history of digests and load is attached.
pub const HISTORY: &str = "history";

/// The name under which the history of schemas is attached.
pub const SCHEMAS: &str = "schemas";

/// A view in an SQLite file that is attached while a statement reads it.
pub struct KeptTable {
    /// The name under which the file is attached.
    pub home: &'static str,
    /// Its name.
    pub name: &'static str,
    /// A sentence that describes it.
    pub about: &'static str,
    /// Its columns, which are those of the view.
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

    /// No rows: a statement reads them in their file.
    fn rows(&self, _: &TableInput) -> Vec<Vec<Cell>> {
        Vec::new()
    }
}
