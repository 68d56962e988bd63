//! The parameters of an execution as SQL literals, as a statement without placeholders would have them in its
//! text (protocol page "Binary Protocol Value").

use crate::capability::Capabilities;
use crate::column::ColumnType;
use crate::execute::Execute;
use crate::parameters::{is_null, skip_value};
use crate::read::{Malformed, Reader};

/// In a type's flags: the number is unsigned.
const UNSIGNED: u16 = 0x8000;

impl Execute<'_> {
    /// The first `own` parameters, which are the statement's own. `types` are the types of this command, or the
    /// remembered types of an earlier one. A parameter with long data, or with a value without a literal, is `None`.
    ///
    /// # Errors
    /// Types or values are malformed.
    pub fn literals(
        &self,
        own: u16,
        types: &[u8],
        has_long_data: impl Fn(u16) -> bool,
        capabilities: Capabilities,
    ) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
        let (mut types, mut values) = (Reader::new(types), Reader::new(self.values));
        let mut literals = Vec::with_capacity(own.into());
        for index in 0..own {
            let kind = types.u16("parameter type")?;
            if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
                types.lenenc_bytes("parameter name")?;
            }
            literals.push(match () {
                () if is_null(self.null_bitmap, index.into()) => Some(b"NULL".to_vec()),
                () if has_long_data(index) => None,
                () => literal(&mut values, kind)?,
            });
        }
        Ok(literals)
    }
}

fn literal(reader: &mut Reader<'_>, kind: u16) -> Result<Option<Vec<u8>>, Malformed> {
    let (is_unsigned, kind) = (kind & UNSIGNED != 0, kind & !UNSIGNED);
    let before = reader.rest();
    skip_value(reader, kind)?;
    let bytes = &before[..before.len() - reader.rest().len()];
    let Ok(kind) = u8::try_from(kind).map(ColumnType) else {
        return Ok(None);
    };
    Ok(match kind {
        ColumnType::TINY | ColumnType::SHORT | ColumnType::LONG | ColumnType::LONGLONG => {
            Some(integer(bytes, is_unsigned).into_bytes())
        }
        ColumnType::FLOAT => (bytes.first_chunk())
            .map(|it| f32::from_le_bytes(*it))
            .filter(|it| it.is_finite())
            .map(|it| format!("{it:e}").into_bytes()),
        ColumnType::DOUBLE => (bytes.first_chunk())
            .map(|it| f64::from_le_bytes(*it))
            .filter(|it| it.is_finite())
            .map(|it| format!("{it:e}").into_bytes()),
        ColumnType::NULL => Some(b"NULL".to_vec()),
        ColumnType::DATE | ColumnType::DATETIME | ColumnType::TIMESTAMP => {
            let value = Reader::new(bytes).lenenc_bytes("date")?;
            Some(format!("'{}'", date(value)?).into_bytes())
        }
        ColumnType::TIME => {
            let value = Reader::new(bytes).lenenc_bytes("time")?;
            Some(format!("'{}'", time(value)?).into_bytes())
        }
        _ => Some(string(Reader::new(bytes).lenenc_bytes("string")?)),
    })
}

fn integer(bytes: &[u8], is_unsigned: bool) -> String {
    let is_negative = !is_unsigned && bytes.last().is_some_and(|it| it & 0x80 != 0);
    let mut wide = [if is_negative { 0xff } else { 0 }; 8];
    for (to, from) in wide.iter_mut().zip(bytes) {
        *to = *from;
    }
    match is_unsigned {
        true => u64::from_le_bytes(wide).to_string(),
        false => i64::from_le_bytes(wide).to_string(),
    }
}

/// A date's text, from 0, 4, 7 or 11 bytes.
fn date(value: &[u8]) -> Result<String, Malformed> {
    let mut reader = Reader::new(value);
    if reader.is_empty() {
        return Ok("0000-00-00".to_owned());
    }
    let (year, month, day) = (reader.u16("year")?, reader.u8("month")?, reader.u8("day")?);
    let mut text = format!("{year:04}-{month:02}-{day:02}");
    if !reader.is_empty() {
        text.push(' ');
        text.push_str(&clock(&mut reader, 0)?);
    }
    Ok(text)
}

