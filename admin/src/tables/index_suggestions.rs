//! Indexes that could be dropped, and indexes that are missing.

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::tables::digests::hexadecimal;
use advisor::{Suggestion, suggestions};

/// See the module.
pub static TABLE: TableDefinition<Suggestion> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "index_suggestions",
    about: "Indexes that statements lack, and indexes whose work others do: to be thought about, not to be \
            followed blindly. Empty without statement_stats.index_usage.",
    asks: Asks::Insight,
    columns: columns! {
        text "suggestion",
            "`add`: statements look for rows in a whole table. `drop duplicate`: another index has the same columns. \
             `drop prefix`: another index begins with its columns. `show`: the statements may not use an index that \
             exists.", |it| it.advice.name().into();
        text "cluster", "The cluster.", |it| (&*it.cluster).into();
        text "schema_name", "The schema.", |it| (&it.schema).into();
        text "table_name", "The table.", |it| (&it.table).into();
        text "index_name", "The index that could go, or be shown.", |it| it.index.clone().into();
        text "column_names", "Its columns, or those of the one that is lacking.", |it| (&it.columns).into();
        text "because", "Why that is suggested.", |it| (&it.because).into();
        text "statement", "The statement that carries the suggestion out; the proxy never executes it.",
            |it| (&it.statement).into();
        integer "rows_total", "About so many rows were looked at for want of it.", |it| it.rows.into();
        text "digest", "The digest that looked at most of them.", |it| it.digest.map(hexadecimal).into();
    },
    items: |input| suggestions(&input.index_usage()),
};
