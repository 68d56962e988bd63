//! Functions of numbers that servers have and SQLite has not.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};

use super::servers_functions::{Function, Outcome, text};
use crate::fault::Fault;

/// The most digits behind the point.
const DIGITS_MAX: i64 = 30;

/// Makes SQLite know them.
///
/// # Errors
/// SQLite's.
pub fn define(database: &Connection) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let functions: [Function; 17] = [
        ("format", 2, format),
        ("ceil", 1, |it| whole(it, f64::ceil)),
        ("ceiling", 1, |it| whole(it, f64::ceil)),
        ("floor", 1, |it| whole(it, f64::floor)),
        ("round", 1, |it| rounded(it, f64::round)),
        ("round", 2, |it| rounded(it, f64::round)),
        ("truncate", 2, |it| rounded(it, f64::trunc)),
        ("mod", 2, remainder),
        ("pow", 2, |it| of_two(it, f64::powf)),
        ("power", 2, |it| of_two(it, f64::powf)),
        ("sqrt", 1, |it| of_one(it, f64::sqrt)),
        ("exp", 1, |it| of_one(it, f64::exp)),
        ("ln", 1, |it| of_one(it, f64::ln)),
        ("log", 1, |it| of_one(it, f64::ln)),
        ("log2", 1, |it| of_one(it, f64::log2)),
        ("log10", 1, |it| of_one(it, f64::log10)),
        ("log", 2, |it| of_two(it, |base, x| x.log(base))),
    ];
    for (name, arguments, function) in functions {
        database.create_scalar_function(name, arguments, flags, function)?;
    }
    database.create_scalar_function("rand", 0, FunctionFlags::SQLITE_UTF8, |_| Ok(random()))?;
    Ok(())
}

/// An argument as a number: a text is the one that it begins with.
pub fn number(context: &Context<'_>, index: usize) -> Option<f64> {
    match context.get_raw(index) {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(_) | ValueRef::Blob(_) => {
            let text = text(context, index)?;
            let text = text.trim_start();
            let is_of_number =
                |it: &char| it.is_ascii_digit() || matches!(it, '.' | '-' | '+' | 'e' | 'E');
            let mut begins: String = text.chars().take_while(is_of_number).collect();
            while !begins.is_empty() {
                if let Ok(number) = begins.parse() {
                    return Some(number);
                }
                begins.pop();
            }
            Some(0.0)
        }
    }
}

/// NULL where it is no number.
fn real(number: f64) -> Value {
    match number.is_finite() {
        true => Value::Real(number),
        false => Value::Null,
    }
}

fn of_one(context: &Context<'_>, what: fn(f64) -> f64) -> Outcome {
    Ok(number(context, 0).map_or(Value::Null, |it| real(what(it))))
}

fn of_two(context: &Context<'_>, what: fn(f64, f64) -> f64) -> Outcome {
    Ok(match (number(context, 0), number(context, 1)) {
        (Some(a), Some(b)) => real(what(a, b)),
        _ => Value::Null,
    })
}

fn whole(context: &Context<'_>, what: fn(f64) -> f64) -> Outcome {
    if let ValueRef::Integer(number) = context.get_raw(0) {
        return Ok(Value::Integer(number));
    }
    Ok(number(context, 0).map_or(Value::Null, |it| Value::Integer(what(it) as i64)))
}

/// To so many digits behind the point, or in front of it.
fn rounded(context: &Context<'_>, what: fn(f64) -> f64) -> Outcome {
    let digits = match context.len() {
        1 => Some(0.0),
        _ => number(context, 1),
    };
    let (Some(number), Some(digits)) = (number(context, 0), digits) else {
        return Ok(Value::Null);
    };
    if let (ValueRef::Integer(whole), true) = (context.get_raw(0), digits >= 0.0) {
        return Ok(Value::Integer(whole));
    }
    let digits = (digits as i64).clamp(-DIGITS_MAX, DIGITS_MAX);
    let scale = 10_f64.powi(digits.unsigned_abs() as i32);
    let rounded = match digits < 0 {
        true => what(number / scale) * scale,
        false if number.abs() * scale > 1e15 => number,
        false => what(number * scale) / scale,
    };
    Ok(match digits <= 0 && rounded.abs() < 9e15 {
        true => Value::Integer(rounded as i64),
        false => real(rounded),
    })
}

fn remainder(context: &Context<'_>) -> Outcome {
    if let (ValueRef::Integer(a), ValueRef::Integer(b)) = (context.get_raw(0), context.get_raw(1)) {
        return Ok(a.checked_rem(b).map_or(Value::Null, Value::Integer));
    }
    of_two(context, |a, b| a % b)
}

/// `FORMAT(x, digits)`: with a comma between thousands.
fn format(context: &Context<'_>) -> Outcome {
    let (Some(number), Some(digits)) = (number(context, 0), number(context, 1)) else {
        return Ok(Value::Null);
    };
    let digits = (digits as i64).clamp(0, DIGITS_MAX) as usize;
    let plain = match context.get_raw(0) {
        ValueRef::Integer(whole) if digits == 0 => whole.to_string(),
        _ => format!("{number:.digits$}"),
    };
    let (sign, plain) = match plain.strip_prefix('-') {
        Some(plain) => ("-", plain),
        None => ("", &*plain),
    };
    let (whole, behind) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut grouped = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped.push_str(behind);
    Ok(Value::Text(grouped))
}

/// A number from 0 up to 1, of which nothing secret is made.
fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_reckoned_as_on_servers() {
        let database = Connection::open_in_memory().unwrap();
        define(&database).unwrap();
        for (expression, expected) in [
            ("format(1234567.891, 2)", Some("1,234,567.89")),
            ("format(-1234, 0)", Some("-1,234")),
            ("format('12abc', 1)", Some("12.0")),
            ("format(NULL, 1)", None),
            ("ceil(1.2)", Some("2")),
            ("floor(-1.2)", Some("-2")),
            ("round(1234.567, 2)", Some("1234.57")),
            ("round(1250, -2)", Some("1300")),
            ("round(2.5)", Some("3")),
            ("truncate(1.999, 1)", Some("1.9")),
            ("mod(7.5, 2)", Some("1.5")),
            ("mod(7, 0)", None),
            ("mod(7.5, 0)", None),
            ("pow(2, 10)", Some("1024.0")),
            ("sqrt(-1)", None),
            ("log(2, 8)", Some("3.0")),
            ("rand() >= 0 AND rand() < 1", Some("1")),
        ] {
            let select = format!("SELECT CAST({expression} AS TEXT)");
            let found: Option<String> = database.query_row(&select, [], |row| row.get(0)).unwrap();
            assert_eq!(found.as_deref(), expected, "{expression}");
        }
    }
}
