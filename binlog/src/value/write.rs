//! Turns texts into the bytes of column values in row images. This is the reverse of reading and printing them.

use sql::Charset;

use super::decimal::put_decimal;
use super::temporal_write::put_temporal;
use crate::column::{Column, ColumnType};
use crate::encoding;
use crate::rewrite::ColumnClass;

/// The maximum length of a character in bytes, if its character set is not known.
const CHARACTER_BYTES_MAX: usize = 4;

impl Column {
    /// Appends a value in the format of row images. `text` is UTF-8, or plain bytes if the column holds bytes. A
    /// TIMESTAMP is in UTC.
    ///
    /// # Errors
    /// The reason why the column cannot have this value.
    pub fn put_value(&self, out: &mut Vec<u8>, text: &[u8]) -> Result<(), &'static str> {
        match self.column_type {
            ColumnType::FLOAT => out.extend((number(text)? as f32).to_le_bytes()),
            ColumnType::DOUBLE => out.extend(number(text)?.to_le_bytes()),
            ColumnType::NEWDECIMAL => {
                let (precision, scale) = (self.metadata >> 8, self.metadata & 0xff);
                put_decimal(out, words(text)?, (precision.into(), scale.into()))?;
            }
            ColumnType::YEAR => out.push(match integer(text)? {
                0 => 0,
                year @ 1901..=2155 => (year - 1900) as u8,
                _ => return Err("a YEAR is 0, or from 1901 to 2155"),
            }),
            ColumnType::BIT => self.put_bits(out, text)?,
            ColumnType::ENUM => self.put_enum(out, text)?,
            ColumnType::SET => self.put_set(out, text)?,
            ColumnType::GEOMETRY => self.put_sized(out, text)?,
            ColumnType::JSON => return Err("a document of MySQL's type JSON cannot be replaced"),
            ColumnType::VECTOR => return Err("a VECTOR cannot be replaced"),
            _ => match self.class() {
                ColumnClass::Integer(bytes) => self.put_integer(out, bytes, text)?,
                ColumnClass::Bytes(most) => self.put_text(out, most, text)?,
                ColumnClass::Other => put_temporal(out, self, words(text)?)?,
            },
        }
        Ok(())
    }

    fn put_integer(
        &self,
        out: &mut Vec<u8>,
        bytes: usize,
        text: &[u8],
    ) -> Result<(), &'static str> {
        let number = integer(text)?;
        let bits = 8 * bytes as u32;
        let range = match self.is_unsigned {
            Some(true) => 0..1_i128 << bits,
            _ => -(1_i128 << (bits - 1))..1_i128 << (bits - 1),
        };
        if !range.contains(&number) {
            return Err("the value is out of the column's range");
        }
        out.extend(number.to_le_bytes().into_iter().take(bytes));
        Ok(())
    }

    fn put_bits(&self, out: &mut Vec<u8>, text: &[u8]) -> Result<(), &'static str> {
        let width = usize::from(self.metadata >> 8) * 8 + usize::from(self.metadata & 0xff);
        let number = integer(text)?;
        if !(0..1_i128 << width.min(64)).contains(&number) {
            return Err("the value has more bits than the column");
        }
        let bytes = number.to_be_bytes();
        out.extend(bytes.iter().skip(bytes.len() - width.min(64).div_ceil(8)));
        Ok(())
    }

    fn put_enum(&self, out: &mut Vec<u8>, text: &[u8]) -> Result<(), &'static str> {
        let index = self.labels.iter().position(|it| it.as_bytes() == text);
        let number = match index {
            Some(index) => index + 1,
            // The server stores 0 in place of a value that is not in the ENUM.
            None if text.is_empty() => 0,
            None => return Err("the value is not one of the ENUM"),
        };
        let bytes = usize::from(self.metadata).min(8);
        out.extend((number as u64).to_le_bytes().into_iter().take(bytes));
        Ok(())
    }

    fn put_set(&self, out: &mut Vec<u8>, text: &[u8]) -> Result<(), &'static str> {
        let mut bits = 0_u64;
        for label in text.split(|it| *it == b',').filter(|it| !it.is_empty()) {
            let index = self.labels.iter().position(|it| it.as_bytes() == label);
            let index = index.filter(|it| *it < 64);
            bits |= 1 << index.ok_or("the value is not one of the SET")?;
        }
        let bytes = usize::from(self.metadata).min(8);
        out.extend(bits.to_le_bytes().into_iter().take(bytes));
        Ok(())
    }

    /// Appends characters in the column's character set, or bytes.
    fn put_text(&self, out: &mut Vec<u8>, most: usize, text: &[u8]) -> Result<(), &'static str> {
        let bytes = encoding::bytes(text, self.collation)?;
        let has_characters = self.collation.is_some_and(|it| it != encoding::BINARY)
            && !matches!(
                self.column_type,
                ColumnType::BLOB
                    | ColumnType::TINY_BLOB
                    | ColumnType::MEDIUM_BLOB
                    | ColumnType::LONG_BLOB
                    | ColumnType::BLOB_COMPRESSED
            );
        let fits = bytes.len() <= most
            && (!has_characters || characters(text) <= most / self.character_bytes());
        if !fits {
            return Err("the value is longer than the column");
        }
        if self.is_compressed() && !bytes.is_empty() {
            // A 0 before the value of a compressed column means that the value is not compressed.
            return self.put_sized(out, &[&[0], &*bytes].concat());
        }
        self.put_sized(out, &bytes)
    }

    fn put_sized(&self, out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), &'static str> {
        let count = self.length_bytes().unwrap_or(4).clamp(1, 4);
        let length = bytes.len() as u64;
        if length >> (8 * count) != 0 {
            return Err("the value is longer than the column");
        }
        out.extend(length.to_le_bytes().into_iter().take(count));
        out.extend_from_slice(bytes);
        Ok(())
    }

    /// The maximum length of a character in bytes.
    fn character_bytes(&self) -> usize {
        match self.collation.map(Charset::name_of_collation) {
            Some("utf8mb3" | "utf8") => 3,
            Some("ucs2") => 2,
            Some("binary" | "ascii" | "latin1" | "latin2" | "latin5" | "latin7") => 1,
            _ => CHARACTER_BYTES_MAX,
        }
    }
}

/// Returns the number of characters; for a text that is not UTF-8, the number of bytes.
fn characters(text: &[u8]) -> usize {
    str::from_utf8(text).map_or(text.len(), |it| it.chars().count())
}

fn words(text: &[u8]) -> Result<&str, &'static str> {
    let text = str::from_utf8(text).map_err(|_| "the value is not a text in UTF-8")?;
    Ok(text.trim())
}

fn integer(text: &[u8]) -> Result<i128, &'static str> {
    let integer = words(text)?.parse();
    integer.map_err(|_| "the value is no integer")
}

fn number(text: &[u8]) -> Result<f64, &'static str> {
    let number: Result<f64, _> = words(text)?.parse();
    let number = number.map_err(|_| "the value is no number")?;
    match number.is_finite() {
        true => Ok(number),
        false => Err("the value is no number"),
    }
}
