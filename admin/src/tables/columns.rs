//! What each column of each table means.

use crate::registry::TABLES;
use crate::table::{Asks, ColumnFacts, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<ColumnRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "columns",
    about: "The meaning of each column of each table.",
    asks: Asks::Nothing,
    columns: columns! {
        text "table_name", "The table.", |it| it.table.into();
        text "column_name", "The column.", |it| it.column.name.into();
        text "type", "integer or text.", |it| it.column.kind.mysql().into();
        text "unit", "The unit of a number: s (seconds), us (microseconds), bytes.", |it| it.column.unit.into();
        text "about", "The meaning of the column.", |it| it.column.about.into();
    },
    items,
};

/// One column.
pub struct ColumnRow {
    table: &'static str,
    column: ColumnFacts,
}

fn items(_: &TableInput) -> Vec<ColumnRow> {
    let own = |schema| schema != Schema::Information;
    let tables = TABLES.iter().filter(|table| own(table.schema()));
    let columns = tables.flat_map(|table| {
        let columns = table.columns().into_iter();
        columns.map(|column| ColumnRow {
            table: table.name(),
            column,
        })
    });
    columns.collect()
}
