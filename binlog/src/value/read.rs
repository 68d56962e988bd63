//! Reads a column's value from a row image, by the column's type (`log_event_print_value` of the servers'
//! `log_event.cc`).

use std::borrow::Cow;

use wire::{Malformed, Reader};

use super::Value;
use super::decimal::read_decimal;
use super::temporal::Temporal;
use crate::column::{Column, ColumnType};
use crate::compressed::{inflate_raw, inflate_zlib};
use crate::encoding;
use crate::error::EventError;
use crate::json;

/// The server adds this number to a DATETIME2, so that values sort by their bytes.
const DATETIME_OFFSET: i64 = 0x80_0000_0000;

/// The high half of a compressed column's first byte, if zlib has compressed it.
const COMPRESSED_BY_ZLIB: u8 = 8;

/// Reads one value. `limit` is the maximum length of a decompressed column, in bytes.
pub(crate) fn read_value<'a>(
    reader: &mut Reader<'a>,
    column: &Column,
    limit: usize,
) -> Result<Value<'a>, EventError> {
    let metadata = usize::from(column.metadata);
    let value = match column.column_type {
        ColumnType::NULL => Value::Null,
        ColumnType::TINY => integer(reader, 1, column)?,
        ColumnType::SHORT => integer(reader, 2, column)?,
        ColumnType::INT24 => integer(reader, 3, column)?,
        ColumnType::LONG => integer(reader, 4, column)?,
        ColumnType::LONGLONG => integer(reader, 8, column)?,
        ColumnType::FLOAT => Value::Float(f32::from_le_bytes(reader.array("FLOAT")?)),
        ColumnType::DOUBLE => Value::Double(f64::from_le_bytes(reader.array("DOUBLE")?)),
        ColumnType::YEAR => {
            let year = u64::from(reader.u8("YEAR")?);
            Value::Unsigned(if year == 0 { 0 } else { 1900 + year })
        }
        ColumnType::NEWDECIMAL => {
            Value::Decimal(read_decimal(reader, metadata >> 8, metadata & 0xff)?)
        }
        ColumnType::BIT => bits(reader, column.metadata)?,
        ColumnType::ENUM => enumeration(reader, column)?,
        ColumnType::SET => set(reader, column)?,
        ColumnType::VARCHAR => text(sized(reader, length_bytes(metadata))?, column),
        ColumnType::STRING | ColumnType::VAR_STRING => {
            text(sized(reader, length_bytes(metadata))?, column)
        }
        ColumnType::BLOB
        | ColumnType::TINY_BLOB
        | ColumnType::MEDIUM_BLOB
        | ColumnType::LONG_BLOB => text(sized(reader, metadata)?, column),
        ColumnType::GEOMETRY => Value::Bytes(Cow::Borrowed(sized(reader, metadata)?)),
        ColumnType::VARCHAR_COMPRESSED => {
            expanded(sized(reader, length_bytes(metadata))?, column, limit)?
        }
        ColumnType::BLOB_COMPRESSED => expanded(sized(reader, metadata)?, column, limit)?,
        ColumnType::JSON => Value::Json(json::text(sized(reader, metadata)?)?),
        ColumnType::VECTOR => vector(sized(reader, metadata)?)?,
        _ => Value::Temporal(temporal(reader, column)?),
    };
    Ok(value)
}

/// A VARCHAR or CHAR of more than 255 bytes has two bytes of length.
pub(crate) fn length_bytes(length_max: usize) -> usize {
    if length_max > 255 { 2 } else { 1 }
}

pub(crate) fn sized<'a>(
    reader: &mut Reader<'a>,
    length_bytes: usize,
) -> Result<&'a [u8], Malformed> {
    if !(1..=4).contains(&length_bytes) {
        return Err(Malformed::Invalid("length of a column's length"));
    }
    let length = reader.uint(length_bytes, "length of a value")?;
    let length = usize::try_from(length).map_err(|_| Malformed::Truncated("value"))?;
    reader.bytes(length, "value")
}

fn integer<'a>(
    reader: &mut Reader<'_>,
    count: usize,
    column: &Column,
) -> Result<Value<'a>, Malformed> {
    let unsigned = reader.uint(count, "integer")?;
    let shift = 64 - 8 * count;
    let signed = (unsigned << shift).cast_signed() >> shift;
    Ok(match column.is_unsigned {
        Some(true) => Value::Unsigned(unsigned),
        None if signed < 0 => Value::SignUnknown { signed, unsigned },
        _ => Value::Signed(signed),
    })
}

/// The low byte of the metadata is the number of bits beyond whole bytes; the high byte is the number of whole bytes.
fn bits<'a>(reader: &mut Reader<'_>, metadata: u16) -> Result<Value<'a>, Malformed> {
    let width = usize::from(metadata >> 8) * 8 + usize::from(metadata & 0xff);
    if !(1..=64).contains(&width) {
        return Err(Malformed::Invalid("width of a BIT column"));
    }
    let bits = reader.uint_high_first(width.div_ceil(8), "BIT")?;
    Ok(Value::Bits(bits, width))
}

