//! The columns that a TABLE_MAP event describes.

use wire::{Malformed, Reader};

use crate::value::NativeType;

/// The type byte of a column (`enum_field_types` of the servers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnType(pub u8);

#[allow(missing_docs)]
impl ColumnType {
    pub const DECIMAL: Self = Self(0);
    pub const TINY: Self = Self(1);
    pub const SHORT: Self = Self(2);
    pub const LONG: Self = Self(3);
    pub const FLOAT: Self = Self(4);
    pub const DOUBLE: Self = Self(5);
    pub const NULL: Self = Self(6);
    pub const TIMESTAMP: Self = Self(7);
    pub const LONGLONG: Self = Self(8);
    pub const INT24: Self = Self(9);
    pub const DATE: Self = Self(10);
    pub const TIME: Self = Self(11);
    pub const DATETIME: Self = Self(12);
    pub const YEAR: Self = Self(13);
    pub const NEWDATE: Self = Self(14);
    pub const VARCHAR: Self = Self(15);
    pub const BIT: Self = Self(16);
    pub const TIMESTAMP2: Self = Self(17);
    pub const DATETIME2: Self = Self(18);
    pub const TIME2: Self = Self(19);
    /// MariaDB: BLOB and TEXT with COMPRESSED.
    pub const BLOB_COMPRESSED: Self = Self(140);
    /// MariaDB: VARCHAR and VARBINARY with COMPRESSED.
    pub const VARCHAR_COMPRESSED: Self = Self(141);
    pub const VECTOR: Self = Self(242);
    pub const JSON: Self = Self(245);
    pub const NEWDECIMAL: Self = Self(246);
    pub const ENUM: Self = Self(247);
    pub const SET: Self = Self(248);
    pub const TINY_BLOB: Self = Self(249);
    pub const MEDIUM_BLOB: Self = Self(250);
    pub const LONG_BLOB: Self = Self(251);
    pub const BLOB: Self = Self(252);
    pub const VAR_STRING: Self = Self(253);
    pub const STRING: Self = Self(254);
    pub const GEOMETRY: Self = Self(255);

    /// Whether the list of signs has a bit for columns of this type.
    pub(crate) const fn is_numeric(self) -> bool {
        matches!(
            self,
            Self::TINY
                | Self::SHORT
                | Self::INT24
                | Self::LONG
                | Self::LONGLONG
                | Self::NEWDECIMAL
                | Self::FLOAT
                | Self::DOUBLE
                | Self::YEAR
        )
    }

    /// Whether MySQL's lists of character sets have an entry for columns of this type.
    pub(crate) fn is_text_of_mysql(self) -> bool {
        self.is_text() || self == Self::VECTOR
    }

    /// The same for MariaDB's lists.
    pub(crate) fn is_text_of_mariadb(self) -> bool {
        self.is_text() || self == Self::GEOMETRY
    }

    const fn is_text(self) -> bool {
        matches!(
            self,
            Self::STRING
                | Self::VAR_STRING
                | Self::VARCHAR
                | Self::VARCHAR_COMPRESSED
                | Self::BLOB
                | Self::BLOB_COMPRESSED
                | Self::TINY_BLOB
                | Self::MEDIUM_BLOB
                | Self::LONG_BLOB
        )
    }

    /// Whether it is ENUM or SET.
    pub(crate) const fn has_labels(self) -> bool {
        matches!(self, Self::ENUM | Self::SET)
    }
}

/// The maximum number of columns; no server allows more in a table.
pub(crate) const COLUMNS_MAX: usize = 4096;

/// A column of a primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// The column's index, from 0.
    pub column: usize,
    /// How many characters of the column the key contains; 0 for all.
    pub prefix: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The column's type. For ENUM and SET it is the real type, not STRING, which the event contains.
    pub column_type: ColumnType,
    /// The parameters of the type: length, precision and scale, digits of a fraction, or bytes of a length.
    pub metadata: u16,
    /// Whether it may be NULL.
    pub is_nullable: bool,
    /// Whether the column is unsigned; none if the server does not send that.
    pub is_unsigned: Option<bool>,
    /// The column's name; none if the server sends no names.
    pub name: Option<String>,
    /// The id of the collation; none if the server does not send it.
    pub collation: Option<u16>,
    /// The values of ENUM and SET, if the server sends them.
    pub labels: Vec<String>,
    /// Whether `SELECT *` returns the column.
    pub is_visible: bool,
    /// The geometry type of the column; 0 for any geometry.
    pub geometry_type: Option<u64>,
    /// The number of dimensions of a VECTOR.
    pub dimensions: Option<u64>,
    /// The MariaDB type of a column that the log shows as plain bytes, if the table's definition is known.
    pub native: Option<NativeType>,
}

impl Column {
    /// Reads a column's description. `type_byte` was read before; `metadata` has the parameters of the type.
    pub(crate) fn read(
        type_byte: u8,
        metadata: &mut Reader<'_>,
        is_nullable: bool,
    ) -> Result<Self, Malformed> {
        const ITEM: &str = "column metadata";
        let mut column_type = ColumnType(type_byte);
        let metadata = match column_type {
            ColumnType::FLOAT
            | ColumnType::DOUBLE
            | ColumnType::BLOB
            | ColumnType::TINY_BLOB
            | ColumnType::MEDIUM_BLOB
            | ColumnType::LONG_BLOB
            | ColumnType::BLOB_COMPRESSED
            | ColumnType::GEOMETRY
            | ColumnType::JSON
            | ColumnType::VECTOR
            | ColumnType::TIME2
            | ColumnType::DATETIME2
            | ColumnType::TIMESTAMP2 => u16::from(metadata.u8(ITEM)?),
            ColumnType::VARCHAR | ColumnType::VARCHAR_COMPRESSED | ColumnType::BIT => {
                metadata.u16(ITEM)?
            }
            ColumnType::NEWDECIMAL => {
                let precision = metadata.u8(ITEM)?;
                u16::from_be_bytes([precision, metadata.u8(ITEM)?])
            }
            ColumnType::STRING | ColumnType::VAR_STRING | ColumnType::ENUM | ColumnType::SET => {
                let (real, low) = (metadata.u8(ITEM)?, metadata.u8(ITEM)?);
                // The high bits of a CHAR's length above 255 are in the type byte, inverted.
                let high = u16::from(real & 0x30 ^ 0x30) << 4;
                column_type = ColumnType(real | 0x30);
                u16::from(low) | high
            }
            ColumnType::TINY
            | ColumnType::SHORT
            | ColumnType::INT24
            | ColumnType::LONG
            | ColumnType::LONGLONG
            | ColumnType::NULL
            | ColumnType::TIMESTAMP
            | ColumnType::DATE
            | ColumnType::NEWDATE
            | ColumnType::TIME
            | ColumnType::DATETIME
            | ColumnType::YEAR => 0,
            _ => return Err(Malformed::Invalid("column type")),
        };
        Ok(Self {
            column_type,
            metadata,
            is_nullable,
            is_unsigned: None,
            name: None,
            collation: None,
            labels: Vec::new(),
            is_visible: true,
            geometry_type: None,
            dimensions: None,
            native: None,
        })
    }
}
