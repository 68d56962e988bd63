//! Schemas, tables and columns in the form of servers' `information_schema`, which client libraries and SHOW query.

use crate::registry::TABLES as ALL;
use crate::table::{Asks, Cell, CellType, ColumnFacts, Schema, Table, TableDefinition, columns};
use crate::table_input::TableInput;

/// The engine that the tables are shown with.
pub const ENGINE: &str = "PILOTFISH";

/// The schemas.
pub static SCHEMATA: TableDefinition<Schema> = TableDefinition {
    schema: Schema::Information,
    name: "SCHEMATA",
    about: "The schemas, as servers show them.",
    asks: Asks::Nothing,
    columns: columns! {
        text "CATALOG_NAME", "Always def.", |_| "def".into();
        text "SCHEMA_NAME", "The schema.", |it| it.name().into();
        text "DEFAULT_CHARACTER_SET_NAME", "Always utf8mb4.", |_| "utf8mb4".into();
        text "DEFAULT_COLLATION_NAME", "Always utf8mb4_bin.", |_| "utf8mb4_bin".into();
        text "SQL_PATH", "Nothing here.", |_| Cell::Null;
        text "DEFAULT_ENCRYPTION", "Always NO.", |_| "NO".into();
    },
    items: |_| Schema::ALL.to_vec(),
};

/// The tables.
pub static TABLES: TableDefinition<&'static dyn Table> = TableDefinition {
    schema: Schema::Information,
    name: "TABLES",
    about: "The tables, as servers show them.",
    asks: Asks::Nothing,
    columns: columns! {
        text "TABLE_CATALOG", "Always def.", |_| "def".into();
        text "TABLE_SCHEMA", "The schema.", |it| it.schema().name().into();
        text "TABLE_NAME", "The table.", |it| it.name().into();
        text "TABLE_TYPE", "BASE TABLE; of the information schema SYSTEM VIEW.",
            |it| match is_of_servers(*it) { true => "SYSTEM VIEW".into(), false => "BASE TABLE".into() };
        text "ENGINE", "PILOTFISH; of the information schema nothing.",
            |it| (!is_of_servers(*it)).then_some(ENGINE).into();
        integer "VERSION", "Always 10.", |_| 10_u32.into();
        text "ROW_FORMAT", "Nothing here.", |_| Cell::Null;
        integer "TABLE_ROWS", "Nothing here.", |_| Cell::Null;
        integer "AVG_ROW_LENGTH", "Nothing here.", |_| Cell::Null;
        integer "DATA_LENGTH", "Nothing here.", |_| Cell::Null;
        integer "MAX_DATA_LENGTH", "Nothing here.", |_| Cell::Null;
        integer "INDEX_LENGTH", "Nothing here.", |_| Cell::Null;
        integer "DATA_FREE", "Nothing here.", |_| Cell::Null;
        integer "AUTO_INCREMENT", "Nothing here.", |_| Cell::Null;
        text "CREATE_TIME", "Nothing here.", |_| Cell::Null;
        text "UPDATE_TIME", "Nothing here.", |_| Cell::Null;
        text "CHECK_TIME", "Nothing here.", |_| Cell::Null;
        text "TABLE_COLLATION", "Always utf8mb4_bin.", |_| "utf8mb4_bin".into();
        integer "CHECKSUM", "Nothing here.", |_| Cell::Null;
        text "CREATE_OPTIONS", "Always empty.", |_| "".into();
        text "TABLE_COMMENT", "A sentence about it.", |it| it.about().into();
    },
    items: |_| ALL.to_vec(),
};

/// The columns.
pub static COLUMNS: TableDefinition<InformationColumnRow> = TableDefinition {
    schema: Schema::Information,
    name: "COLUMNS",
    about: "The columns, as servers show them.",
    asks: Asks::Nothing,
    columns: columns! {
        text "TABLE_CATALOG", "Always def.", |_| "def".into();
        text "TABLE_SCHEMA", "The schema.", |it| it.table.schema().name().into();
        text "TABLE_NAME", "The table.", |it| it.table.name().into();
        text "COLUMN_NAME", "The column.", |it| it.column.name.into();
        integer "ORDINAL_POSITION", "Its place in the table, from 1.", |it| it.position.into();
        text "COLUMN_DEFAULT", "Nothing here.", |_| Cell::Null;
        text "IS_NULLABLE", "Always YES.", |_| "YES".into();
        text "DATA_TYPE", "bigint or text.", |it| it.column.kind.mysql().into();
        integer "CHARACTER_MAXIMUM_LENGTH", "Of texts, in characters.", |it| it.of_text(65_535_u32);
        integer "CHARACTER_OCTET_LENGTH", "Of texts, in bytes.", |it| it.of_text(65_535_u32);
        integer "NUMERIC_PRECISION", "Of numbers, in digits.", |it| it.of_number(19);
        integer "NUMERIC_SCALE", "Of numbers, always 0.", |it| it.of_number(0);
        integer "DATETIME_PRECISION", "Nothing here.", |_| Cell::Null;
        text "CHARACTER_SET_NAME", "Of texts, always utf8mb4.", |it| it.of_text("utf8mb4");
        text "COLLATION_NAME", "Of texts, always utf8mb4_bin.", |it| it.of_text("utf8mb4_bin");
        text "COLUMN_TYPE", "The same as DATA_TYPE here.", |it| it.column.kind.mysql().into();
        text "COLUMN_KEY", "Always empty.", |_| "".into();
        text "EXTRA", "Always empty.", |_| "".into();
        text "PRIVILEGES", "The commands that are allowed on the table's rows.",
            |it| match it.table.alterable() { Some(_) => "select,insert,update".into(), None => "select".into() };
        text "COLUMN_COMMENT", "A sentence about it.", |it| it.column.about.into();
        text "GENERATION_EXPRESSION", "Always empty.", |_| "".into();
        integer "SRS_ID", "Nothing here.", |_| Cell::Null;
    },
    items: columns,
};

/// One column.
pub struct InformationColumnRow {
    table: &'static dyn Table,
    position: usize,
    column: ColumnFacts,
}

impl InformationColumnRow {
    fn of_text(&self, fact: impl Into<Cell>) -> Cell {
        match self.column.kind {
            CellType::Text => fact.into(),
            CellType::Integer | CellType::Fraction => Cell::Null,
        }
    }

    fn of_number(&self, fact: u32) -> Cell {
        match self.column.kind {
            CellType::Integer | CellType::Fraction => fact.into(),
            CellType::Text => Cell::Null,
        }
    }
}

/// Whether the table exists only because servers have it.
fn is_of_servers(table: &dyn Table) -> bool {
    table.schema() == Schema::Information
}

fn columns(_: &TableInput) -> Vec<InformationColumnRow> {
    let columns = ALL.iter().flat_map(|table| {
        let columns = table.columns().into_iter().enumerate();
        columns.map(|(index, column)| InformationColumnRow {
            table: *table,
            position: index + 1,
            column,
        })
    });
    columns.collect()
}
