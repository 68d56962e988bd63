//! Values that the next statement needs in statement format: INTVAR, RAND, USER_VAR.

use wire::{Malformed, Reader};

/// The purpose of the number in an INTVAR event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerPurpose {
    /// `LAST_INSERT_ID()`
    LastInsertId,
    /// The first AUTO_INCREMENT value of the statement.
    InsertId,
}

/// INTVAR: a number that the next statement uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerValue {
    /// The purpose of the number.
    pub purpose: IntegerPurpose,
    /// The number.
    pub value: u64,
}

impl IntegerValue {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short, or has an unknown purpose.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let purpose = match reader.u8("purpose")? {
            1 => IntegerPurpose::LastInsertId,
            2 => IntegerPurpose::InsertId,
            _ => return Err(Malformed::Invalid("purpose of an INTVAR event")),
        };
        let value = reader.u64("value")?;
        Ok(Self { purpose, value })
    }
}

/// The result types of the servers (`Item_result`).
mod result_type {
    pub(super) const STRING: u8 = 0;
    pub(super) const REAL: u8 = 1;
    pub(super) const INTEGER: u8 = 2;
    pub(super) const DECIMAL: u8 = 4;
}

/// USER_VAR: a user variable that the next statement reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserVariable<'a> {
    /// The variable's name, without `@`.
    pub name: &'a [u8],
    /// The variable's value; none for NULL.
    pub value: Option<UserValue<'a>>,
}

/// The value of a user variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserValue<'a> {
    /// A text, and its collation.
    Text(&'a [u8], u32),
    /// A floating-point number, as its bits.
    Real(u64),
    /// An integer, and whether it is unsigned.
    Integer(u64, bool),
    /// Precision, scale and digits of a decimal number.
    Decimal(u8, u8, &'a [u8]),
}

impl<'a> UserVariable<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short, or has an unknown type.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let length = reader.u32("length of the variable's name")?;
        let name = reader.bytes(length as usize, "variable's name")?;
        if reader.u8("NULL flag")? != 0 {
            return Ok(Self { name, value: None });
        }
        let value_type = reader.u8("variable's type")?;
        let collation = reader.u32("variable's collation")?;
        let length = reader.u32("length of the variable's value")?;
        let bytes = reader.bytes(length as usize, "variable's value")?;
        // MySQL before 5.6 and some versions of MariaDB write no flags.
        let is_unsigned = !reader.is_empty() && reader.u8("flags")? & 1 != 0;
        let mut value = Reader::new(bytes);
        let value = match value_type {
            result_type::STRING => UserValue::Text(bytes, collation),
            result_type::REAL => UserValue::Real(value.u64("variable's value")?),
            result_type::INTEGER => UserValue::Integer(value.u64("variable's value")?, is_unsigned),
            result_type::DECIMAL => {
                let (precision, scale) = (value.u8("precision")?, value.u8("scale")?);
                UserValue::Decimal(precision, scale, value.remainder())
            }
            _ => return Err(Malformed::Invalid("variable's type")),
        };
        Ok(Self {
            name,
            value: Some(value),
        })
    }
}
