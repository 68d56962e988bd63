//! Indexes that are used, as MySQL Proxy's author showed them.

use crate::table::{Asks, Schema, TableDefinition, columns};
use advisor::{IndexName, IndexUse};

/// See the module.
pub static TABLE: TableDefinition<IndexUsageRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "index_usage",
    about: "Indexes that statements use, by the servers' EXPLAIN, as MySQL Proxy 0.5 showed them; indexes has \
            more of each. Empty without statement_stats.index_usage.",
    asks: Asks::Insight,
    columns: columns! {
        text "name", "Schema, table and index.",
            |(name, _)| format!("{}.{}.{}", name.schema, name.table, name.index).into();
        integer "used", "Executions of the statements whose digests use it.", |(_, index)| index.used.into();
        measure "max_used_key_len" ["bytes"], "So much of it is compared with values, at most.",
            |(_, index)| index.length_max.into();
        text "avg_used_key_len", "The same on the average of all executions, in bytes.",
            |(_, index)| index.length_average().into();
    },
    items: |input| input.index_usage().used(),
};

type IndexUsageRow = (IndexName, IndexUse);
