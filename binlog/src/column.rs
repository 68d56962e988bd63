//! Columns as a TABLE_MAP event describes them.

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

    /// Whether the list of signs has a bit for it.
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

    /// Whether the lists of character sets have an entry for it, as MySQL writes them.
    pub(crate) fn is_text_of_mysql(self) -> bool {
        self.is_text() || self == Self::VECTOR
    }

    /// The same as MariaDB writes them.
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

/// No server's table has more columns.
pub(crate) const COLUMNS_MAX: usize = 4096;

/// A column of a primary key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Which column, from 0.
    pub column: usize,
    /// How many characters of it the key has; 0 for all.
    pub prefix: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its type; of an ENUM or SET that, not the STRING that it is sent as.
    pub column_type: ColumnType,
    /// The parameters of the type: length, precision and scale, digits of a fraction, bytes of a length.
    pub metadata: u16,
    /// Whether it may be NULL.
    pub is_nullable: bool,
    /// Whether it is unsigned, if the server says so.
    pub is_unsigned: Option<bool>,
    /// Its name, if the server sends names.
    pub name: Option<String>,
    /// The id of its collation, if the server says so.
    pub collation: Option<u16>,
    /// The values of ENUM and SET, if the server sends them.
    pub labels: Vec<String>,
    /// Whether `SELECT *` shows it.
    pub is_visible: bool,
    /// The type of geometries that it may hold; 0 for all.
    pub geometry_type: Option<u64>,
    /// How many dimensions its vectors have.
    pub dimensions: Option<u64>,
    /// The type that its bytes stand for, if the reader knows it: the log does not tell.
    pub native: Option<NativeType>,
}

impl Column {
    /// Reads a column's description: its type byte has come already, the type's parameters come from `metadata`.
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
                // The length of a CHAR of more than 255 bytes hides in the type, inverted.
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
