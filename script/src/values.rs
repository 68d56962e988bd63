//! Values of rows and parameters in Lua. NULL is nil. In the binary protocol (protocol page "Binary
//! Protocol Value") integers of up to 53 bits and floating-point numbers are numbers. Every other value is
//! the text that the server would have sent.

use mlua::{Lua, Value};
use wire::Reader;
use wire::binary_row::{BinaryRow, BinaryType, BinaryValue};
use wire::column::{ColumnDefinition, ColumnType};
use wire::write::put_lenenc_bytes;

/// The greatest integer up to which Lua's numbers represent every integer.
const NUMBER_MAX: i128 = 1 << 53;

/// The form of a value of the binary protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form(BinaryType);

impl Form {
    pub(crate) fn of_column(column: &ColumnDefinition<'_>) -> Self {
        Self(BinaryType::of_column(column))
    }

    /// The form of a type that a COM_STMT_EXECUTE declares.
    /// `None` for types that servers read differently (`get_ps_param_len`).
    pub(crate) fn of_parameter(declared: u16) -> Option<Self> {
        let kind = ColumnType(declared as u8);
        let form = BinaryType {
            kind,
            is_unsigned: declared & 0x8000 != 0,
        };
        (!matches!(kind, ColumnType::YEAR | ColumnType::INT24)).then_some(Self(form))
    }

    /// Reads a value that is not NULL.
    pub(crate) fn read(self, lua: &Lua, reader: &mut Reader<'_>) -> mlua::Result<Value> {
        let value = self.0.read(reader).map_err(mlua::Error::external)?;
        value_of(lua, value)
    }

    /// The next value of a row; NULL is nil.
    pub(crate) fn read_next(self, lua: &Lua, row: &mut BinaryRow<'_>) -> mlua::Result<Value> {
        match row.value(self.0).map_err(mlua::Error::external)? {
            Some(value) => value_of(lua, value),
            None => Ok(Value::Nil),
        }
    }

    /// Appends a value that is not NULL. The error says why the value does not have this form.
    pub(crate) fn put(self, out: &mut Vec<u8>, value: &Value) -> Result<(), String> {
        if let Some(size) = self.0.integer_bytes() {
            let number = integer_of(value).ok_or("it is no whole number")?;
            let bits = 8 * size as u32;
            let (min, max) = match self.0.is_unsigned {
                true => (0, (1_i128 << bits) - 1),
                false => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            };
            if number < min || number > max {
                return Err(format!("{number} is out of its column's range"));
            }
            out.extend_from_slice(&number.to_le_bytes()[..size]);
            return Ok(());
        }
        match self.0.kind {
            ColumnType::FLOAT => {
                let number = number_of(value).ok_or("it is no number")?;
                out.extend_from_slice(&(number as f32).to_le_bytes());
            }
            ColumnType::DOUBLE => {
                let number = number_of(value).ok_or("it is no number")?;
                out.extend_from_slice(&number.to_le_bytes());
            }
            ColumnType::DATE | ColumnType::DATETIME | ColumnType::TIMESTAMP => {
                let text = text_of(value)?;
                let bytes = date_bytes(&text).ok_or("it is no date (YYYY-MM-DD hh:mm:ss)")?;
                put_lenenc_bytes(out, &bytes);
            }
            ColumnType::TIME => {
                let text = text_of(value)?;
                let bytes = time_bytes(&text).ok_or("it is no time (hh:mm:ss)")?;
                put_lenenc_bytes(out, &bytes);
            }
            _ => put_lenenc_bytes(out, &text_of(value)?),
        }
        Ok(())
    }
}

fn value_of(lua: &Lua, value: BinaryValue<'_>) -> mlua::Result<Value> {
    Ok(match value {
        BinaryValue::Integer(number) if number.abs() <= NUMBER_MAX => Value::Number(number as f64),
        BinaryValue::Float(number) => Value::Number(number),
        other => Value::String(lua.create_string(other.to_text())?),
    })
}

pub(crate) fn text_of(value: &Value) -> Result<Vec<u8>, String> {
    match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Integer(number) => Ok(number.to_string().into_bytes()),
        Value::Number(number) => Ok(number.to_string().into_bytes()),
        Value::Boolean(is) => Ok(vec![b'0' + u8::from(*is)]),
        other => Err(format!("a {} is no value", other.type_name())),
    }
}

fn integer_of(value: &Value) -> Option<i128> {
    match value {
        Value::Integer(number) => Some(i128::from(*number)),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 2e19 => {
            Some(*number as i128)
        }
        Value::String(text) => text.to_str().ok()?.trim().parse().ok(),
        Value::Boolean(is) => Some(i128::from(*is)),
        _ => None,
    }
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        Value::String(text) => text.to_str().ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// The numbers between these separators; `None` if something else stands there.
fn numbers<const N: usize>(text: &str, marks: [char; N]) -> Option<Vec<u32>> {
    let mut rest = text;
    let mut found = Vec::with_capacity(N + 1);
    for mark in marks {
        let (number, behind) = rest.split_once(mark)?;
        found.push(number.parse().ok()?);
        rest = behind;
    }
    found.push(rest.parse().ok()?);
    Some(found)
}

/// The text before the decimal point, and the microseconds after it.
fn fraction_of(text: &str) -> Option<(&str, Option<u32>)> {
    let Some((whole, fraction)) = text.split_once('.') else {
        return Some((text, None));
    };
    let is_digits = fraction.bytes().all(|it| it.is_ascii_digit());
    if fraction.is_empty() || fraction.len() > 6 || !is_digits {
        return None;
    }
    let number: u32 = fraction.parse().ok()?;
    Some((whole, Some(number * 10_u32.pow(6 - fraction.len() as u32))))
}

fn date_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (date, clock) = match text.split_once([' ', 'T']) {
        Some((date, clock)) => (date, Some(clock)),
        None => (text, None),
    };
    let date = numbers(date, ['-', '-'])?;
    let mut bytes = u16::try_from(*date.first()?).ok()?.to_le_bytes().to_vec();
    for part in date.get(1..)? {
        bytes.push(u8::try_from(*part).ok()?);
    }
    if let Some(clock) = clock {
        let (clock, fraction) = fraction_of(clock)?;
        for part in numbers(clock, [':', ':'])? {
            bytes.push(u8::try_from(part).ok()?);
        }
        if let Some(microseconds) = fraction {
            bytes.extend_from_slice(&microseconds.to_le_bytes());
        }
    }
    Some(bytes)
}

