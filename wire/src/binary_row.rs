//! Rows of the binary protocol, in which the results of prepared statements come (protocol pages "Binary Protocol
//! Resultset Row" and "Binary Protocol Value").
//!
//! ```text
//!   0x00 │ NULL bitmap, two bits late │ value │ value │ …
//! ```

use crate::column::{ColumnDefinition, ColumnType};
use crate::read::{Malformed, Reader};

/// Bits of the NULL bitmap that stand for no column.
const RESERVED_BITS: usize = 2;

const ITEM: &str = "value";

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryType {
    /// The column's type.
    pub kind: ColumnType,
    /// Whether an integer has no sign.
    pub is_unsigned: bool,
}

/// A value that is not NULL.
#[derive(Debug, Clone, PartialEq)]
pub enum BinaryValue<'a> {
    /// An integer of up to 64 bits, with or without a sign.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// A date or a time as text. A fraction has six digits, and is left out if it is 0.
    Moment(String),
    /// Everything else.
    Bytes(&'a [u8]),
}

/// A row, whose values are read one by one.
#[derive(Debug, Clone)]
pub struct BinaryRow<'a> {
    null_bitmap: &'a [u8],
    /// The index of the next value's column.
    column: usize,
    values: Reader<'a>,
}

impl<'a> BinaryRow<'a> {
    /// Begins to read the payload of a row with this number of columns.
    pub fn new(payload: &'a [u8], columns: usize) -> Result<Self, Malformed> {
        let mut values = Reader::new(payload);
        values.u8("row header")?;
        let bitmap_bytes = columns.saturating_add(RESERVED_BITS).div_ceil(8);
        Ok(Self {
            null_bitmap: values.bytes(bitmap_bytes, "NULL bitmap")?,
            column: 0,
            values,
        })
    }

    /// The next column's value, `None` for NULL.
    pub fn value(&mut self, of: BinaryType) -> Result<Option<BinaryValue<'a>>, Malformed> {
        let bit = self.column + RESERVED_BITS;
        self.column += 1;
        let byte = self.null_bitmap.get(bit / 8).copied().unwrap_or_default();
        match byte >> (bit % 8) & 1 {
            0 => of.read(&mut self.values).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether every byte has been read.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl BinaryType {
    /// The form of a column's values.
    pub fn of_column(column: &ColumnDefinition<'_>) -> Self {
        Self {
            kind: column.kind,
            is_unsigned: column.flags & ColumnDefinition::UNSIGNED != 0,
        }
    }

    /// How many bytes an integer has; `None` if the type is no integer.
    pub fn integer_bytes(self) -> Option<usize> {
        match self.kind {
            ColumnType::TINY => Some(1),
            ColumnType::SHORT | ColumnType::YEAR => Some(2),
            ColumnType::LONG | ColumnType::INT24 => Some(4),
            ColumnType::LONGLONG => Some(8),
            _ => None,
        }
    }

    /// Reads a value that is not NULL.
    pub fn read<'a>(self, reader: &mut Reader<'a>) -> Result<BinaryValue<'a>, Malformed> {
        if let Some(size) = self.integer_bytes() {
            let bytes = reader.bytes(size, ITEM)?;
            return Ok(BinaryValue::Integer(integer(bytes, self.is_unsigned)));
        }
        Ok(match self.kind {
            ColumnType::FLOAT => BinaryValue::Float(shortest(f32::from_bits(reader.u32(ITEM)?))),
            ColumnType::DOUBLE => BinaryValue::Float(f64::from_bits(reader.u64(ITEM)?)),
            ColumnType::DATE | ColumnType::DATETIME | ColumnType::TIMESTAMP => {
                let bytes = reader.lenenc_bytes(ITEM)?;
                BinaryValue::Moment(date_text(bytes, self.kind == ColumnType::DATE)?)
            }
            ColumnType::TIME => BinaryValue::Moment(time_text(reader.lenenc_bytes(ITEM)?)?),
            ColumnType::NULL => return Err(Malformed::Invalid("a NULL that is none")),
            _ => BinaryValue::Bytes(reader.lenenc_bytes(ITEM)?),
        })
    }
}

impl BinaryValue<'_> {
    /// The value as text. It is the server's text, except for fractions of seconds, and for exponents, which this does
    /// not write.
    pub fn to_text(&self) -> Vec<u8> {
        match self {
            Self::Integer(number) => number.to_string().into_bytes(),
            Self::Float(number) => number.to_string().into_bytes(),
            Self::Moment(text) => text.clone().into_bytes(),
            Self::Bytes(bytes) => bytes.to_vec(),
        }
    }
}

fn integer(bytes: &[u8], is_unsigned: bool) -> i128 {
    let unsigned = (bytes.iter().rev()).fold(0_i128, |sum, byte| sum << 8 | i128::from(*byte));
    let is_negative = !is_unsigned && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    match is_negative {
        true => unsigned - (1_i128 << (8 * bytes.len())),
        false => unsigned,
    }
}

/// The shortest decimal number for a float: 0.1, not 0.10000000149.
fn shortest(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or_default()
}

/// `year:2 month day [hour minute second [microseconds:4]]`
fn date_text(bytes: &[u8], is_date: bool) -> Result<String, Malformed> {
    if !matches!(bytes.len(), 0 | 4 | 7 | 11) {
        return Err(Malformed::Invalid("date"));
    }
    let year = u16::from_le_bytes([byte(bytes, 0), byte(bytes, 1)]);
    let mut text = format!("{year:04}-{:02}-{:02}", byte(bytes, 2), byte(bytes, 3));
    if !is_date {
        let (hour, minute, second) = (byte(bytes, 4), byte(bytes, 5), byte(bytes, 6));
        text += &format!(" {hour:02}:{minute:02}:{second:02}");
        text += &fraction_text(bytes.get(7..11));
    }
    Ok(text)
}

/// `negative days:4 hour minute second [microseconds:4]`
fn time_text(bytes: &[u8]) -> Result<String, Malformed> {
    if !matches!(bytes.len(), 0 | 8 | 12) {
        return Err(Malformed::Invalid("time"));
    }
    let sign = if byte(bytes, 0) == 1 { "-" } else { "" };
    let days = [1, 2, 3, 4].map(|at| byte(bytes, at));
    let hours = u64::from(u32::from_le_bytes(days)) * 24 + u64::from(byte(bytes, 5));
    let (minute, second) = (byte(bytes, 6), byte(bytes, 7));
    let mut text = format!("{sign}{hours:02}:{minute:02}:{second:02}");
    text += &fraction_text(bytes.get(8..12));
    Ok(text)
}

fn fraction_text(bytes: Option<&[u8]>) -> String {
    let Some(&[a, b, c, d]) = bytes else {
        return String::new();
    };
    format!(".{:06}", u32::from_le_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests;
