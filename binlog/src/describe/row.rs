//! Describes rows: the value of each column by the column's name.

use std::fmt::Write as _;

use crate::rows::Row;
use crate::table_map::TableMap;
use crate::value::Value;

use super::shown::{Description, Shown};

/// Returns the values of a row. A column without a name is `@1`, `@2` …, as in `mysqlbinlog`. Columns that the
/// event does not contain are omitted.
pub fn describe_row(row: &Row<'_>, table: &TableMap) -> Description {
    let mut description = Description::default();
    let columns = table.columns.iter().enumerate();
    for ((index, column), value) in columns.zip(&row.values) {
        let Some(value) = value else { continue };
        let name = match &column.name {
            Some(name) => name.clone(),
            None => format!("@{}", index + 1),
        };
        let shown = shown(value, &name);
        description.fields.push((name, shown));
    }
    description
}

fn shown(value: &Value<'_>, column: &str) -> Shown {
    match value {
        Value::Null => Shown::Null,
        Value::Signed(number) => Shown::number(number),
        Value::SignUnknown { signed, unsigned } => Shown::SignUnknown(*signed, *unsigned),
        Value::Unsigned(number) => Shown::number(number),
        Value::Float(number) => float(f64::from(*number), || format!("{number:?}")),
        Value::Double(number) => float(*number, || format!("{number:?}")),
        // A text, because a JSON number would be rounded.
        Value::Decimal(digits) => Shown::Text(digits.clone()),
        Value::Bits(bits, width) => Shown::Text(format!("b'{bits:0width$b}'")),
        Value::Temporal(temporal) => Shown::Text(temporal.to_string()),
        Value::Text(text) => Shown::Text(text.clone().into_owned()),
        Value::Bytes(bytes) => Shown::Text(hex(bytes)),
        Value::Json(json) => Shown::Json(json.clone()),
        Value::JsonChanges(changes) => Shown::JsonChanges(column.to_owned(), changes.clone()),
        Value::Vector(numbers) => {
            let numbers = numbers.iter();
            let shown = numbers.map(|it| float(f64::from(*it), || format!("{it:?}")));
            Shown::List(shown.collect())
        }
    }
}

/// JSON cannot represent infinity or NaN, so those become NULL.
fn float(number: f64, digits: impl Fn() -> String) -> Shown {
    if number.is_finite() {
        Shown::Number(digits())
    } else {
        Shown::Null
    }
}

/// `0x0aff`
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
