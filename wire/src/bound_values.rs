//! The values that the proxy itself binds to a statement's placeholders, as a COM_STMT_EXECUTE carries them.

use crate::capability::Capabilities;
use crate::column::ColumnType;
use crate::execute::Execute;
use crate::write::put_lenenc_bytes;

/// In a type's second byte: the number is unsigned.
const UNSIGNED: u8 = 0x80;

/// A value for one placeholder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BoundValue<'a> {
    /// NULL.
    Null,
    /// A truth value, which is a TINYINT.
    Boolean(bool),
    /// A BIGINT.
    Signed(i64),
    /// A BIGINT UNSIGNED.
    Unsigned(u64),
    /// A DOUBLE.
    Double(f64),
    /// A text, in the session's character set.
    Text(&'a [u8]),
}

/// Values in the order of their placeholders, with their types.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoundValues {
    count: u16,
    null_bitmap: Vec<u8>,
    types: Vec<u8>,
    values: Vec<u8>,
}

impl BoundValues {
    /// Binds all these values; `None` if they are more than a statement can have placeholders.
    pub fn of(values: &[BoundValue<'_>]) -> Option<Self> {
        let mut bound = Self::default();
        for value in values {
            bound.push(*value)?;
        }
        Some(bound)
    }

    /// Appends the value of the next placeholder; `None` if a statement can have no more placeholders.
    pub fn push(&mut self, value: BoundValue<'_>) -> Option<()> {
        let bit = self.count % 8;
        self.count = self.count.checked_add(1)?;
        if bit == 0 {
            self.null_bitmap.push(0);
        }
        let (kind, sign) = match value {
            BoundValue::Null => {
                *self.null_bitmap.last_mut()? |= 1 << bit;
                (ColumnType::NULL, 0)
            }
            BoundValue::Boolean(is) => {
                self.values.push(u8::from(is));
                (ColumnType::TINY, 0)
            }
            BoundValue::Signed(number) => {
                self.values.extend_from_slice(&number.to_le_bytes());
                (ColumnType::LONGLONG, 0)
            }
            BoundValue::Unsigned(number) => {
                self.values.extend_from_slice(&number.to_le_bytes());
                (ColumnType::LONGLONG, UNSIGNED)
            }
            BoundValue::Double(number) => {
                self.values.extend_from_slice(&number.to_le_bytes());
                (ColumnType::DOUBLE, 0)
            }
            BoundValue::Text(text) => {
                put_lenenc_bytes(&mut self.values, text);
                (ColumnType::VAR_STRING, 0)
            }
        };
        self.types.extend([kind.0, sign]);
        Some(())
    }

    /// The number of values.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The bytes of the values and their types.
    pub fn bytes(&self) -> usize {
        self.values.len() + self.types.len()
    }

    /// The payload of a COM_STMT_EXECUTE with these values, for a connection without query attributes.
    pub fn execute(&self, statement_id: u32) -> Vec<u8> {
        let mut payload = Vec::with_capacity(self.bytes() + self.null_bitmap.len() + 16);
        Execute {
            statement_id,
            flags: 0,
            iterations: 1,
            parameter_count: usize::from(self.count),
            null_bitmap: &self.null_bitmap,
            types: Some(&self.types),
            values: &self.values,
        }
        .encode(Capabilities::default(), &mut payload);
        payload
    }
}

#[cfg(test)]
mod tests;
