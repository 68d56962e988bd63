//! More functions of texts that servers have and SQLite has not, or otherwise.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use serde_json::Value as Json;

use super::VALUE_BYTES_MAX;
use super::servers_functions::{Function, Outcome, count, located, text};
use crate::fault::Fault;

/// The function that joins a list's values.
pub const JOINED: &str = "joined";

/// Makes SQLite know them.
///
/// # Errors
/// SQLite's.
pub fn define(database: &Connection) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let functions: [Function; 18] = [
        ("length", 1, bytes),
        ("octet_length", 1, bytes),
        ("concat", -1, concat),
        ("distinct_key", -1, distinct_key),
        ("instr", 2, |it| located(it, 1, 0, 1)),
        ("lpad", 3, |it| {
            padded(it, |text, pad| format!("{pad}{text}"))
        }),
        ("rpad", 3, |it| {
            padded(it, |text, pad| format!("{text}{pad}"))
        }),
        ("repeat", 2, |it| {
            Ok(match text(it, 0) {
                Some(text) => repeated(it, 1, &text),
                None => Value::Null,
            })
        }),
        ("space", 1, |it| Ok(repeated(it, 0, " "))),
        ("reverse", 1, |it| {
            of(it, |text| Value::Text(text.chars().rev().collect()))
        }),
        ("ascii", 1, |it| {
            of(it, |text| {
                Value::Integer(text.bytes().next().unwrap_or_default().into())
            })
        }),
        ("hex", 1, hex),
        ("strcmp", 2, compared),
        ("elt", -1, chosen),
        ("is_null", 1, |it| {
            Ok(Value::Integer((it.get_raw(0) == ValueRef::Null).into()))
        }),
        ("mid", 3, |it| middle(it)),
        ("trimmed", 3, trimmed),
        (JOINED, 2, list_joined),
    ];
    for (name, arguments, function) in functions {
        database.create_scalar_function(name, arguments, flags, function)?;
    }
    Ok(())
}

/// A list's values with a text between each two, but for NULLs; NULL where there is nothing else.
fn list_joined(context: &Context<'_>) -> Outcome {
    let list: Vec<Json> = serde_json::from_str(&text(context, 0).unwrap_or_default())
        .map_err(|error| rusqlite::Error::UserFunctionError(error.into()))?;
    let between = text(context, 1).unwrap_or_default();
    let mut joined: Option<String> = None;
    for value in list {
        let value = match value {
            Json::Null => continue,
            Json::String(value) => value,
            other => other.to_string(),
        };
        let sofar = joined.take().map(|it| it + &between).unwrap_or_default();
        if sofar.len() + value.len() > VALUE_BYTES_MAX as usize {
            let too_big = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_TOOBIG);
            return Err(rusqlite::Error::SqliteFailure(too_big, None));
        }
        joined = Some(sofar + &value);
    }
    Ok(joined.map_or(Value::Null, Value::Text))
}

fn of(context: &Context<'_>, what: fn(&str) -> Value) -> Outcome {
    Ok(text(context, 0).map_or(Value::Null, |text| what(&text)))
}

fn bytes(context: &Context<'_>) -> Outcome {
    Ok(match context.get_raw(0) {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => count(bytes.len()),
        _ => text(context, 0).map_or(Value::Null, |text| count(text.len())),
    })
}

/// `TRIM(LEADING x FROM y)`: the side, the text that is taken away, and what it is taken from.
fn trimmed(context: &Context<'_>) -> Outcome {
    let (Some(side), Some(removed), Some(text)) =
        (text(context, 0), text(context, 1), text(context, 2))
    else {
        return Ok(Value::Null);
    };
    if removed.is_empty() {
        return Ok(Value::Text(text));
    }
    let mut rest = &*text;
    if side != "TRAILING" {
        rest = rest.trim_start_matches(&*removed);
    }
    if side != "LEADING" {
        rest = rest.trim_end_matches(&*removed);
    }
    Ok(Value::Text(rest.to_owned()))
}

/// NULL if one is, or if it is too long.
fn concat(context: &Context<'_>) -> Outcome {
    Ok(joined(context, |joined, text| joined.push_str(text)))
}

/// Several values as one, the same if they are; NULL if one is.
fn distinct_key(context: &Context<'_>) -> Outcome {
    Ok(joined(context, |joined, text| {
        joined.push_str(&format!("{}:{}", text.len(), text.to_ascii_lowercase()));
    }))
}

/// One argument behind the other.
fn joined(context: &Context<'_>, join: fn(&mut String, &str)) -> Value {
    let mut joined = String::new();
    for index in 0..context.len() {
        match text(context, index) {
            Some(text) => join(&mut joined, &text),
            None => return Value::Null,
        }
        if joined.len() > bytes_max() {
            return Value::Null;
        }
    }
    Value::Text(joined)
}

