//! The value of one column in a row.

mod decimal;
mod native;
mod read;
mod temporal;
mod temporal_write;
mod write;
#[cfg(test)]
mod write_tests;

use std::borrow::Cow;

use crate::json::JsonDiff;

pub(crate) use decimal::read_decimal;
pub use native::NativeType;
pub(crate) use read::{
    decompressed, length_bytes, packed_date_time, packed_time, read_value, sized,
};
pub use temporal::Temporal;

/// A column's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL
    Null,
    /// An integer of a signed column.
    Signed(i64),
    /// An integer of an unsigned column, a YEAR, or the number of an ENUM's or SET's value.
    Unsigned(u64),
    /// An integer of a column that may be signed or unsigned, if that makes a difference.
    SignUnknown {
        /// The value if the column is signed.
        signed: i64,
        /// The value if the column is unsigned.
        unsigned: u64,
    },
    /// FLOAT
    Float(f32),
    /// DOUBLE
    Double(f64),
    /// DECIMAL, as digits.
    Decimal(String),
    /// BIT: the bits, and their number.
    Bits(u64, usize),
    /// Dates and times.
    Temporal(Temporal),
    /// Text, and the values of ENUM and SET.
    Text(Cow<'a, str>),
    /// Bytes that are not text, or whose character set this code does not know.
    Bytes(Cow<'a, [u8]>),
    /// A JSON document of MySQL, as JSON text.
    Json(String),
    /// The partial changes that an update makes in a JSON document.
    JsonChanges(Vec<JsonDiff>),
    /// VECTOR
    Vector(Vec<f32>),
}

impl Value<'_> {
    /// Returns the value in the form that [`crate::Column::put_value`] takes: numbers as digits, texts in UTF-8,
    /// bytes unchanged. None stands for NULL.
    pub fn to_bytes(&self) -> Option<Cow<'_, [u8]>> {
        let text = match self {
            Self::Null => return None,
            Self::Text(text) => return Some(Cow::Borrowed(text.as_bytes())),
            Self::Bytes(bytes) => return Some(Cow::Borrowed(bytes)),
            Self::Signed(number) | Self::SignUnknown { signed: number, .. } => number.to_string(),
            Self::Unsigned(number) => number.to_string(),
            Self::Bits(bits, _) => bits.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Double(number) => number.to_string(),
            Self::Decimal(text) | Self::Json(text) => text.clone(),
            Self::Temporal(temporal) => temporal.to_string(),
            Self::JsonChanges(changes) => format!("{changes:?}"),
            Self::Vector(numbers) => format!("{numbers:?}"),
        };
        Some(Cow::Owned(text.into_bytes()))
    }
}
