//! Columns of results, as far as they follow from tables.

use std::rc::Rc;

use wire::column::{ColumnDefinition, ColumnType};

use super::ast::{ColumnKind, Name};
use super::result_type::ResultType;
use super::table::{Column, Table};

const NOT_NULL: u16 = ColumnDefinition::NOT_NULL;
const UNSIGNED: u16 = ColumnDefinition::UNSIGNED;
const BINARY: u16 = ColumnDefinition::BINARY;
const PRIMARY_KEY: u16 = 2;
const BLOB: u16 = 16;
const AUTO_INCREMENT: u16 = 0x200;
const NO_DEFAULT: u16 = 0x1000;
const PART_OF_KEY: u16 = 0x4000;

/// A column of a result.
#[derive(Clone, Debug)]
pub struct ResultColumn {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: ResultType,
    /// The schema, the table as the statement calls it, the table's and the column's own names.
    pub origin: Option<Rc<[Name; 4]>>,
}

impl ResultColumn {
    /// A column that no table has.
    pub fn new(name: impl Into<Name>, kind: ResultType) -> Self {
        Self {
            name: name.into(),
            kind,
            origin: None,
        }
    }

    /// A column of a table, which the statement calls `alias`.
    pub fn of_table(table: &Table, alias: &Name, column: &Column, title: &Name) -> Self {
        let shape = &table.shape;
        let names = [
            Rc::clone(&shape.schema),
            Rc::clone(alias),
            Rc::clone(&shape.name),
            Rc::clone(&column.name),
        ];
        Self {
            name: Rc::clone(title),
            kind: type_of_column(table, column),
            origin: Some(Rc::new(names)),
        }
    }
}

/// The type of a table's column.
pub fn type_of_column(table: &Table, column: &Column) -> ResultType {
    let mut flags = 0;
    let is_key = table.shape.key.iter().any(|it| {
        table
            .shape
            .columns
            .get(*it)
            .is_some_and(|it| it.name == column.name)
    });
    if column.not_null {
        flags |= NOT_NULL;
    }
    if is_key {
        flags |= PRIMARY_KEY | PART_OF_KEY;
    }
    match column.auto_increment {
        true => flags |= AUTO_INCREMENT,
        false if column.not_null && column.default.is_none() => flags |= NO_DEFAULT,
        false => {}
    }
    match column.kind {
        ColumnKind::Integer(bytes, unsigned) => {
            let (kind, length) = match bytes {
                1 => (ColumnType::TINY, 4),
                2 => (ColumnType::SHORT, 6),
                4 => (ColumnType::LONG, 11),
                _ => (ColumnType::LONGLONG, 20),
            };
            let flags = if unsigned { flags | UNSIGNED } else { flags };
            ResultType::new(kind, flags, length)
        }
        ColumnKind::Decimal(digits, scale) => ResultType {
            kind: ColumnType::NEWDECIMAL,
            flags,
            length: u32::from(digits) + 2,
            decimals: scale,
        },
        ColumnKind::Varchar(length) => ResultType::text(flags, length),
        ColumnKind::Varbinary(length) => {
            ResultType::new(ColumnType::VAR_STRING, flags | BINARY, length)
        }
        ColumnKind::Text => ResultType::new(ColumnType::BLOB, flags | BLOB, 262_140),
        ColumnKind::Blob => ResultType::new(ColumnType::BLOB, flags | BLOB | BINARY, 65_535),
    }
}