fn padded(context: &Context<'_>, join: fn(&str, &str) -> String) -> Outcome {
    let (Some(text), Some(length), Some(pad)) = (
        text(context, 0),
        context.get::<Option<i64>>(1)?,
        text(context, 2),
    ) else {
        return Ok(Value::Null);
    };
    let Some(length) = usize::try_from(length)
        .ok()
        .filter(|it| it.checked_mul(4).is_some_and(|bytes| bytes <= bytes_max()))
    else {
        return Ok(Value::Null);
    };
    let missing = length.saturating_sub(text.chars().count());
    if missing == 0 {
        return Ok(Value::Text(text.chars().take(length).collect()));
    }
    let padding: String = pad.chars().cycle().take(missing).collect();
    Ok(Value::Text(join(&text, &padding)))
}

fn repeated(context: &Context<'_>, index: usize, text: &str) -> Value {
    let Ok(Some(times)) = context.get::<Option<i64>>(index) else {
        return Value::Null;
    };
    let times = usize::try_from(times).unwrap_or_default();
    match text.len().checked_mul(times) {
        Some(length) if length <= bytes_max() => Value::Text(text.repeat(times)),
        _ => Value::Null,
    }
}

fn bytes_max() -> usize {
    usize::try_from(VALUE_BYTES_MAX).unwrap_or_default()
}

/// A number's digits, or a text's bytes.
fn hex(context: &Context<'_>) -> Outcome {
    Ok(match context.get_raw(0) {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Text(format!("{number:X}")),
        ValueRef::Real(number) => Value::Text(format!("{:X}", number.round() as i64)),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Value::Text(bytes.iter().map(|byte| format!("{byte:02X}")).collect())
        }
    })
}

fn compared(context: &Context<'_>) -> Outcome {
    let (Some(a), Some(b)) = (text(context, 0), text(context, 1)) else {
        return Ok(Value::Null);
    };
    let ordering = a.to_lowercase().cmp(&b.to_lowercase());
    Ok(Value::Integer(ordering as i64))
}

/// `elt(2, 'a', 'b')`
fn chosen(context: &Context<'_>) -> Outcome {
    let place = match context.is_empty() {
        true => None,
        false => context.get::<Option<i64>>(0)?,
    };
    let place = place.and_then(|it| usize::try_from(it).ok());
    let place = place.filter(|it| (1..context.len()).contains(it));
    Ok(place
        .and_then(|it| text(context, it))
        .map_or(Value::Null, Value::Text))
}

fn middle(context: &Context<'_>) -> Outcome {
    let (Some(text), Some(from), Some(length)) = (
        text(context, 0),
        context.get::<Option<i64>>(1)?,
        context.get::<Option<i64>>(2)?,
    ) else {
        return Ok(Value::Null);
    };
    let all = text.chars().count();
    let distance = usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX);
    let skipped = match from {
        1.. => distance - 1,
        0 => all,
        _ => all.checked_sub(distance).unwrap_or(all),
    };
    let length = usize::try_from(length).unwrap_or_default();
    Ok(Value::Text(
        text.chars().skip(skipped).take(length).collect(),
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn texts_are_made_as_on_servers() {
        let database = Connection::open_in_memory().unwrap();
        define(&database).unwrap();
        for (expression, expected) in [
            ("length('é')", Some("2")),
            ("trimmed('BOTH', 'ab', 'ababxab')", Some("x")),
            ("trimmed('LEADING', 'ab', 'abaxab')", Some("axab")),
            ("trimmed('TRAILING', 'ab', 'abab')", Some("")),
            ("trimmed('BOTH', '', 'x')", Some("x")),
            ("trimmed('BOTH', NULL, 'x')", None),
            ("concat('x', 1, 1.5)", Some("x11.5")),
            ("concat('x', NULL)", None),
            ("instr('abC', 'c')", Some("3")),
            ("lpad('ab', 5, 'xy')", Some("xyxab")),
            ("rpad('abc', 2, 'x')", Some("ab")),
            ("lpad('a', -1, 'x')", None),
            ("repeat('ab', 3)", Some("ababab")),
            ("repeat('ab', 1000000000)", None),
            ("length(space(3))", Some("3")),
            ("reverse('grün')", Some("nürg")),
            ("ascii('a')", Some("97")),
            ("hex(255)", Some("FF")),
            ("hex('é')", Some("C3A9")),
            ("strcmp('a', 'B')", Some("-1")),
            ("elt(2, 'a', 'b')", Some("b")),
            ("elt(3, 'a', 'b')", None),
            ("is_null(NULL)", Some("1")),
            ("mid('grün', -2, 5)", Some("ün")),
            ("lpad('a', 4611686018427387904, 'x')", None),
            ("rpad('a', 9223372036854775807, 'x')", None),
            ("space(9223372036854775807)", None),
            ("length(concat(space(4194304), ''))", Some("4194304")),
            ("concat(space(4194304), 'x')", None),
            ("distinct_key(space(4194304), 'x')", None),
        ] {
            let select = format!("SELECT CAST({expression} AS TEXT)");
            let found: Option<String> = database.query_row(&select, [], |row| row.get(0)).unwrap();
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
    }
}
