//! Columns whose values are removed or replaced.

use std::borrow::Cow;

use wire::{Malformed, Reader};

use crate::column::{Column, ColumnType};
use crate::error::EventError;
use crate::value::{decompressed, length_bytes, read_value, sized};

/// How a column in row images is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFate {
    /// The value stays unchanged.
    Keep,
    /// The images omit the column, as with `binlog_row_image=MINIMAL`.
    Omit,
    /// The value is replaced.
    Replace,
}

/// A value before it is replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OldValue<'a> {
    /// The bytes of a character or binary column, decompressed.
    Bytes(Cow<'a, [u8]>),
    /// The bits of an integer.
    Integer(u64),
    /// A value of another type.
    Other,
}

/// The replacement of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewValue<'a> {
    /// NULL
    Null,
    /// The value of a character or binary column.
    Bytes(Cow<'a, [u8]>),
    /// The value of an integer column.
    Integer(u64),
}

/// The rewriting of a table's columns.
pub trait ColumnRewrite {
    /// How a column is rewritten; `column` counts from 0.
    fn fate(&self, column: usize) -> ColumnFate;

    /// Returns the replacement of a value that is not NULL.
    fn value(&self, column: usize, old: OldValue<'_>) -> NewValue<'_>;
}

/// The class of values that a column holds, as far as they can be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnClass {
    /// An integer with this many bytes.
    Integer(usize),
    /// Characters or bytes, with this maximum length in bytes.
    Bytes(usize),
    /// Anything else.
    Other,
}

impl Column {
    /// The class of values that the column holds.
    pub fn class(&self) -> ColumnClass {
        let metadata = usize::from(self.metadata);
        match self.column_type {
            ColumnType::TINY => ColumnClass::Integer(1),
            ColumnType::SHORT => ColumnClass::Integer(2),
            ColumnType::INT24 => ColumnClass::Integer(3),
            ColumnType::LONG => ColumnClass::Integer(4),
            ColumnType::LONGLONG => ColumnClass::Integer(8),
            ColumnType::VARCHAR | ColumnType::STRING | ColumnType::VAR_STRING => {
                ColumnClass::Bytes(metadata)
            }
            // The first byte tells how the value is compressed.
            ColumnType::VARCHAR_COMPRESSED => ColumnClass::Bytes(metadata.saturating_sub(1)),
            ColumnType::BLOB
            | ColumnType::TINY_BLOB
            | ColumnType::MEDIUM_BLOB
            | ColumnType::LONG_BLOB
            | ColumnType::BLOB_COMPRESSED => {
                let bits = 8 * metadata.clamp(1, 4) as u32;
                ColumnClass::Bytes((1_usize << bits) - 2)
            }
            _ => ColumnClass::Other,
        }
    }

    /// How many bytes the length prefix of a value has; none if values have no length prefix.
    pub(crate) fn length_bytes(&self) -> Option<usize> {
        let metadata = usize::from(self.metadata);
        match self.column_type {
            ColumnType::VARCHAR
            | ColumnType::VARCHAR_COMPRESSED
            | ColumnType::STRING
            | ColumnType::VAR_STRING => Some(length_bytes(metadata)),
            ColumnType::BLOB
            | ColumnType::TINY_BLOB
            | ColumnType::MEDIUM_BLOB
            | ColumnType::LONG_BLOB
            | ColumnType::BLOB_COMPRESSED
            | ColumnType::GEOMETRY
            | ColumnType::JSON
            | ColumnType::VECTOR => Some(metadata),
            _ => None,
        }
    }

    pub(crate) fn is_compressed(&self) -> bool {
        matches!(
            self.column_type,
            ColumnType::VARCHAR_COMPRESSED | ColumnType::BLOB_COMPRESSED
        )
    }
}

/// Skips a value, and returns it in the form that [`ColumnRewrite::value`] gets.
pub(super) fn pass<'a>(
    reader: &mut Reader<'a>,
    column: &Column,
    limit: usize,
) -> Result<OldValue<'a>, EventError> {
    if let Some(count) = column.length_bytes() {
        let bytes = sized(reader, count)?;
        return Ok(match column.class() {
            ColumnClass::Bytes(_) if column.is_compressed() => {
                OldValue::Bytes(decompressed(bytes, limit)?)
            }
            ColumnClass::Bytes(_) => OldValue::Bytes(Cow::Borrowed(bytes)),
            _ => OldValue::Other,
        });
    }
    if let ColumnClass::Integer(count) = column.class() {
        return Ok(OldValue::Integer(reader.uint(count, "integer")?));
    }
    read_value(reader, column, limit)?;
    Ok(OldValue::Other)
}

/// Appends a value that is not NULL.
pub(super) fn put(
    out: &mut Vec<u8>,
    column: &Column,
    value: &NewValue<'_>,
) -> Result<(), Malformed> {
    const MISFIT: Malformed = Malformed::Invalid("value in place of a column's");
    match (column.class(), value) {
        (ColumnClass::Integer(count), NewValue::Integer(value)) => {
            out.extend(value.to_le_bytes().into_iter().take(count));
        }
        (ColumnClass::Bytes(most), NewValue::Bytes(bytes)) if bytes.len() <= most => {
            let marker = usize::from(column.is_compressed() && !bytes.is_empty());
            let length = (bytes.len() + marker) as u64;
            let count = column.length_bytes().ok_or(MISFIT)?;
            out.extend(length.to_le_bytes().into_iter().take(count));
            // A 0 before the value of a compressed column means that the value is not compressed.
            out.extend(std::iter::repeat_n(0, marker));
            out.extend_from_slice(bytes);
        }
        _ => return Err(MISFIT),
    }
    Ok(())
}
