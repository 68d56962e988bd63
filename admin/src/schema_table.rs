//! A table of the history of schemas.

use crate::homes::SCHEMAS;
use crate::material::Material;
use crate::table::{Asks, Cell, ColumnFacts, Schema, Table};

/// A view of the history of schemas.
pub struct SchemaTable {
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub about: &'static str,
    /// Its columns, as the view has them.
    pub columns: &'static [ColumnFacts],
}

impl Table for SchemaTable {
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
        self.columns.to_vec()
    }

    fn home(&self) -> &'static str {
        SCHEMAS
    }

    /// None that could be put somewhere else: they are read where they are.
    fn rows(&self, _: &Material) -> Vec<Vec<Cell>> {
        Vec::new()
    }
}
