//! Functions that servers have and SQLite has not.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};

use crate::fault::Fault;

/// What a function comes to.
pub type Outcome = rusqlite::Result<Value>;

/// A function: its name, how many arguments it takes (-1: any number), what it does.
pub type Function = (&'static str, i32, fn(&Context<'_>) -> Outcome);

/// Makes SQLite know them.
///
/// # Errors
/// SQLite's.
pub fn define(database: &Connection) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let functions: [Function; 17] = [
        ("ucase", 1, |it| mapped(it, |text| text.to_uppercase())),
        ("lcase", 1, |it| mapped(it, |text| text.to_lowercase())),
        ("char_length", 1, length),
        ("character_length", 1, length),
        ("least", -1, |it| extreme(it, "<")),
        ("greatest", -1, |it| extreme(it, ">")),
        ("locate", 2, |it| located(it, 0, 1, 1)),
        ("locate", 3, |it| {
            let from = it.get::<Option<i64>>(2)?.unwrap_or_default();
            located(it, 0, 1, usize::try_from(from).unwrap_or_default())
        }),
        ("left", 2, |it| piece(it, |count, _| (0, count))),
        ("right", 2, |it| {
            piece(it, |count, all| (all.saturating_sub(count), all))
        }),
        ("substring_index", 3, substring_index),
        ("field", -1, field),
        ("find_in_set", 2, find_in_set),
        ("no_such_grant", 1, |it| {
            let user = text(it, 0).unwrap_or_default();
            refuse(format!("There is no such grant defined for user {user}"))
        }),
        (AS_NUMBER, 1, as_number),
        ("last_insert_id", 0, |_| Ok(Value::Integer(0))),
        ("current_role", 0, |_| Ok(Value::Text("NONE".to_owned()))),
    ];
    for (name, arguments, function) in functions {
        database.create_scalar_function(name, arguments, flags, function)?;
    }
    Ok(())
}

