//! All tables of the admin ports.

use crate::table::{Schema, Table};
use crate::tables::*;

/// References to tables.
macro_rules! tables {
    ($($table:path),* $(,)?) => {
        &[$(&$table),*]
    };
}

/// Every table, in the order in which they are listed.
pub static TABLES: &[&dyn Table] = tables! {
    sessions::TABLE, proxy_connections::TABLE, backends::TABLE, pools::TABLE, admission::TABLE, lanes::TABLE,
    times::TABLE, definitions::TABLE, digests::TABLE, digest_times::TABLE, history::DIGEST_HISTORY,
    history::LOAD_HISTORY, slow_statements::TABLE, profiles::TABLE, profiling::TABLE, errors::TABLE,
    index_usage::TABLE, indexes::TABLE, unused_indexes::TABLE, full_scans::TABLE, index_suggestions::TABLE,
    plans::TABLE, replication::TABLE, fed_replicas::TABLE, change_readers::TABLE, schema_changes::TABLE,
    schema_versions::TABLE, events::TABLE, logs::TABLE, tracing::TABLE, rules::TABLE, routes::TABLE,
    host_errors::TABLE, accounts::TABLE, admin_accounts::TABLE, listeners::TABLE, kernel_sessions::TABLE,
    scripts::TABLE, script_metrics::TABLE, workers::TABLE, process::TABLE, settings::TABLE, proxy_config::TABLE,
    variables::TABLE, status::TABLE, help::TABLE, columns::TABLE, runtime_mysql_servers::TABLE,
    runtime_mysql_users::TABLE, runtime_mysql_query_rules::TABLE, stats_global::TABLE, stats_commands::TABLE,
    stats_connection_pool::TABLE, stats_processlist::TABLE, stats_query_digest::TABLE, information::SCHEMATA,
    information::TABLES, information::COLUMNS,
};

/// The table of a name, in any case; in a schema, if one is given.
pub fn table(schema: Option<Schema>, name: &str) -> Option<&'static dyn Table> {
    let mut tables = TABLES.iter().copied();
    tables.find(|table| {
        table.name().eq_ignore_ascii_case(name) && schema.is_none_or(|it| it == table.schema())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_name_is_one_table_and_each_of_its_columns_one_column() {
        let mut names = HashSet::new();
        for table in TABLES {
            // Unqualified names must be unique; names of the information schema are always qualified.
            let schema = Some(table.schema()).filter(|it| *it == Schema::Information);
            assert!(names.insert((schema, table.name())), "{}", table.name());
            let columns = table.columns();
            let unique: HashSet<_> = columns.iter().map(|it| it.name.to_lowercase()).collect();
            assert_eq!(unique.len(), columns.len(), "{}", table.name());
        }
    }

    #[test]
    fn every_description_is_a_sentence() {
        for table in TABLES {
            let columns = table.columns();
            let texts = columns.iter().map(|column| column.about);
            for about in texts.chain([table.about()]) {
                let is_sentence = about.ends_with('.') && about.len() > 5;
                assert!(is_sentence, "{}: {about:?}", table.name());
            }
        }
    }

    #[test]
    fn table_names_are_case_insensitive() {
        let found = table(None, "Sessions").map(|it| it.name());
        assert_eq!(found, Some("sessions"));
        assert!(table(Some(Schema::Stats), "sessions").is_none());
    }
}
