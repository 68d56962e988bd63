//! Tables whose rows are kept in a database of SQLite's and read where they are: the history of digests, that of schemas.

use crate::kept_table::{HISTORY, SCHEMAS};
use crate::registry::TABLES;
use crate::table_input::TableInput;

/// A database that is attached while a statement runs.
pub struct KeptDatabase {
    /// Its name then.
    pub home: &'static str,
    source: fn(&TableInput) -> Option<String>,
}

/// All of them.
pub static KEPT: [KeptDatabase; 2] = [
    KeptDatabase {
        home: HISTORY,
        source: |input| input.port.history.source.clone(),
    },
    KeptDatabase {
        home: SCHEMAS,
        source: |input| input.port.streams.source(),
    },
];

impl KeptDatabase {
    /// That of this name.
    pub fn named(home: &str) -> Option<&'static Self> {
        KEPT.iter().find(|it| it.home == home)
    }

    /// As SQLite is told where it is; none: there is nothing yet.
    pub fn source(&self, input: &TableInput) -> Option<String> {
        (self.source)(input)
    }

    /// Whether a view in it, which is a table of the registry, reads something for a statement.
    pub fn is_read_by(&self, accessor: Option<&str>) -> bool {
        let mut views = TABLES.iter().filter(|table| table.home() == self.home);
        accessor.is_some_and(|accessor| views.any(|view| view.name() == accessor))
    }
}

#[cfg(test)]
mod tests {
    use crate::table::Table;
    use crate::tables::{schema_changes, schema_versions};

    #[test]
    fn the_history_of_schemas_has_these_columns() {
        let tables = [
            (&schema_changes::TABLE, replication::CHANGES),
            (&schema_versions::TABLE, replication::VERSIONS),
        ];
        for (table, (view, columns)) in tables {
            assert_eq!(table.name, view);
            let names: Vec<_> = table.columns().iter().map(|it| it.name).collect();
            assert_eq!(names, columns);
        }
    }
}
