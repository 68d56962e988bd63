//! LIKE and REGEXP as servers understand them, in bounded time and memory: SQLite looks at the clock between
//! two calls, and not in one.

use std::time::Instant;

use regex::{Regex, RegexBuilder};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value;
use rusqlite::{Connection, Error, ffi};

use super::servers_functions::{Outcome, text};
use crate::fault::Fault;

/// The longest pattern of LIKE, in bytes.
const LIKE_BYTES_MAX: usize = 1000;

/// The longest expression, in bytes.
const REGEX_BYTES_MAX: usize = 4096;

/// What an expression may take when it has been read, in bytes: the first of these that is enough.
const REGEX_SIZES: [usize; 4] = [1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// The most that the size of an expression times that of a text may be: each byte may visit the whole expression.
const REGEX_WORK_MAX: usize = 1 << 36;

/// How deep an expression's parentheses may be.
const REGEX_DEPTH_MAX: u32 = 50;

/// Steps between two looks at the clock.
const PACE: usize = 1 << 16;

/// Makes SQLite know them, until that moment at the most.
///
/// # Errors
/// SQLite's.
pub fn define(database: &Connection, deadline: Option<Instant>) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let late = move || match deadline.is_some_and(|it| Instant::now() >= it) {
        true => Err(Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_INTERRUPT),
            None,
        )),
        false => Ok(()),
    };
    database.create_scalar_function("like", 2, flags, move |it| like(it, late))?;
    database.create_scalar_function("regexp", 2, flags, move |it| {
        late()?;
        matched(it, 0, 1)
    })?;
    database.create_scalar_function("regexp_like", 2, flags, move |it| {
        late()?;
        matched(it, 1, 0)
    })?;
    Ok(())
}

fn refused(why: String) -> Error {
    Error::UserFunctionError(why.into())
}

/// `text LIKE pattern`: `%`, `_`, and a backslash in front of what is meant as it stands. ASCII's case does not
/// matter, as everywhere in SQLite.
fn like(context: &Context<'_>, late: impl Fn() -> rusqlite::Result<()>) -> Outcome {
    late()?;
    let (Some(pattern), Some(text)) = (text(context, 0), text(context, 1)) else {
        return Ok(Value::Null);
    };
    if pattern.len() > LIKE_BYTES_MAX {
        return Err(refused(format!(
            "A pattern of LIKE has at most {LIKE_BYTES_MAX} bytes"
        )));
    }
    Ok(Value::Integer(is_like(&pattern, &text, late)?.into()))
}

/// One piece of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Anything,
    One,
    Same(char),
}

/// In at most as many steps as the product of the two lengths.
fn is_like(
    pattern: &str,
    text: &str,
    late: impl Fn() -> rusqlite::Result<()>,
) -> rusqlite::Result<bool> {
    let pattern = pieces(pattern);
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut place, mut steps) = (0, 0, 0_usize);
    // Where the last `%` was, and how far the text had been read then.
    let mut last: Option<(usize, usize)> = None;
    while let Some(character) = text.get(place) {
        steps += 1;
        if steps.is_multiple_of(PACE) {
            late()?;
        }
        let fits = match pattern.get(at) {
            Some(Piece::Anything) => {
                last = Some((at, place));
                at += 1;
                continue;
            }
            Some(Piece::One) => true,
            Some(Piece::Same(expected)) => expected.eq_ignore_ascii_case(character),
            None => false,
        };
        if fits {
            at += 1;
            place += 1;
        } else if let Some((percent, read)) = last {
            last = Some((percent, read + 1));
            at = percent + 1;
            place = read + 1;
        } else {
            return Ok(false);
        }
    }
    let rest = pattern.get(at..).unwrap_or_default();
    Ok(rest.iter().all(|piece| *piece == Piece::Anything))
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut characters = pattern.chars();
    let mut pieces = Vec::new();
    while let Some(character) = characters.next() {
        pieces.push(match character {
            '%' => Piece::Anything,
            '_' => Piece::One,
            '\\' => Piece::Same(characters.next().unwrap_or('\\')),
            other => Piece::Same(other),
        });
    }
    pieces
}

/// An expression that has been read, and its size.
struct Expression {
    regex: Regex,
    size: usize,
}