/// A time's text, from 0, 8 or 12 bytes.
fn time(value: &[u8]) -> Result<String, Malformed> {
    let mut reader = Reader::new(value);
    if reader.is_empty() {
        return Ok("00:00:00".to_owned());
    }
    let sign = match reader.u8("sign")? {
        0 => "",
        _ => "-",
    };
    let days = reader.u32("days")?;
    Ok(format!("{sign}{}", clock(&mut reader, days)?))
}

fn clock(reader: &mut Reader<'_>, days: u32) -> Result<String, Malformed> {
    let hour = reader.u8("hour")?;
    let (minute, second) = (reader.u8("minute")?, reader.u8("second")?);
    let hours = u64::from(days) * 24 + u64::from(hour);
    let mut text = format!("{hours:02}:{minute:02}:{second:02}");
    if !reader.is_empty() {
        text.push_str(&format!(".{:06}", reader.u32("microseconds")?));
    }
    Ok(text)
}

/// A string literal. It is hexadecimal if it has quotes or backslashes, whose meaning depends on `sql_mode`.
fn string(value: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\');
    let mut out = Vec::with_capacity(value.len() + 2);
    if value.iter().all(is_plain) {
        out.push(b'\'');
        out.extend_from_slice(value);
        out.push(b'\'');
        return out;
    }
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"X'");
    for byte in value {
        out.extend([
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]);
    }
    out.push(b'\'');
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// An execution without attributes, with these types and values.
    fn literals(types: &[u16], null_bitmap: u8, values: &[u8]) -> Result<Vec<String>, Malformed> {
        let count = types.len() as u16;
        let block: Vec<u8> = types.iter().flat_map(|it| it.to_le_bytes()).collect();
        let execute = Execute {
            statement_id: 1,
            flags: 0,
            iterations: 1,
            parameter_count: types.len(),
            null_bitmap: &[null_bitmap],
            types: Some(&block),
            values,
        };
        let found = execute.literals(count, &block, |at| at == 7, Capabilities::default())?;
        let shown = |it: Option<Vec<u8>>| match it {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => "-".to_owned(),
        };
        Ok(found.into_iter().map(shown).collect())
    }

    #[test]
    fn each_kind_of_value_has_its_literal() {
        let mut values = vec![0xff];
        values.extend((-2i64).to_le_bytes());
        values.extend(1.5f64.to_le_bytes());
        values.extend(b"\x03abc");
        values.extend(b"\x03a'\\");
        values.extend(b"\x0b\xe8\x07\x01\x02\x03\x04\x05\x06\0\0\0");
        values.extend(b"\x08\x01\x01\0\0\0\x02\x03\x04");
        let kinds = [0x8001, 8, 5, 0xfd, 0xfd, 12, 11];
        let expected = [
            "255",
            "-2",
            "1.5e0",
            "'abc'",
            "X'61275C'",
            "'2024-01-02 03:04:05.000006'",
            "'-26:03:04'",
        ];
        assert_eq!(literals(&kinds, 0, &values).unwrap(), expected);
        for cut in 0..values.len() {
            assert!(literals(&kinds, 0, &values[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn null_and_long_data_take_no_bytes() {
        let kinds = [8, 1, 1, 1, 1, 1, 1, 252];
        let values = [7; 6];
        let found = literals(&kinds, 1, &values).unwrap();
        assert_eq!(found, ["NULL", "7", "7", "7", "7", "7", "7", "-"]);
    }

    #[test]
    fn nan_has_no_literal() {
        assert_eq!(literals(&[5], 0, &f64::NAN.to_le_bytes()).unwrap(), ["-"]);
    }
}