fn enumeration<'a>(reader: &mut Reader<'_>, column: &Column) -> Result<Value<'a>, Malformed> {
    let count = usize::from(column.metadata);
    if !(1..=2).contains(&count) {
        return Err(Malformed::Invalid("length of an ENUM column"));
    }
    let number = reader.uint(count, "ENUM")?;
    if column.labels.is_empty() {
        return Ok(Value::Unsigned(number));
    }
    // 0 stands for a value that is not in the ENUM. The server shows it as the empty string.
    let index = usize::try_from(number)
        .ok()
        .and_then(|it| it.checked_sub(1));
    let label = match index {
        None => Some(""),
        Some(index) => column.labels.get(index).map(String::as_str),
    };
    Ok(label.map_or(Value::Unsigned(number), |label| {
        Value::Text(Cow::Owned(label.to_owned()))
    }))
}

fn set<'a>(reader: &mut Reader<'_>, column: &Column) -> Result<Value<'a>, Malformed> {
    let count = usize::from(column.metadata);
    if !(1..=8).contains(&count) {
        return Err(Malformed::Invalid("length of a SET column"));
    }
    let bits = reader.uint(count, "SET")?;
    let known = column.labels.len();
    if known == 0 || (known < 64 && bits >> known != 0) {
        return Ok(Value::Unsigned(bits));
    }
    let labels = column.labels.iter().take(64).enumerate();
    let chosen = labels.filter(|(index, _)| bits >> index & 1 == 1);
    let chosen: Vec<&str> = chosen.map(|(_, label)| label.as_str()).collect();
    Ok(Value::Text(Cow::Owned(chosen.join(","))))
}

fn text<'a>(bytes: &'a [u8], column: &Column) -> Value<'a> {
    if let Some(native) = column.native {
        return native.value(bytes);
    }
    match encoding::text(bytes, column.collation) {
        Some(text) => Value::Text(text),
        None => Value::Bytes(padded(bytes, column)),
    }
}

/// Adds zero bytes, because the server removes those at the end of a BINARY(n).
fn padded<'a>(bytes: &'a [u8], column: &Column) -> Cow<'a, [u8]> {
    let length = usize::from(column.metadata);
    let is_binary =
        column.column_type == ColumnType::STRING && column.collation == Some(encoding::BINARY);
    if !is_binary || bytes.len() >= length {
        return Cow::Borrowed(bytes);
    }
    let mut padded = bytes.to_vec();
    padded.resize(length, 0);
    Cow::Owned(padded)
}

/// Decompresses the value of a MariaDB column with COMPRESSED.
fn expanded<'a>(bytes: &'a [u8], column: &Column, limit: usize) -> Result<Value<'a>, EventError> {
    Ok(match decompressed(bytes, limit)? {
        Cow::Borrowed(plain) => text(plain, column),
        Cow::Owned(plain) => match encoding::text(&plain, column.collation) {
            Some(text) => Value::Text(Cow::Owned(text.into_owned())),
            None => Value::Bytes(Cow::Owned(plain)),
        },
    })
}

/// Decompresses a column value. Its first byte is 0 and plain bytes follow; or the first byte is a header, and the
/// length and a zlib stream follow, with or without zlib's own header (`compress_zlib` of `field_comp.cc`). An
/// empty value has no bytes.
pub(crate) fn decompressed(bytes: &[u8], limit: usize) -> Result<Cow<'_, [u8]>, EventError> {
    const ITEM: &str = "compressed column";
    let mut reader = Reader::new(bytes);
    if bytes.is_empty() {
        return Ok(Cow::Borrowed(bytes));
    }
    let head = reader.u8(ITEM)?;
    if head == 0 {
        return Ok(Cow::Borrowed(reader.rest()));
    }
    if head >> 4 != COMPRESSED_BY_ZLIB {
        return Err(EventError::Compression(ITEM));
    }
    let length = reader.uint_high_first(usize::from(head & 0x07), ITEM)?;
    let length = usize::try_from(length).map_err(|_| Malformed::Invalid(ITEM))?;
    if length > limit {
        return Err(EventError::Inflated { item: ITEM, limit });
    }
    let plain = if head & 0x08 == 0 {
        inflate_zlib(reader.rest(), length, ITEM)?
    } else {
        inflate_raw(reader.rest(), length, ITEM)?
    };
    Ok(Cow::Owned(plain))
}

fn vector<'a>(bytes: &[u8]) -> Result<Value<'a>, Malformed> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Malformed::Invalid("length of a VECTOR"));
    }
    let numbers = numbers.iter().map(|it| f32::from_le_bytes(*it));
    Ok(Value::Vector(numbers.collect()))
}

