//! Column definitions (protocol page "Protocol::ColumnDefinition41").

use std::fmt;

use crate::capability::Capabilities;
use crate::read::{Malformed, Reader};
use crate::write::{put_lenenc, put_lenenc_bytes};

/// A type's number (`enum_field_types`). Unknown numbers are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ColumnType(pub u8);

macro_rules! column_types {
    ($($(#[$doc:meta])* $name:ident = $value:literal,)*) => {
        impl ColumnType {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// The protocol's name, without `MYSQL_TYPE_`; `None` for an unknown number.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

column_types! {
    /// DECIMAL before 5.0.
    DECIMAL = 0,
    /// TINYINT.
    TINY = 1,
    /// SMALLINT.
    SHORT = 2,
    /// INT.
    LONG = 3,
    /// FLOAT.
    FLOAT = 4,
    /// DOUBLE.
    DOUBLE = 5,
    /// NULL as a literal.
    NULL = 6,
    /// TIMESTAMP.
    TIMESTAMP = 7,
    /// BIGINT.
    LONGLONG = 8,
    /// MEDIUMINT.
    INT24 = 9,
    /// DATE.
    DATE = 10,
    /// TIME.
    TIME = 11,
    /// DATETIME.
    DATETIME = 12,
    /// YEAR.
    YEAR = 13,
    /// VARCHAR within the server; columns are VAR_STRING.
    VARCHAR = 15,
    /// BIT.
    BIT = 16,
    /// VECTOR (MySQL).
    VECTOR = 242,
    /// BOOL within the server.
    BOOL = 244,
    /// JSON (MySQL).
    JSON = 245,
    /// DECIMAL.
    NEWDECIMAL = 246,
    /// ENUM within the server; columns are STRING.
    ENUM = 247,
    /// SET within the server; columns are STRING.
    SET = 248,
    /// TINYBLOB and TINYTEXT within the server; columns are BLOB.
    TINY_BLOB = 249,
    /// MEDIUMBLOB and MEDIUMTEXT within the server; columns are BLOB.
    MEDIUM_BLOB = 250,
    /// LONGBLOB and LONGTEXT within the server; columns are BLOB.
    LONG_BLOB = 251,
    /// BLOB and TEXT of any size.
    BLOB = 252,
    /// VARCHAR and VARBINARY.
    VAR_STRING = 253,
    /// CHAR, BINARY, ENUM and SET.
    STRING = 254,
    /// GEOMETRY.
    GEOMETRY = 255,
}

impl ColumnType {
    /// Whether its values are numbers.
    pub const fn is_numeric(self) -> bool {
        matches!(
            self,
            Self::TINY
                | Self::SHORT
                | Self::INT24
                | Self::LONG
                | Self::LONGLONG
                | Self::DECIMAL
                | Self::NEWDECIMAL
                | Self::FLOAT
                | Self::DOUBLE
                | Self::YEAR
        )
    }
}

impl fmt::Debug for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

/// A column of a result, or a parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnDefinition<'a> {
    /// `def`.
    pub catalog: &'a [u8],
    /// The table's schema.
    pub schema: &'a [u8],
    /// The table, by its alias.
    pub table: &'a [u8],
    /// The table, by its own name.
    pub table_original: &'a [u8],
    /// The column, by its alias.
    pub name: &'a [u8],
    /// The column, by its own name.
    pub name_original: &'a [u8],
    /// MariaDB's extended type information, not decoded; only under MARIADB_EXTENDED_METADATA.
    pub extended: &'a [u8],
    /// The collation's id; [`ColumnDefinition::BINARY_COLLATION`] for columns that are no text.
    pub collation: u16,
    /// The longest value, in bytes of the text protocol.
    pub length: u32,
    /// The type.
    pub kind: ColumnType,
    /// `NOT_NULL_FLAG` and the other column flags.
    pub flags: u16,
    /// Digits after the decimal point; 31 if the number of digits varies.
    pub decimals: u8,
}

impl<'a> ColumnDefinition<'a> {
    /// `NOT_NULL_FLAG`.
    pub const NOT_NULL: u16 = 1;
    /// `UNSIGNED_FLAG`.
    pub const UNSIGNED: u16 = 32;
    /// `BINARY_FLAG`.
    pub const BINARY: u16 = 128;
    /// The collation `binary`, which numbers have too.
    pub const BINARY_COLLATION: u16 = 63;

    const FIXED_BYTES: u64 = 12;

    /// A column that belongs to no table.
    pub fn new(name: &'a [u8], kind: ColumnType, collation: u16, length: u32) -> Self {
        Self {
            catalog: b"def",
            schema: b"",
            table: b"",
            table_original: b"",
            name,
            name_original: b"",
            extended: b"",
            collation,
            length,
            kind,
            flags: 0,
            decimals: 0,
        }
    }

    /// Decodes a payload. The default value, which follows in the reply to COM_FIELD_LIST, is ignored.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let catalog = reader.lenenc_bytes("catalog")?;
        let schema = reader.lenenc_bytes("schema")?;
        let table = reader.lenenc_bytes("table")?;
        let table_original = reader.lenenc_bytes("original table")?;
        let name = reader.lenenc_bytes("column name")?;
        let name_original = reader.lenenc_bytes("original column name")?;
        let extended = match capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            true => reader.lenenc_bytes("extended metadata")?,
            false => &[],
        };
        let mut fixed = Reader::new(reader.lenenc_bytes("fixed fields")?);
        Ok(Self {
            catalog,
            schema,
            table,
            table_original,
            name,
            name_original,
            extended,
            collation: fixed.u16("collation")?,
            length: fixed.u32("column length")?,
            kind: ColumnType(fixed.u8("column type")?),
            flags: fixed.u16("column flags")?,
            decimals: fixed.u8("decimals")?,
        })
    }

    /// Appends the payload.
    pub fn encode(&self, capabilities: Capabilities, out: &mut Vec<u8>) {
        for text in [
            self.catalog,
            self.schema,
            self.table,
            self.table_original,
            self.name,
            self.name_original,
        ] {
            put_lenenc_bytes(out, text);
        }
        if capabilities.contains(Capabilities::MARIADB_EXTENDED_METADATA) {
            put_lenenc_bytes(out, self.extended);
        }
        put_lenenc(out, Self::FIXED_BYTES);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.kind.0);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.push(self.decimals);
        out.extend_from_slice(&[0; 2]);
    }
}

#[cfg(test)]
mod tests;