fn time_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (clock, fraction) = fraction_of(text)?;
    let clock = numbers(clock, [':', ':'])?;
    let &[hours, minute, second] = clock.as_slice() else {
        return None;
    };
    let mut bytes = vec![u8::from(is_negative)];
    bytes.extend_from_slice(&(hours / 24).to_le_bytes());
    bytes.push((hours % 24) as u8);
    bytes.push(u8::try_from(minute).ok()?);
    bytes.push(u8::try_from(second).ok()?);
    if let Some(microseconds) = fraction {
        bytes.extend_from_slice(&microseconds.to_le_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(kind: ColumnType, is_unsigned: bool) -> Form {
        Form(BinaryType { kind, is_unsigned })
    }

    /// The Lua value of these bytes as text. Asserts that the value becomes the same bytes again.
    fn both_ways(form: Form, bytes: &[u8]) -> String {
        let lua = Lua::new();
        let mut reader = Reader::new(bytes);
        let value = form.read(&lua, &mut reader).unwrap();
        assert!(reader.is_empty());
        let mut again = Vec::new();
        form.put(&mut again, &value).unwrap();
        assert_eq!(again, bytes);
        value.to_string().unwrap()
    }

    #[test]
    fn numbers_come_back_as_they_were() {
        assert_eq!(both_ways(form(ColumnType::TINY, false), &[0xff]), "-1");
        assert_eq!(both_ways(form(ColumnType::TINY, true), &[0xff]), "255");
        assert_eq!(
            both_ways(form(ColumnType::SHORT, false), &[0, 0x80]),
            "-32768"
        );
        assert_eq!(
            both_ways(form(ColumnType::LONG, true), &[0xff; 4]),
            "4294967295"
        );
        let most = both_ways(form(ColumnType::LONGLONG, true), &[0xff; 8]);
        assert_eq!(most, "18446744073709551615");
        let least = both_ways(form(ColumnType::LONGLONG, false), &i64::MIN.to_le_bytes());
        assert_eq!(least, "-9223372036854775808");
        assert_eq!(
            both_ways(form(ColumnType::FLOAT, false), &0.1_f32.to_le_bytes()),
            "0.1"
        );
        assert_eq!(
            both_ways(form(ColumnType::DOUBLE, false), &0.25_f64.to_le_bytes()),
            "0.25"
        );
    }

    #[test]
    fn dates_and_times_round_trip_through_lua() {
        let date = form(ColumnType::DATE, false);
        assert_eq!(both_ways(date, &[4, 0xea, 0x07, 11, 22]), "2026-11-22");
        let moment = form(ColumnType::DATETIME, false);
        let bytes = [7, 0xea, 0x07, 11, 22, 23, 59, 1];
        assert_eq!(both_ways(moment, &bytes), "2026-11-22 23:59:01");
        let bytes = [11, 0xea, 0x07, 11, 22, 0, 0, 0, 64, 226, 1, 0];
        assert_eq!(both_ways(moment, &bytes), "2026-11-22 00:00:00.123456");
        let time = form(ColumnType::TIME, false);
        assert_eq!(both_ways(time, &[8, 1, 2, 0, 0, 0, 3, 4, 5]), "-51:04:05");
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let lua = Lua::new();
        let text = |text: &str| Value::String(lua.create_string(text).unwrap());
        for (kind, value) in [
            (ColumnType::TINY, Value::Number(128.0)),
            (ColumnType::LONG, Value::Number(0.5)),
            (ColumnType::LONG, text("x")),
            (ColumnType::DOUBLE, text("x")),
            (ColumnType::DATE, text("yesterday")),
            (ColumnType::DATETIME, text("2026-11-22 1:2:3.1234567")),
            (ColumnType::TIME, text("99999999999:0:0")),
            (
                ColumnType::VAR_STRING,
                Value::Table(lua.create_table().unwrap()),
            ),
        ] {
            let put = form(kind, false).put(&mut Vec::new(), &value);
            assert!(put.is_err(), "{kind:?} {value:?}");
        }
    }

    #[test]
    fn truncated_values_are_errors() {
        let lua = Lua::new();
        for kind in 0..=255 {
            let form = form(ColumnType(kind), false);
            assert!(form.read(&lua, &mut Reader::new(&[])).is_err(), "{kind}");
            assert!(
                form.read(&lua, &mut Reader::new(&[200, 1])).is_err()
                    || form.0.integer_bytes().is_some()
            );
        }
    }
}
