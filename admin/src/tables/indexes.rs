//! Indexes, used or unused.

use stats::{Hidden, Index};

use crate::table::{Asks, Cell, Schema, TableDefinition, columns};
use crate::table_input::TableInput;
use advisor::{IndexName, IndexUse};

/// See the module.
pub static TABLE: TableDefinition<IndexRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "indexes",
    about: "Indexes of the schemas in which statements were explained, and what uses them; the most used \
            first. Empty without statement_stats.index_usage.",
    asks: Asks::Insight,
    columns: columns! {
        text "cluster", "Its cluster.", |it| (&*it.name.cluster).into();
        text "schema_name", "Its schema.", |it| (&it.name.schema).into();
        text "table_name", "Its table.", |it| (&it.name.table).into();
        text "index_name", "Its name.", |it| (&it.name.index).into();
        text "column_names", "Its columns, in their order; NULL: no account that was asked may see it.",
            |it| it.facts(|facts| facts.columns().into());
        integer "is_unique", "Whether no two rows may have the same values.",
            |it| it.facts(|facts| facts.is_unique.into());
        text "type", "BTREE, FULLTEXT, SPATIAL, HASH.", |it| it.facts(|facts| (&facts.kind).into());
        text "hidden", "invisible, ignored: no statement is planned with it; NULL: any may be.",
            |it| it.facts(|facts| facts.hidden.map(Hidden::name).into());
        integer "used", "Executions of the statements whose digests use it.", |it| it.index.used.into();
        integer "digests", "How many digests use it.", |it| it.index.digests.into();
        integer "table_digests", "How many digests that were explained read its table.",
            |it| it.index.table_digests.into();
        measure "max_used_key_len" ["bytes"],
            "So much of it is compared with values, at most; NULL: it is not used, or that is not said.",
            |it| it.index.length_max.into();
        text "avg_used_key_len", "The same on the average of all executions, in bytes.",
            |it| it.index.length_average().into();
        text "last_explained", "When a statement that uses it was explained last, in UTC.", |it| it.last.clone().into();
    },
    items,
};

/// One index.
pub struct IndexRow {
    name: IndexName,
    index: IndexUse,
    last: Option<String>,
}

impl IndexRow {
    fn facts(&self, value: impl FnOnce(&Index) -> Cell) -> Cell {
        self.index.facts.as_ref().map_or(Cell::Null, value)
    }
}

fn items(input: &TableInput) -> Vec<IndexRow> {
    let indexes = input.index_usage().indexes.into_iter();
    let mut items: Vec<_> = indexes
        .map(|(name, index)| IndexRow {
            last: index.last.map(|at| input.statement_stats.time(at)),
            name,
            index,
        })
        .collect();
    items.sort_by_key(|it| std::cmp::Reverse(it.index.used));
    items
}
