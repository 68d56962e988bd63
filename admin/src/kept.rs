//! Tables whose rows are kept in a database of SQLite's and read where they are: the history of digests, that of schemas.

use crate::homes::HISTORY;
pub use crate::homes::SCHEMAS;
use crate::table_input::TableInput;
use crate::tables::{history, schema_changes, schema_versions};

/// A database that is attached while a statement runs.
pub struct KeptDatabase {
    /// Its name then.
    pub home: &'static str,
    /// The views in it that are tables of the registry.
    views: &'static [&'static str],
    source: fn(&TableInput) -> Option<String>,
}

/// All of them.
pub static KEPT: [KeptDatabase; 2] = [
    KeptDatabase {
        home: HISTORY,
        views: &[history::DIGEST_HISTORY.name, history::LOAD_HISTORY.name],
        source: |input| input.port.history.source.clone(),
    },
    KeptDatabase {
        home: SCHEMAS,
        views: &[schema_changes::TABLE.name, schema_versions::TABLE.name],
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

    /// Whether a view in it reads something for a statement.
    pub fn is_read_by(&self, accessor: Option<&str>) -> bool {
        accessor.is_some_and(|accessor| self.views.contains(&accessor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::homes::home_of;
    use crate::table::Table;

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
            assert_eq!(home_of(view), Some(table.home()));
        }
    }
}
