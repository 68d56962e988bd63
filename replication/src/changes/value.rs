//! Values of columns as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write as _;

use binlog::{Column, ColumnType, JsonDiff, Temporal, Value};

/// The id of the collation `binary`.
pub const BINARY: u16 = 63;

/// Appends a text in quotes.
pub fn put_text(out: &mut String, text: &str) {
    // Serialising a text to memory does not fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// Appends a value. Integers keep all digits; DECIMAL becomes a text and keeps all digits, too.
pub fn put_value(out: &mut String, value: &Value<'_>, column: &Column) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Signed(number) | Value::SignUnknown { signed: number, .. } => put(out, number),
        Value::Unsigned(number) => put(out, number),
        Value::Float(number) => put_float(out, number.is_finite(), number),
        Value::Double(number) => put_float(out, number.is_finite(), number),
        Value::Decimal(digits) => put_text(out, digits),
        Value::Bits(bits, 1) => put(out, &(*bits != 0)),
        Value::Bits(bits, _) => put(out, bits),
        Value::Temporal(temporal) => put_text(out, &temporal_text(temporal)),
        Value::Text(text) => put_text(out, text),
        Value::Bytes(bytes) => put_bytes(out, bytes, column),
        Value::Json(text) => put_text(out, text),
        Value::JsonChanges(changes) => put_changes(out, changes),
        Value::Vector(numbers) => put_list(out, numbers, |out, number| {
            put_float(out, number.is_finite(), number);
        }),
    }
}

fn put(out: &mut String, value: &impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

/// JSON cannot represent infinity or NaN, so those become null.
fn put_float(out: &mut String, is_finite: bool, number: &impl std::fmt::Debug) {
    match is_finite {
        true => {
            let _ = write!(out, "{number:?}");
        }
        false => out.push_str("null"),
    }
}

fn put_list<T>(out: &mut String, items: &[T], mut item: impl FnMut(&mut String, &T)) {
    out.push('[');
    for (index, it) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        item(out, it);
    }
    out.push(']');
}

/// Returns the text in ISO 8601: a `T` between date and time.
fn temporal_text(temporal: &Temporal) -> String {
    let text = temporal.to_string();
    match temporal {
        Temporal::DateTime { .. } | Temporal::Timestamp { .. } => text.replacen(' ', "T", 1),
        Temporal::Date(..) | Temporal::Time { .. } => text,
    }
}

/// Appends bytes in base64. A text with an unknown character set becomes an object, to distinguish it from decoded
/// texts.
fn put_bytes(out: &mut String, bytes: &[u8], column: &Column) {
    if column.column_type == ColumnType::GEOMETRY
        && let Some((srid, wkb)) = bytes.split_first_chunk::<4>()
    {
        let srid = u32::from_le_bytes(*srid);
        let _ = write!(out, "{{\"srid\":{srid},\"wkb\":\"");
        STANDARD.encode_string(wkb, out);
        out.push_str("\"}");
        return;
    }
    let is_text = column.collation.is_some_and(|it| it != BINARY);
    out.push_str(if is_text { "{\"base64\":\"" } else { "\"" });
    STANDARD.encode_string(bytes, out);
    out.push_str(if is_text { "\"}" } else { "\"" });
}

/// Appends the partial changes of a document (`binlog_row_value_options = PARTIAL_JSON`). The log lacks the document.
fn put_changes(out: &mut String, changes: &[JsonDiff]) {
    out.push_str("{\"changes\":");
    put_list(out, changes, |out, change| {
        out.push_str("{\"operation\":");
        put_text(out, change.operation);
        out.push_str(",\"path\":");
        put_text(out, &change.path);
        if let Some(value) = &change.value {
            out.push_str(",\"value\":");
            out.push_str(value);
        }
        out.push('}');
    });
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(column_type: ColumnType, collation: Option<u16>) -> Column {
        Column {
            column_type,
            metadata: 0,
            is_nullable: true,
            is_unsigned: Some(false),
            name: None,
            collation,
            labels: Vec::new(),
            is_visible: true,
            geometry_type: None,
            dimensions: None,
            native: None,
        }
    }

    fn json(value: &Value<'_>, column_type: ColumnType, collation: Option<u16>) -> String {
        let mut out = String::new();
        put_value(&mut out, value, &column(column_type, collation));
        out
    }

    #[test]
    fn values_keep_their_digits_and_bytes_differ_from_texts() {
        let date_time = Temporal::DateTime {
            date: (2026, 2, 3),
            time: (4, 5, 6),
            micros: 70_000,
            digits: 2,
        };
        let timestamp = Temporal::Timestamp {
            seconds: 86_400,
            micros: 0,
            digits: 0,
        };
        let bytes = || Value::Bytes(b"\x01\x00\x00\x00\xff".into());
        for (value, column_type, collation, expected) in [
            (Value::Null, ColumnType::LONG, None, "null"),
            (
                Value::Unsigned(u64::MAX),
                ColumnType::LONGLONG,
                None,
                "18446744073709551615",
            ),
            (
                Value::Signed(i64::MIN),
                ColumnType::LONGLONG,
                None,
                "-9223372036854775808",
            ),
            (Value::Float(1.5), ColumnType::FLOAT, None, "1.5"),
            (Value::Double(f64::NAN), ColumnType::DOUBLE, None, "null"),
            (Value::Double(1e300), ColumnType::DOUBLE, None, "1e300"),
            (
                Value::Decimal("-0.10".to_owned()),
                ColumnType::NEWDECIMAL,
                None,
                "\"-0.10\"",
            ),
            (Value::Bits(1, 1), ColumnType::BIT, None, "true"),
            (Value::Bits(5, 3), ColumnType::BIT, None, "5"),
            (
                Value::Temporal(date_time),
                ColumnType::DATETIME2,
                None,
                "\"2026-02-03T04:05:06.07\"",
            ),
            (
                Value::Temporal(timestamp),
                ColumnType::TIMESTAMP2,
                None,
                "\"1970-01-02T00:00:00Z\"",
            ),
            (
                Value::Text("a\"\n".into()),
                ColumnType::BLOB,
                Some(45),
                "\"a\\\"\\n\"",
            ),
            (bytes(), ColumnType::BLOB, Some(BINARY), "\"AQAAAP8=\""),
            (bytes(), ColumnType::BLOB, None, "\"AQAAAP8=\""),
            (
                bytes(),
                ColumnType::VARCHAR,
                Some(28),
                "{\"base64\":\"AQAAAP8=\"}",
            ),
            (
                bytes(),
                ColumnType::GEOMETRY,
                None,
                "{\"srid\":1,\"wkb\":\"/w==\"}",
            ),
            (
                Value::Json("{\"a\": 1}".to_owned()),
                ColumnType::JSON,
                None,
                "\"{\\\"a\\\": 1}\"",
            ),
            (
                Value::Vector(vec![1.0, -2.5]),
                ColumnType::VECTOR,
                None,
                "[1.0,-2.5]",
            ),
        ] {
            assert_eq!(json(&value, column_type, collation), expected, "{value:?}");
        }
    }
}
