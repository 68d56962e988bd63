//! Types of the columns of results.

use wire::column::{ColumnDefinition, ColumnType};

use super::family::Family;

const NOT_NULL: u16 = ColumnDefinition::NOT_NULL;
const BINARY: u16 = ColumnDefinition::BINARY;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultType {
    /// The type.
    pub kind: ColumnType,
    /// NOT_NULL, UNSIGNED and so on.
    pub flags: u16,
    /// How long values may be, in bytes.
    pub length: u32,
    /// Digits behind the point.
    pub decimals: u8,
}

impl ResultType {
    /// A type.
    pub const fn new(kind: ColumnType, flags: u16, length: u32) -> Self {
        Self {
            kind,
            flags,
            length,
            decimals: 0,
        }
    }

    /// An integer of 64 bits.
    pub const fn long(flags: u16) -> Self {
        Self::new(ColumnType::LONGLONG, flags | BINARY, 21)
    }

    /// A text of so many characters.
    pub const fn text(flags: u16, characters: u32) -> Self {
        Self::new(ColumnType::VAR_STRING, flags, characters * 4)
    }

    /// An integer of so many digits: MariaDB has a smaller type for short ones.
    pub fn integer(family: Family, flags: u16, digits: u32) -> Self {
        let kind = match family.is_mariadb() && digits < 10 {
            true => ColumnType::LONG,
            false => ColumnType::LONGLONG,
        };
        Self::new(kind, flags | BINARY, digits)
    }

    /// MariaDB's smaller type, whatever the value may be.
    pub fn small(family: Family, flags: u16) -> Self {
        Self::integer(family, flags, 1)
    }

    /// Whether its values are numbers.
    pub fn is_numeric(self) -> bool {
        self.kind.is_numeric()
    }

    /// The same type of values that may be NULL.
    #[must_use]
    pub fn nullable(self) -> Self {
        Self {
            flags: self.flags & !NOT_NULL,
            ..self
        }
    }
}
