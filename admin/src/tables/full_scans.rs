//! Tables that statements read in full.

use crate::table::{Asks, Schema, TableDefinition, columns, text_or_null};
use crate::tables::digests::hexadecimal;
use advisor::FullScan;

/// See the module.
pub static TABLE: TableDefinition<FullScan> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "full_scans",
    about: "Statements, by digest, that read a whole table, or the whole of an index: those that look at most \
            rows first. Empty without statement_stats.index_usage.",
    asks: Asks::Insight,
    columns: columns! {
        text "digest", "As in digests.", |it| hexadecimal(it.explained.plan.digest).into();
        text "digest_text", "The normalised text.", |it| (&*it.explained.plan.text).into();
        text "db", "The default schema; NULL: none.", |it| it.explained.schema().into();
        text "cluster", "The cluster that runs them.", |it| (&*it.explained.plan.cluster).into();
        text "schema_name", "The schema of the table.", |it| (&it.table.0).into();
        text "table_name", "The table.", |it| (&it.table.1).into();
        text "type", "ALL: the table is read; index: an index from its first entry to its last.",
            |it| it.line.access.clone().into();
        text "index_name", "Which index.", |it| it.line.keys.first().map(|(name, _)| name.clone()).into();
        integer "row_count", "About how many rows, by EXPLAIN.", |it| it.line.rows.into();
        integer "count", "How often the statements have run.", |it| it.explained.executions.into();
        integer "rows_total", "Both multiplied.", |it| it.rows().into();
        text "column_names",
            "Columns of the table by which they look for rows, as an index could have them; NULL: none are known.",
            |it| text_or_null(&it.line.columns.join(", "));
        text "extra", "The column Extra of EXPLAIN.", |it| it.line.extra.clone().into();
    },
    items: |input| input.index_usage().scans,
};