/// An argument as a text; nothing where it is NULL.
pub fn text(context: &Context<'_>, index: usize) -> Option<String> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// The function that has a text be the number that it is, where rows are changed.
pub const AS_NUMBER: &str = "whole_number_or_fraction";

/// A number as it is; a text that is one as that. Any other is refused, as by servers in strict mode.
fn as_number(context: &Context<'_>) -> Outcome {
    match context.get_raw(0) {
        ValueRef::Text(_) | ValueRef::Blob(_) => {
            let text = text(context, 0).unwrap_or_default();
            match (text.trim().parse::<i64>(), text.trim().parse::<f64>()) {
                (Ok(number), _) => Ok(Value::Integer(number)),
                (Err(_), Ok(number)) if number.is_finite() => Ok(Value::Real(number)),
                _ => {
                    let text: String = text.chars().take(64).collect();
                    refuse(format!("Truncated incorrect DOUBLE value: '{text}'"))
                }
            }
        }
        _ => context.get(0),
    }
}

fn refuse(text: String) -> Outcome {
    Err(rusqlite::Error::UserFunctionError(text.into()))
}

fn mapped(context: &Context<'_>, map: fn(&str) -> String) -> Outcome {
    Ok(text(context, 0).map_or(Value::Null, |text| Value::Text(map(&text))))
}

fn length(context: &Context<'_>) -> Outcome {
    Ok(text(context, 0).map_or(Value::Null, |text| count(text.chars().count())))
}

/// A number of things.
pub fn count(count: usize) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The smallest or largest of the arguments; NULL if one is.
fn extreme(context: &Context<'_>, which: &str) -> Outcome {
    let values = (0..context.len()).map(|index| context.get::<Value>(index));
    let values = values.collect::<rusqlite::Result<Vec<_>>>()?;
    if values.is_empty() || values.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    let better = |a: &Value, b: &Value| {
        let ordering = match (number(a), number(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => shown(a).cmp(&shown(b)),
        };
        match which {
            "<" => ordering.is_lt(),
            _ => ordering.is_gt(),
        }
    };
    let mut values = values.into_iter();
    let first = values.next().unwrap_or(Value::Null);
    Ok(values.fold(
        first,
        |best, next| if better(&next, &best) { next } else { best },
    ))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Null | Value::Blob(_) => String::new(),
    }
}

/// The place of a part in a whole, from 1; 0: it is not there.
pub fn located(context: &Context<'_>, part: usize, whole: usize, from: usize) -> Outcome {
    let (Some(part), Some(whole)) = (text(context, part), text(context, whole)) else {
        return Ok(Value::Null);
    };
    let (part, whole) = (part.to_lowercase(), whole.to_lowercase());
    let Some(skipped) = from.checked_sub(1) else {
        return Ok(Value::Integer(0));
    };
    let Some(start) = whole
        .char_indices()
        .map(|(at, _)| at)
        .chain([whole.len()])
        .nth(skipped)
    else {
        return Ok(Value::Integer(0));
    };
    let rest = whole.get(start..).unwrap_or_default();
    let place = rest.find(&part).and_then(|at| rest.get(..at));
    Ok(count(
        place.map_or(0, |before| skipped + before.chars().count() + 1),
    ))
}

/// Some characters of a text, by how many are asked for and how many there are.
fn piece(context: &Context<'_>, which: fn(usize, usize) -> (usize, usize)) -> Outcome {
    let (Some(text), Some(wanted)) = (text(context, 0), context.get::<Option<i64>>(1)?) else {
        return Ok(Value::Null);
    };
    let wanted = usize::try_from(wanted).unwrap_or_default();
    let (start, end) = which(wanted, text.chars().count());
    let piece = text.chars().skip(start).take(end - start);
    Ok(Value::Text(piece.collect()))
}

/// What stands before the so manieth separator, or behind it, counted from the end.
fn substring_index(context: &Context<'_>) -> Outcome {
    let (Some(text), Some(separator), Some(wanted)) = (
        text(context, 0),
        text(context, 1),
        context.get::<Option<i64>>(2)?,
    ) else {
        return Ok(Value::Null);
    };
    if separator.is_empty() {
        return Ok(Value::Text(String::new()));
    }
    let pieces: Vec<&str> = text.split(&*separator).collect();
    let kept = usize::try_from(wanted.unsigned_abs())
        .unwrap_or(usize::MAX)
        .min(pieces.len());
    let kept = match wanted < 0 {
        true => pieces.get(pieces.len() - kept..),
        false => pieces.get(..kept),
    };
    Ok(Value::Text(kept.unwrap_or_default().join(&separator)))
}

/// The place of the first argument among the others.
fn field(context: &Context<'_>) -> Outcome {
    let wanted = text(context, 0);
    let place =
        (1..context.len()).find(|index| wanted.is_some() && text(context, *index) == wanted);
    Ok(count(place.unwrap_or(0)))
}

/// The place of a text in a list with commas.
fn find_in_set(context: &Context<'_>) -> Outcome {
    let (Some(wanted), Some(list)) = (text(context, 0), text(context, 1)) else {
        return Ok(Value::Null);
    };
    let place = list.split(',').position(|it| it == wanted);
    Ok(count(place.map_or(0, |place| place + 1)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn functions_do_what_they_do_on_servers() {
        let database = Connection::open_in_memory().unwrap();
        define(&database).unwrap();
        for (expression, expected) in [
            ("ucase('ß') || lcase('A')", Some("SSa")),
            ("char_length('grün')", Some("4")),
            ("least(3, 2, 5)", Some("2")),
            ("greatest('a', 'c', 'b')", Some("c")),
            ("least(1, NULL)", None),
            ("locate('B', 'abcb')", Some("2")),
            ("locate('b', 'abcb', 3)", Some("4")),
            ("locate('b', 'abcb', 0)", Some("0")),
            ("locate('x', 'abcb')", Some("0")),
            ("locate('ü', 'grün', 99)", Some("0")),
            ("left('grün', 3)", Some("grü")),
            ("left('grün', -1)", Some("")),
            ("right('grün', 2)", Some("ün")),
            ("right('ab', 9)", Some("ab")),
            ("substring_index('a.b.c', '.', 2)", Some("a.b")),
            ("substring_index('a.b.c', '.', -1)", Some("c")),
            ("substring_index('a.b.c', '', 1)", Some("")),
            ("field('b', 'a', 'b')", Some("2")),
            ("find_in_set('b', 'a,b')", Some("2")),
            ("whole_number_or_fraction(' 7 ')", Some("7")),
            ("whole_number_or_fraction('1.5')", Some("1.5")),
            ("whole_number_or_fraction(7)", Some("7")),
            ("whole_number_or_fraction(NULL)", None),
        ] {
            let select = format!("SELECT CAST({expression} AS TEXT)");
            let found: Option<String> = database.query_row(&select, [], |row| row.get(0)).unwrap();
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
    }
    #[test]
    fn a_text_that_is_no_number_is_refused_and_not_taken_for_0() {
        let database = Connection::open_in_memory().unwrap();
        define(&database).unwrap();
        for text in ["a", "", "7a", "inf", "NaN", "0x10", "1 2"] {
            let select = format!("SELECT {AS_NUMBER}('{text}')");
            let found = database.query_row(&select, [], |row| row.get::<_, Value>(0));
            let fault = Fault::from(found.unwrap_err());
            assert_eq!(fault.code.number, 1292, "{text}: {fault}");
        }
    }
}
