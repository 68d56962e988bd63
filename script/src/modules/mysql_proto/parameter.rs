//! The values of COM_STMT_EXECUTE, as scripts see them: numbers, strings, and dates as text.

use mlua::{IntoLua, Lua, Table, Value};
use wire::Reader;
use wire::execute::Execute;

use super::packet_fault::PacketFault;

/// In a type's flags: the number is unsigned.
const UNSIGNED: u16 = 0x8000;

mod kind {
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const NULL: u8 = 6;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const DATETIME: u8 = 12;
    pub(super) const VARCHAR: u8 = 15;
    pub(super) const JSON: u8 = 245;
    pub(super) const NEWDECIMAL: u8 = 246;
    pub(super) const TINY_BLOB: u8 = 249;
    pub(super) const STRING: u8 = 254;
}

/// An array of `{type = …, value = …}`; NULL has no value.
pub(super) fn all(lua: &Lua, execute: &Execute<'_>) -> Result<Table, PacketFault> {
    let mut types = Reader::new(execute.types.unwrap_or_default());
    let mut values = Reader::new(execute.values);
    let all = lua.create_table()?;
    for index in 0..execute.parameter_count {
        let flags = types.u16("type")?;
        let of = flags as u8;
        let is_null = is_null(execute.null_bitmap, index) || of == kind::NULL;
        let value = match is_null {
            true => Value::Nil,
            false => value(lua, &mut values, of, flags & UNSIGNED != 0)?,
        };
        let parameter = lua.create_table()?;
        parameter.raw_set("type", of)?;
        parameter.raw_set("value", value)?;
        all.raw_set(index + 1, parameter)?;
    }
    Ok(all)
}

fn is_null(bitmap: &[u8], index: usize) -> bool {
    let byte = bitmap.get(index / 8).copied().unwrap_or(0);
    byte >> (index % 8) & 1 == 1
}

fn value(lua: &Lua, reader: &mut Reader<'_>, of: u8, unsigned: bool) -> Result<Value, PacketFault> {
    let number = match of {
        kind::TINY => integer::<1>(reader, unsigned)?,
        kind::SHORT => integer::<2>(reader, unsigned)?,
        kind::LONG | kind::INT24 => integer::<4>(reader, unsigned)?,
        kind::LONGLONG => integer::<8>(reader, unsigned)?,
        kind::FLOAT => f32::from_le_bytes(array(reader)?).into(),
        kind::DOUBLE => f64::from_le_bytes(array(reader)?),
        kind::DATE => return text(lua, date(reader)?),
        kind::DATETIME | kind::TIMESTAMP => return text(lua, date_and_time(reader)?),
        kind::TIME => return text(lua, time(reader)?),
        kind::VARCHAR | kind::JSON | kind::NEWDECIMAL | kind::TINY_BLOB..=kind::STRING => {
            let text = reader.lenenc_bytes("string")?;
            return Ok(Value::String(lua.create_string(text)?));
        }
        _ => return Err(PacketFault::Malformed),
    };
    Ok(Value::Number(number))
}

fn text(lua: &Lua, text: String) -> Result<Value, PacketFault> {
    Ok(text.into_lua(lua)?)
}

fn array<const N: usize>(reader: &mut Reader<'_>) -> Result<[u8; N], PacketFault> {
    let bytes = reader.bytes(N, "value")?;
    bytes.try_into().map_err(|_| PacketFault::Malformed)
}

/// An integer as a double, the type of Lua's numbers; beyond 53 bits the nearest double.
fn integer<const N: usize>(reader: &mut Reader<'_>, unsigned: bool) -> Result<f64, PacketFault> {
    let bytes = array::<N>(reader)?;
    let is_negative = !unsigned && bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut wide = if is_negative { [0xff; 8] } else { [0; 8] };
    wide[..N].copy_from_slice(&bytes);
    Ok(match unsigned {
        true => u64::from_le_bytes(wide) as f64,
        false => i64::from_le_bytes(wide) as f64,
    })
}

/// The value's own bytes, filled up with zeros; `lengths` are the valid lengths.
fn parts<const N: usize>(reader: &mut Reader<'_>, lengths: &[u8]) -> Result<[u8; N], PacketFault> {
    let length = reader.u8("length")?;
    if !lengths.contains(&length) {
        return Err(PacketFault::Malformed);
    }
    let mut parts = [0; N];
    let bytes = reader.bytes(length.into(), "value")?;
    for (to, from) in parts.iter_mut().zip(bytes) {
        *to = *from;
    }
    Ok(parts)
}

fn date(reader: &mut Reader<'_>) -> Result<String, PacketFault> {
    let [a, b, month, day, ..] = parts::<11>(reader, &[0, 4, 7, 11])?;
    let year = u16::from_le_bytes([a, b]);
    Ok(format!("{year:04}-{month:02}-{day:02}"))
}

/// After the decimal point the wire's microseconds have nine digits, as the original prints them.
fn date_and_time(reader: &mut Reader<'_>) -> Result<String, PacketFault> {
    let all = parts::<11>(reader, &[0, 4, 7, 11])?;
    let [a, b, month, day, hour, minute, second, micros @ ..] = all;
    let year = u16::from_le_bytes([a, b]);
    let micros = u32::from_le_bytes(micros);
    Ok(format!(
        "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:09}"
    ))
}

fn time(reader: &mut Reader<'_>) -> Result<String, PacketFault> {
    let all = parts::<12>(reader, &[0, 8, 12])?;
    let [is_negative, a, b, c, d, hour, minute, second, micros @ ..] = all;
    let sign = if is_negative == 0 { "" } else { "-" };
    let days = u32::from_le_bytes([a, b, c, d]);
    let micros = u32::from_le_bytes(micros);
    Ok(format!(
        "{sign}{days} {hour:02}:{minute:02}:{second:02}.{micros:09}"
    ))
}
