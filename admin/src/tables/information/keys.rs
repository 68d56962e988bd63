//! Which columns make a row of a table that one: what graphical clients need to change rows.

use crate::material::Material;
use crate::registry::TABLES;
use crate::sheet::{Asks, Cell, Schema, Sheet, Table, integer, text};

/// What servers call the key of a table.
const PRIMARY: &str = "PRIMARY";

/// Indexes, a row for each column.
pub static STATISTICS: Sheet<Part> = Sheet {
    schema: Schema::Information,
    name: "STATISTICS",
    about: "The keys of tables, a row for each column.",
    asks: Asks::Nothing,
    columns: &[
        text("TABLE_CATALOG", "Always def.", |_| "def".into()),
        text("TABLE_SCHEMA", "The schema.", |it| it.schema()),
        text("TABLE_NAME", "The table.", |it| it.table.name().into()),
        integer("NON_UNIQUE", "Always 0.", |_| 0_u32.into()),
        text("INDEX_SCHEMA", "The schema.", |it| it.schema()),
        text("INDEX_NAME", "Always PRIMARY.", |_| PRIMARY.into()),
        integer("SEQ_IN_INDEX", "Its place in the key, from 1.", |it| {
            it.place.into()
        }),
        text("COLUMN_NAME", "The column.", |it| it.column.into()),
        text("COLLATION", "Always A.", |_| "A".into()),
        integer("CARDINALITY", "Nothing here.", |_| Cell::Null),
        integer("SUB_PART", "Nothing here.", |_| Cell::Null),
        text("PACKED", "Nothing here.", |_| Cell::Null),
        text("NULLABLE", "Always empty.", |_| "".into()),
        text("INDEX_TYPE", "Always BTREE.", |_| "BTREE".into()),
        text("COMMENT", "Always empty.", |_| "".into()),
        text("INDEX_COMMENT", "Always empty.", |_| "".into()),
        text("IS_VISIBLE", "Always YES.", |_| "YES".into()),
        text("EXPRESSION", "Nothing here.", |_| Cell::Null),
    ],
    items: parts,
};

/// Keys, a row for each column.
pub static KEY_COLUMN_USAGE: Sheet<Part> = Sheet {
    schema: Schema::Information,
    name: "KEY_COLUMN_USAGE",
    about: "The keys of tables as constraints, a row for each column.",
    asks: Asks::Nothing,
    columns: &[
        text("CONSTRAINT_CATALOG", "Always def.", |_| "def".into()),
        text("CONSTRAINT_SCHEMA", "The schema.", |it| it.schema()),
        text("CONSTRAINT_NAME", "Always PRIMARY.", |_| PRIMARY.into()),
        text("TABLE_CATALOG", "Always def.", |_| "def".into()),
        text("TABLE_SCHEMA", "The schema.", |it| it.schema()),
        text("TABLE_NAME", "The table.", |it| it.table.name().into()),
        text("COLUMN_NAME", "The column.", |it| it.column.into()),
        integer("ORDINAL_POSITION", "Its place in the key, from 1.", |it| {
            it.place.into()
        }),
        integer("POSITION_IN_UNIQUE_CONSTRAINT", "Nothing here.", |_| {
            Cell::Null
        }),
        text("REFERENCED_TABLE_SCHEMA", "Nothing here.", |_| Cell::Null),
        text("REFERENCED_TABLE_NAME", "Nothing here.", |_| Cell::Null),
        text("REFERENCED_COLUMN_NAME", "Nothing here.", |_| Cell::Null),
    ],
    items: parts,
};

/// Keys, each once.
pub static TABLE_CONSTRAINTS: Sheet<Part> = Sheet {
    schema: Schema::Information,
    name: "TABLE_CONSTRAINTS",
    about: "The keys of tables, each once.",
    asks: Asks::Nothing,
    columns: &[
        text("CONSTRAINT_CATALOG", "Always def.", |_| "def".into()),
        text("CONSTRAINT_SCHEMA", "The schema.", |it| it.schema()),
        text("CONSTRAINT_NAME", "Always PRIMARY.", |_| PRIMARY.into()),
        text("TABLE_SCHEMA", "The schema.", |it| it.schema()),
        text("TABLE_NAME", "The table.", |it| it.table.name().into()),
        text("CONSTRAINT_TYPE", "Always PRIMARY KEY.", |_| {
            "PRIMARY KEY".into()
        }),
        text("ENFORCED", "Always YES.", |_| "YES".into()),
    ],
    items: |material| {
        let parts = parts(material).into_iter();
        parts.filter(|part| part.place == 1).collect()
    },
};

/// A column of a table's key.
pub struct Part {
    table: &'static dyn Table,
    column: &'static str,
    place: usize,
}

impl Part {
    fn schema(&self) -> Cell {
        self.table.schema().name().into()
    }
}

fn parts(_: &Material) -> Vec<Part> {
    let parts = TABLES.iter().flat_map(|table| {
        let columns = table.unique().iter().enumerate();
        columns.map(|(index, column)| Part {
            table: *table,
            column,
            place: index + 1,
        })
    });
    parts.collect()
}
