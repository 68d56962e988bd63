//! CAST and CONVERT: of the types that SQLite takes for others, or does not know.

use super::Text;
use super::operands::{end, inside};
use super::otherwise::Otherwise;
use crate::fault::Fault;
use sql::TokenKind;

/// `CAST(x AS type)`
///
/// # Errors
/// A type that cannot be had.
pub fn cast(text: Text<'_>, at: usize, said: &mut Otherwise) -> Result<(), Fault> {
    let parts = inside(text, at + 1);
    match parts.into_iter().rfind(|it| text.is_word(*it, "AS")) {
        Some(word) => to_type(text, at, word, said).map(|_| ()),
        None => Ok(()),
    }
}

/// `CONVERT(x, type)` and `CONVERT(x USING charset)` are casts.
///
/// # Errors
/// A type that cannot be had.
pub fn convert(text: Text<'_>, at: usize, said: &mut Otherwise) -> Result<(), Fault> {
    let parts = inside(text, at + 1);
    let comma = parts.iter().rfind(|it| text.text_of(**it) == ",");
    let using = parts.iter().find(|it| text.is_word(**it, "USING"));
    match (comma, using) {
        (_, Some(using)) => {
            said.insert(*using, "AS TEXT");
            said.insert(using + 1, "");
        }
        (Some(comma), None) => {
            if to_type(text, at, *comma, said)? {
                return Ok(());
            }
            said.insert(*comma, " AS ");
        }
        (None, None) => return Ok(()),
    }
    said.insert(at, "CAST");
    Ok(())
}

/// Says otherwise what a function at a place makes of its argument, by the type behind a word; false: SQLite
/// knows that type.
fn to_type(text: Text<'_>, at: usize, word: usize, said: &mut Otherwise) -> Result<bool, Fault> {
    let Some(close) = end(text, at + 1).filter(|it| *it > word) else {
        return Ok(false);
    };
    let digits = length(text, word + 2, "(")?;
    let scale = match digits {
        Some(_) => length(text, word + 4, ",")?.unwrap_or("0"),
        None => "0",
    };
    let kind = text.text_of(word + 1).to_ascii_uppercase();
    let (function, arguments) = match (&*kind, digits) {
        ("SIGNED" | "UNSIGNED", _) => ("round", ", 0".to_owned()),
        ("DECIMAL", _) => ("round", format!(", {scale}")),
        ("DATE", _) => ("date", String::new()),
        ("TIME", _) => ("time", String::new()),
        ("DATETIME" | "TIMESTAMP", _) => ("timestamp", String::new()),
        ("CHAR" | "NCHAR" | "BINARY" | "VARCHAR", Some(digits)) => ("left", format!(", {digits}")),
        ("CHAR" | "NCHAR" | "BINARY" | "VARCHAR", None) => ("CAST", " AS TEXT".to_owned()),
        ("JSON", _) => ("json", String::new()),
        ("YEAR", _) => return Err(Fault::syntax("There is no CAST to YEAR here; YEAR(x)")),
        _ => return Ok(false),
    };
    said.insert(at, function);
    for place in word..close {
        said.insert(place, "");
    }
    said.insert(word, arguments);
    Ok(true)
}

/// A number of a type's, behind what stands at this place.
fn length<'a>(text: Text<'a>, at: usize, behind: &str) -> Result<Option<&'a str>, Fault> {
    match text.text_of(at) == behind {
        false => Ok(None),
        true if text.kind_of(at + 1) == TokenKind::Number => Ok(Some(text.text_of(at + 1))),
        true => Err(Fault::syntax("The length of a type is a number")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::spelling::{Text, tokens};

    #[test]
    fn types_are_those_of_servers() {
        for (text, expected) in [
            (
                "SELECT CAST(a AS DECIMAL) n, b, ?",
                "SELECT round(a , 0) n, b, ?",
            ),
            ("SELECT CAST(a AS CHAR) (b)", "SELECT CAST(a AS TEXT) (b)"),
            ("SELECT CAST(a AS DECIMAL(10)), c", "SELECT round(a , 0), c"),
            (
                "SELECT CONVERT('2026-01-01', DATETIME(6)), CONVERT(a,DATE)",
                "SELECT timestamp('2026-01-01'), date(a)",
            ),
            (
                "SELECT CONVERT(a, DECIMAL(10, 2)), CONVERT(a, SIGNED), CONVERT(a, TIME)",
                "SELECT round(a, 2), round(a, 0), time(a)",
            ),
            (
                "SELECT CONVERT(CONVERT(a, DOUBLE), CHAR(3))",
                "SELECT left(CAST(a AS DOUBLE), 3)",
            ),
        ] {
            let tokens = tokens(text).unwrap();
            let spelled = Text::new(text, &tokens).in_sqlite().unwrap();
            let spelled: Vec<_> = spelled.split_whitespace().collect();
            assert_eq!(spelled.join(" ").replace(" )", ")"), expected, "{text}");
        }
        for text in [
            "SELECT CAST(a AS DECIMAL(?, ?))",
            "SELECT CAST(a AS CHAR(b))",
            "SELECT CONVERT(a, YEAR)",
        ] {
            let tokens = tokens(text).unwrap();
            assert!(Text::new(text, &tokens).in_sqlite().is_err(), "{text}");
        }
    }
}
