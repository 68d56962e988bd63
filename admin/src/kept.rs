//! Tables whose rows are kept in a database of SQLite's and read where they are: the history of digests, that of schemas.

use crate::history;
pub use crate::homes::SCHEMAS;
use crate::material::Material;
use crate::table::{Asks, Cell, ColumnFacts, Schema, Table};
use crate::tables::{schema_changes, schema_versions};

/// A database that is attached while a statement runs.
pub struct KeptDatabase {
    /// Its name then.
    pub home: &'static str,
    /// The views in it that are tables of the registry.
    views: &'static [&'static str],
    source: fn(&Material) -> Option<String>,
}

/// All of them.
pub static KEPT: [KeptDatabase; 2] = [
    KeptDatabase {
        home: history::view::HOME,
        views: &[history::view::NAME, history::load_view::NAME],
        source: |material| material.port.history.source.clone(),
    },
    KeptDatabase {
        home: SCHEMAS,
        views: &[schema_changes::TABLE.name, schema_versions::TABLE.name],
        source: |material| material.port.streams.source(),
    },
];

impl KeptDatabase {
    /// That of this name.
    pub fn named(home: &str) -> Option<&'static Self> {
        KEPT.iter().find(|it| it.home == home)
    }

    /// As SQLite is told where it is; none: there is nothing yet.
    pub fn source(&self, material: &Material) -> Option<String> {
        (self.source)(material)
    }

    /// Whether a view in it reads something for a statement.
    pub fn is_read_by(&self, accessor: Option<&str>) -> bool {
        accessor.is_some_and(|accessor| self.views.contains(&accessor))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::home_of;

    #[test]
    fn the_history_of_schemas_has_these_columns() {
        let tables = [
            (&schema_changes::TABLE, replication::CHANGES),
            (&schema_versions::TABLE, replication::VERSIONS),
        ];
        for (table, (view, columns)) in tables {
            assert_eq!(table.name, view);
            let names: Vec<_> = table.columns.iter().map(|it| it.name).collect();
            assert_eq!(names, columns);
            assert_eq!(home_of(view), Some(table.home()));
        }
    }
}
