//! Tables whose rows are in an SQLite file and are read there: the history of digests, and that of schemas.

use crate::kept_table::{HISTORY, SCHEMAS};
use crate::registry::TABLES;
use crate::table_input::TableInput;

/// An SQLite file that is attached while a statement runs.
pub struct KeptDatabase {
    /// The name it is attached under.
    pub home: &'static str,
    source: fn(&TableInput) -> Option<String>,
}

/// All such files.
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
    /// The file that is attached under this name.
    pub fn named(home: &str) -> Option<&'static Self> {
        KEPT.iter().find(|it| it.home == home)
    }

    /// The path of the file, for SQLite; `None` if there is no file yet.
    pub fn source(&self, input: &TableInput) -> Option<String> {
        (self.source)(input)
    }

    /// Whether a read is made by a view in this file that is a table of the registry.
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