/// Whether an expression is found in a text, whatever its case.
fn matched(context: &Context<'_>, expression: usize, whole: usize) -> Outcome {
    let (Some(written), Some(whole)) = (text(context, expression), text(context, whole)) else {
        return Ok(Value::Null);
    };
    let index = i32::try_from(expression).unwrap_or_default();
    let expression = context.get_or_create_aux(index, |_| read(&written))?;
    if expression.size.saturating_mul(whole.len()) > REGEX_WORK_MAX {
        return Err(refused(format!(
            "The text is too long for REGEXP: this expression is looked for in at most {} bytes",
            REGEX_WORK_MAX / expression.size
        )));
    }
    Ok(Value::Integer(expression.regex.is_match(&whole).into()))
}

fn read(written: &str) -> rusqlite::Result<Expression> {
    if written.len() > REGEX_BYTES_MAX {
        return Err(refused(format!(
            "An expression of REGEXP has at most {REGEX_BYTES_MAX} bytes"
        )));
    }
    let mut builder = RegexBuilder::new(written);
    builder.case_insensitive(true).nest_limit(REGEX_DEPTH_MAX);
    let mut fault = regex::Error::CompiledTooBig(0);
    for size in REGEX_SIZES {
        match builder.size_limit(size).dfa_size_limit(1 << 20).build() {
            Ok(regex) => return Ok(Expression { regex, size }),
            Err(error) => fault = error,
        }
        if !matches!(fault, regex::Error::CompiledTooBig(_)) {
            break;
        }
    }
    Err(Error::UserFunctionError(fault.into()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn texts_are_like_patterns() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("%", "", true),
            ("_", "", false),
            ("a%", "Abc", true),
            ("%c", "abc", true),
            ("%b", "abc", false),
            ("a_c", "abc", true),
            ("a_c", "abbc", false),
            (r"a\_c", "abc", false),
            (r"a\_c", "a_c", true),
            (r"100\%", "100%", true),
            (r"a\", r"a\", true),
            ("%ab%ab%", "xabyab", true),
            ("%ü_", "grün", true),
        ] {
            let found = is_like(pattern, text, || Ok(())).unwrap();
            assert_eq!(found, expected, "{text:?} LIKE {pattern:?}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        let pattern = "%a".repeat(500) + "b";
        assert!(!is_like(&pattern, &"a".repeat(10_000), || Ok(())).unwrap());
        let late = || Err(refused("late".to_owned()));
        assert!(is_like(&pattern, &"a".repeat(100_000), late).is_err());
    }

    fn found(expression: &str, deadline: Option<Instant>) -> rusqlite::Result<Option<i64>> {
        let database = Connection::open_in_memory().unwrap();
        define(&database, deadline).unwrap();
        database.query_row(&format!("SELECT {expression}"), [], |row| row.get(0))
    }

    #[test]
    fn expressions_are_found_in_texts() {
        for (expression, expected) in [
            ("'a' LIKE NULL", None),
            ("12 LIKE '1%'", Some(1)),
            ("'SELECT 1' REGEXP '^select [0-9]$'", Some(1)),
            ("'SELECT 1' NOT REGEXP '^x'", Some(1)),
            (r"regexp_like('a1', '^\w{2}$')", Some(1)),
            ("NULL REGEXP 'x'", None),
        ] {
            assert_eq!(found(expression, None).unwrap(), expected, "{expression}");
        }
    }

    #[test]
    fn what_takes_too_long_is_refused() {
        let long = "hex(zeroblob(600))";
        for (expression, why) in [
            ("'x' REGEXP '('".to_owned(), "unclosed"),
            ("'x' REGEXP '(a{1000}){1000}'".to_owned(), "size limit"),
            (
                format!("'x' REGEXP '{}'", "(".repeat(60) + &")".repeat(60)),
                "nest",
            ),
            (format!("'x' LIKE {long}"), "1000 bytes"),
            (
                format!("'x' REGEXP ({long} || {long} || {long} || {long})"),
                "4096 bytes",
            ),
            (
                "hex(zeroblob(1000000)) REGEXP '((a{50}){40}b)'".to_owned(),
                "too long for REGEXP",
            ),
        ] {
            let error = found(&expression, None).unwrap_err().to_string();
            assert!(error.contains(why), "{expression}: {error}");
        }
        for expression in ["'a' LIKE 'b'", "'a' REGEXP 'b'"] {
            let error = found(expression, Some(Instant::now())).unwrap_err();
            let code = error.sqlite_error_code();
            assert_eq!(
                code,
                Some(rusqlite::ErrorCode::OperationInterrupted),
                "{expression}"
            );
        }
    }
}
