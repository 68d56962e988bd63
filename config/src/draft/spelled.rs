//! Converts a value that a user has typed to TOML. An invalid value becomes a text, because the loading has
//! better messages about it.

use std::str::FromStr;

use toml_edit::{Array, Value};

use crate::ValueType;

/// A value for a setting of a kind.
///
/// # Errors
/// The text of the fault, if the value begins like a list but is no list.
pub fn value(kind: ValueType, text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    Ok(match kind {
        ValueType::List(of) => return list(*of, text),
        ValueType::Truth => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => true.into(),
            "false" | "off" | "0" => false.into(),
            _ => text.into(),
        },
        ValueType::Count | ValueType::Duration | ValueType::Size | ValueType::Fraction => {
            number(trimmed, text)
        }
        _ => text.into(),
    })
}

fn number(trimmed: &str, text: &str) -> Value {
    if let Ok(number) = trimmed.parse::<i64>() {
        return number.into();
    }
    match trimmed.parse::<f64>() {
        Ok(number) if number.is_finite() && trimmed.contains('.') => number.into(),
        _ => text.into(),
    }
}

/// Reads `["a", "b"]`, or `a, b` if that is unambiguous.
fn list(of: ValueType, text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('[') {
        let read = Value::from_str(text.trim());
        let list = read.ok().filter(Value::is_array);
        return list.ok_or_else(|| format!("must be a list such as [\"a\", \"b\"], not {text}"));
    }
    let mut items = Array::new();
    match of {
        ValueType::Statement => items.push(text),
        _ => {
            let words = text.split(',').map(str::trim).filter(|it| !it.is_empty());
            for word in words {
                items.push(value(of, word)?);
            }
        }
    }
    Ok(items.into())
}