fn temporal(reader: &mut Reader<'_>, column: &Column) -> Result<Temporal, EventError> {
    // At most six digits are valid. A larger number would ask for more bytes than an integer has.
    let digits = column.metadata.min(6) as u8;
    Ok(match column.column_type {
        ColumnType::DATE | ColumnType::NEWDATE => {
            let value = reader.uint(3, "DATE")? as u32;
            Temporal::Date(value >> 9, value >> 5 & 15, value & 31)
        }
        ColumnType::TIME => {
            let value = reader.uint(3, "TIME")?;
            let value = (value << 40).cast_signed() >> 40;
            let clock = value.unsigned_abs() as u32;
            let (hours, minutes, seconds) = (clock / 10_000, clock / 100 % 100, clock % 100);
            Temporal::Time {
                is_negative: value < 0,
                seconds: hours * 3600 + minutes * 60 + seconds,
                micros: 0,
                digits: 0,
            }
        }
        ColumnType::DATETIME => {
            let value = reader.u64("DATETIME")?;
            let (date, clock) = (value / 1_000_000, value % 1_000_000);
            let small = |it: u64| u32::try_from(it).unwrap_or(u32::MAX);
            Temporal::DateTime {
                date: (
                    small(date / 10_000),
                    small(date / 100 % 100),
                    small(date % 100),
                ),
                time: (
                    small(clock / 10_000),
                    small(clock / 100 % 100),
                    small(clock % 100),
                ),
                micros: 0,
                digits: 0,
            }
        }
        ColumnType::TIMESTAMP => Temporal::Timestamp {
            seconds: reader.u32("TIMESTAMP")?,
            micros: 0,
            digits: 0,
        },
        ColumnType::TIMESTAMP2 => Temporal::Timestamp {
            seconds: reader.uint_high_first(4, "TIMESTAMP")? as u32,
            micros: fraction(reader, digits)?,
            digits,
        },
        ColumnType::DATETIME2 => {
            let whole = reader.uint_high_first(5, "DATETIME")?.cast_signed() - DATETIME_OFFSET;
            let micros = fraction(reader, digits)?;
            date_time(whole.unsigned_abs(), micros, digits)
        }
        ColumnType::TIME2 => time2(reader, digits)?,
        _ => return Err(Malformed::Invalid("column type").into()),
    })
}

/// Reads a fraction of a second, in microseconds: two digits per byte, highest byte first.
fn fraction(reader: &mut Reader<'_>, digits: u8) -> Result<u32, Malformed> {
    let count = usize::from(digits).div_ceil(2);
    let value = reader.uint_high_first(count, "fraction of a second")? as u32;
    Ok(value.saturating_mul(100_u32.pow(3 - count as u32)))
}

/// Unpacks a DATETIME2: year × 13 + month, day, hour, minute, second.
fn date_time(whole: u64, micros: u32, digits: u8) -> Temporal {
    let (date, clock) = ((whole >> 17) as u32, (whole & 0x1_ffff) as u32);
    let months = date >> 5;
    Temporal::DateTime {
        date: (months / 13, months % 13, date & 31),
        time: (clock >> 12, clock >> 6 & 63, clock & 63),
        micros,
        digits,
    }
}

/// Reads a TIME2: one number that includes the fraction, so a negative value is negative as a whole.
fn time2(reader: &mut Reader<'_>, digits: u8) -> Result<Temporal, Malformed> {
    let count = usize::from(digits).div_ceil(2);
    let value = reader.uint_high_first(3 + count, "TIME")?.cast_signed();
    let value = value - (1 << (23 + 8 * count));
    let magnitude = value.unsigned_abs();
    let micros = (magnitude & ((1 << (8 * count)) - 1)) as u32;
    let clock = (magnitude >> (8 * count)) as u32;
    let (hours, minutes, seconds) = (clock >> 12 & 0x3ff, clock >> 6 & 63, clock & 63);
    Ok(Temporal::Time {
        is_negative: value < 0,
        seconds: hours * 3600 + minutes * 60 + seconds,
        micros: micros.saturating_mul(100_u32.pow(3 - count as u32)),
        digits,
    })
}

/// Unpacks a time in a JSON document: 24 bits of microseconds; above them hours, minutes and seconds.
pub(crate) fn packed_time(packed: i64) -> Temporal {
    let magnitude = packed.unsigned_abs();
    let clock = (magnitude >> 24) as u32;
    let (hours, minutes, seconds) = (clock >> 12 & 0x3ff, clock >> 6 & 63, clock & 63);
    Temporal::Time {
        is_negative: packed < 0,
        seconds: hours * 3600 + minutes * 60 + seconds,
        micros: (magnitude & 0xff_ffff) as u32,
        digits: 6,
    }
}

/// Unpacks a date and time in a JSON document: 24 bits of microseconds; above them the bits of a DATETIME2.
pub(crate) fn packed_date_time(packed: i64) -> Temporal {
    let magnitude = packed.unsigned_abs();
    date_time(magnitude >> 24, (magnitude & 0xff_ffff) as u32, 6)
}
