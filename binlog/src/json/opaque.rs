//! Values in JSON documents whose types JSON lacks: decimals, dates, times, bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wire::{Malformed, Reader};

use crate::column::ColumnType;
use crate::value::{Temporal, packed_date_time, packed_time, read_decimal};

/// Returns the JSON text of a value whose type JSON lacks, as MySQL writes it: bytes become `"base64:type252:…"`.
pub(super) fn text(column_type: u8, bytes: &[u8]) -> Result<String, Malformed> {
    const ITEM: &str = "value in a JSON document";
    let mut reader = Reader::new(bytes);
    match ColumnType(column_type) {
        ColumnType::NEWDECIMAL => {
            let (precision, scale) = (reader.u8(ITEM)?, reader.u8(ITEM)?);
            read_decimal(&mut reader, usize::from(precision), usize::from(scale))
        }
        ColumnType::DATE => {
            let whole = packed_date_time(reader.u64(ITEM)?.cast_signed());
            let date = match whole {
                Temporal::DateTime { date, .. } => Temporal::Date(date.0, date.1, date.2),
                other => other,
            };
            Ok(format!("\"{date}\""))
        }
        ColumnType::DATETIME | ColumnType::TIMESTAMP => {
            let packed = reader.u64(ITEM)?.cast_signed();
            Ok(format!("\"{}\"", packed_date_time(packed)))
        }
        ColumnType::TIME => {
            let packed = reader.u64(ITEM)?.cast_signed();
            Ok(format!("\"{}\"", packed_time(packed)))
        }
        _ => Ok(format!(
            "\"base64:type{column_type}:{}\"",
            STANDARD.encode(bytes)
        )),
    }
}
