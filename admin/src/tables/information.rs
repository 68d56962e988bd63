//! What graphical clients ask of schemas, tables and columns.

use crate::material::Material;
use crate::registry::TABLES as ALL;
use crate::sheet::{Asks, Cell, ColumnFacts, Schema, Sheet, Table, integer, text};

/// The schemas.
pub static SCHEMATA: Sheet<Schema> = Sheet {
    schema: Schema::Information,
    name: "SCHEMATA",
    about: "The schemas, as servers show them.",
    asks: Asks::Nothing,
    columns: &[
        text("CATALOG_NAME", "Always def.", |_| "def".into()),
        text("SCHEMA_NAME", "The schema.", |it| it.name().into()),
        text("DEFAULT_CHARACTER_SET_NAME", "Always utf8mb4.", |_| {
            "utf8mb4".into()
        }),
        text("DEFAULT_COLLATION_NAME", "Always utf8mb4_bin.", |_| {
            "utf8mb4_bin".into()
        }),
    ],
    items: |_| Schema::ALL.to_vec(),
};

/// The tables.
pub static TABLES: Sheet<&'static dyn Table> = Sheet {
    schema: Schema::Information,
    name: "TABLES",
    about: "The tables, as servers show them.",
    asks: Asks::Nothing,
    columns: &[
        text("TABLE_CATALOG", "Always def.", |_| "def".into()),
        text("TABLE_SCHEMA", "The schema.", |it| {
            it.schema().name().into()
        }),
        text("TABLE_NAME", "The table.", |it| it.name().into()),
        text("TABLE_TYPE", "Always SYSTEM VIEW.", |_| {
            "SYSTEM VIEW".into()
        }),
        text("ENGINE", "Nothing here.", |_| Cell::Null),
        text("TABLE_COMMENT", "A sentence about it.", |it| {
            it.about().into()
        }),
    ],
    items: |_| ALL.to_vec(),
};

/// The columns.
pub static COLUMNS: Sheet<Item> = Sheet {
    schema: Schema::Information,
    name: "COLUMNS",
    about: "The columns, as servers show them.",
    asks: Asks::Nothing,
    columns: &[
        text("TABLE_CATALOG", "Always def.", |_| "def".into()),
        text("TABLE_SCHEMA", "The schema.", |it| {
            it.table.schema().name().into()
        }),
        text("TABLE_NAME", "The table.", |it| it.table.name().into()),
        text("COLUMN_NAME", "The column.", |it| it.column.name.into()),
        integer(
            "ORDINAL_POSITION",
            "Its place in the table, from 1.",
            |it| it.place.into(),
        ),
        text("COLUMN_DEFAULT", "Nothing here.", |_| Cell::Null),
        text("IS_NULLABLE", "Always YES.", |_| "YES".into()),
        text("DATA_TYPE", "bigint or text.", |it| {
            it.column.kind.mysql().into()
        }),
        text("COLUMN_TYPE", "The same here.", |it| {
            it.column.kind.mysql().into()
        }),
        integer("CHARACTER_MAXIMUM_LENGTH", "Nothing here.", |_| Cell::Null),
        integer("CHARACTER_OCTET_LENGTH", "Nothing here.", |_| Cell::Null),
        integer("NUMERIC_PRECISION", "Nothing here.", |_| Cell::Null),
        integer("NUMERIC_SCALE", "Nothing here.", |_| Cell::Null),
        integer("DATETIME_PRECISION", "Nothing here.", |_| Cell::Null),
        text("CHARACTER_SET_NAME", "Nothing here.", |_| Cell::Null),
        text("COLLATION_NAME", "Nothing here.", |_| Cell::Null),
        text("GENERATION_EXPRESSION", "Always empty.", |_| "".into()),
        text("COLUMN_KEY", "Always empty.", |_| "".into()),
        text("EXTRA", "Always empty.", |_| "".into()),
        text("COLUMN_COMMENT", "A sentence about it.", |it| {
            it.column.about.into()
        }),
    ],
    items: columns,
};

/// One column.
pub struct Item {
    table: &'static dyn Table,
    place: usize,
    column: ColumnFacts,
}

fn columns(_: &Material) -> Vec<Item> {
    let columns = ALL.iter().flat_map(|table| {
        let columns = table.columns().into_iter().enumerate();
        columns.map(|(index, column)| Item {
            table: *table,
            place: index + 1,
            column,
        })
    });
    columns.collect()
}
