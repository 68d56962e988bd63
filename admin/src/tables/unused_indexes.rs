//! Indexes that no statement has used.

use stats::{Hidden, Index};

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;
use advisor::IndexName;

/// See the module.
pub static TABLE: TableDefinition<UnusedIndexRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "unused_indexes",
    about: "Indexes of the schemas in which statements were explained that none of them uses, those of tables \
            that are read most first. Empty without statement_stats.index_usage.",
    asks: Asks::Insight,
    columns: columns! {
        text "cluster", "Its cluster.", |it| (&*it.name.cluster).into();
        text "schema_name", "Its schema.", |it| (&it.name.schema).into();
        text "table_name", "Its table.", |it| (&it.name.table).into();
        text "index_name", "Its name.", |it| (&it.name.index).into();
        text "column_names", "Its columns, in their order.", |it| it.facts.columns().into();
        text "kept_for",
            "The constraint that needs the index: primary key, unique, foreign key; NULL: none that is known.",
            |it| kept_for(&it.facts).into();
        text "hidden", "invisible, ignored: no statement is planned with it; NULL: any may be.",
            |it| it.facts.hidden.map(Hidden::name).into();
        integer "table_digests",
            "How many digests that were explained read its table: without any, nothing is known of it.",
            |it| it.table_digests.into();
    },
    items,
};

/// One index.
pub struct UnusedIndexRow {
    name: IndexName,
    facts: Index,
    table_digests: u64,
}

/// The purpose of an index besides finding rows.
fn kept_for(index: &Index) -> Option<&'static str> {
    match () {
        () if index.name == "PRIMARY" => Some("primary key"),
        () if index.is_unique => Some("unique"),
        () if index.serves_foreign_key => Some("foreign key"),
        () => None,
    }
}

fn items(input: &TableInput) -> Vec<UnusedIndexRow> {
    let unused = input.index_usage().indexes.into_iter();
    let unused = unused.filter(|(_, index)| index.used == 0);
    let mut items: Vec<_> = unused
        .filter_map(|(name, index)| {
            Some(UnusedIndexRow {
                name,
                facts: index.facts?,
                table_digests: index.table_digests,
            })
        })
        .collect();
    items.sort_by_key(|it| {
        (
            // Hidden indexes come last: no statement can use them, so the lack of use says nothing.
            it.facts.hidden.is_some(),
            std::cmp::Reverse(it.table_digests),
            kept_for(&it.facts).is_some(),
        )
    });
    items
}
