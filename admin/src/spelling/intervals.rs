//! What is said of times and types in words: intervals, units, and what stands between a function's
//! arguments in place of a comma.

use sql::TokenKind;

use super::Text;
use super::casts::cast;
use super::operands::{end, inside, operand};
use super::otherwise::Otherwise;
use crate::engine::times::UNITS;
use crate::fault::Fault;

/// What may stand behind SELECT and changes nothing here.
const MODIFIERS: [&str; 8] = [
    "SQL_NO_CACHE",
    "SQL_CACHE",
    "SQL_CALC_FOUND_ROWS",
    "SQL_SMALL_RESULT",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "HIGH_PRIORITY",
    "STRAIGHT_JOIN",
];

/// Names of one function.
const NAMES: [(&str, &str); 4] = [
    ("ISNULL", "is_null"),
    ("ADDDATE", "date_add"),
    ("SUBDATE", "date_sub"),
    ("POSITION", "locate"),
];

/// What may stand in front of what intervals are added to, in bytes: some 200 functions.
const CHAIN_BYTES_MAX: usize = 2000;

/// Finds what is said so.
///
/// # Errors
/// What cannot be had here.
pub fn intervals(text: Text<'_>, said: &mut Otherwise) -> Result<(), Fault> {
    // Where an operand begins that ends here.
    let mut started: Option<(usize, usize)> = None;
    for (at, token) in text.tokens.iter().enumerate() {
        if token.kind != TokenKind::Word || said.instead(at).is_some() {
            continue;
        }
        let word = text.written(token).to_ascii_uppercase();
        let is_call = text.text_of(at + 1) == "(";
        let parts = || inside(text, at + 1);
        if let Some((_, name)) = NAMES.iter().find(|(it, _)| is_call && *it == word) {
            said.insert(at, *name);
        }
        match &*word {
            "SELECT" => modifiers(text, at, said),
            "INTERVAL" => {
                let unit = unit_of(text, at);
                let unit = unit.ok_or_else(|| {
                    Fault::syntax(format!("INTERVAL has one of {}", UNITS.join(", ")))
                })?;
                interval(text, at, unit, &mut started, said)?;
            }
            "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" if is_call => {
                said.insert(at, "now")
            }
            "LOCALTIME" | "LOCALTIMESTAMP" | "UTC_TIMESTAMP" | "UTC_DATE" | "UTC_TIME"
                if !is_call =>
            {
                said.insert(at, format!("{word}()"));
            }
            "CURRENT_DATE" if is_call => said.insert(at, "curdate"),
            "CURRENT_TIME" if is_call => said.insert(at, "curtime"),
            "EXTRACT" if is_call => {
                unit_first(text, at, said);
                commas(text, &parts(), &["FROM"], said);
            }
            "TIMESTAMPDIFF" if is_call => unit_first(text, at, said),
            "TIMESTAMPADD" if is_call => {
                return Err(Fault::syntax(
                    "There is no TIMESTAMPADD here; DATE_ADD(x, INTERVAL n unit)",
                ));
            }
            "SUBSTRING" | "SUBSTR" | "MID" if is_call => {
                commas(text, &parts(), &["FROM", "FOR"], said)
            }
            "POSITION" if is_call => commas(text, &parts(), &["IN"], said),
            "COUNT" if is_call && text.is_word(at + 2, "DISTINCT") => {
                let parts = parts();
                let several = parts.iter().any(|it| text.text_of(*it) == ",");
                if let (true, Some(last)) = (several, end(text, at + 1)) {
                    said.before(at + 3, "distinct_key(");
                    said.behind(last - 1, ")");
                }
            }
            "CAST" if is_call => cast(text, at, said)?,
            "ROLLUP" if at > 0 && text.is_word(at - 1, "WITH") => {
                return Err(Fault::syntax(
                    "There is no WITH ROLLUP here; UNION ALL SELECT the sum of all",
                ));
            }
            "RLIKE" => said.insert(at, "REGEXP"),
            "XOR" => return Err(Fault::syntax("There is no XOR here; (a) <> (b)")),
            _ => {}
        }
    }
    Ok(())
}

fn modifiers(text: Text<'_>, at: usize, said: &mut Otherwise) {
    let mut at = at + 1;
    while MODIFIERS.iter().any(|it| text.is_word(at, it)) {
        said.insert(at, "");
        at += 1;
    }
    if text.is_word(at, "DISTINCTROW") {
        said.insert(at, "DISTINCT");
    }
}

/// `x + INTERVAL n unit` is `date_add(x, n, 'unit')`; so is what stands among the arguments of that.
fn interval(
    text: Text<'_>,
    at: usize,
    unit: usize,
    started: &mut Option<(usize, usize)>,
    said: &mut Otherwise,
) -> Result<(), Fault> {
    let name = text.text_of(unit).to_ascii_lowercase();
    said.insert(unit, format!(", '{name}'"));
    said.insert(at, "");
    let before = at.checked_sub(1).map_or("", |it| text.text_of(it));
    let function = match before {
        "," => return Ok(()),
        "+" => "date_add(",
        "-" => "date_sub(",
        _ => {
            return Err(Fault::syntax(
                "INTERVAL stands behind x + or x -, or in DATE_ADD(x, INTERVAL n unit)",
            ));
        }
    };
    let unreadable =
        || Fault::syntax("What INTERVAL is added to cannot be told; DATE_ADD(x, INTERVAL n unit)");
    let last = at.checked_sub(2).ok_or_else(unreadable)?;
    let start = match *started {
        Some((start, end)) if end == last => start,
        _ => operand(text, last).ok_or_else(unreadable)?,
    };
    if said.in_front(start).len() > CHAIN_BYTES_MAX {
        return Err(Fault::syntax("There are too many INTERVALs in one sum"));
    }
    said.insert(at - 1, ",");
    said.before(start, function);
    said.behind(unit, ")");
    *started = Some((start, unit));
    Ok(())
}

/// The unit of an interval: not one of another in it.
fn unit_of(text: Text<'_>, at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for place in at + 1..text.tokens.len() {
        match text.kind_of(place) {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.checked_sub(1)?,
            TokenKind::Comma if depth == 0 => return None,
            TokenKind::Word if depth == 0 && text.is_word(place, "INTERVAL") => return None,
            TokenKind::Word
                if depth == 0
                    && text.kind_of(place + 1) != TokenKind::Open
                    && UNITS.iter().any(|unit| text.is_word(place, unit)) =>
            {
                return Some(place);
            }
            _ => {}
        }
    }
    None
}

/// The first argument is a unit.
fn unit_first(text: Text<'_>, at: usize, said: &mut Otherwise) {
    let unit = text.text_of(at + 2).to_ascii_lowercase();
    let unit = unit.trim_start_matches("sql_tsi_").to_owned();
    if UNITS.iter().any(|it| it.eq_ignore_ascii_case(&unit)) {
        said.insert(at + 2, format!("'{unit}'"));
    }
}

/// These words stand for commas.
fn commas(text: Text<'_>, parts: &[usize], words: &[&str], said: &mut Otherwise) {
    for at in parts {
        if words.iter().any(|word| text.is_word(*at, word)) {
            said.insert(*at, ",");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::fault::Fault;
    use crate::spelling::{Text, tokens};

    fn spelled(text: &str) -> Result<String, Fault> {
        let tokens = tokens(text)?;
        let spelled = Text::new(text, &tokens).in_sqlite()?;
        let spelled: Vec<_> = spelled.split_whitespace().collect();
        Ok(spelled.join(" ").replace(" )", ")"))
    }

    #[test]
    fn words_become_arguments() {
        for (text, expected) in [
            (
                "SELECT NOW() - INTERVAL 5 MINUTE",
                "SELECT date_sub(NOW() , 5 , 'minute')",
            ),
            (
                "SELECT e.time + interval -1 day - INTERVAL x HOUR",
                "SELECT date_sub(date_add(e.time , -1 , 'day') , x , 'hour')",
            ),
            (
                "SELECT DATE_ADD(a, INTERVAL 1 + b DAY), ADDDATE('x', interval 1 year)",
                "SELECT DATE_ADD(a, 1 + b , 'day'), date_add('x', 1 , 'year')",
            ),
            (
                "SELECT EXTRACT(YEAR FROM a), TIMESTAMPDIFF(SECOND, a, b)",
                "SELECT EXTRACT('year' , a), TIMESTAMPDIFF('second', a, b)",
            ),
            (
                "SELECT SUBSTRING(a FROM 2 FOR 3), POSITION('x' IN a)",
                "SELECT SUBSTRING(a , 2 , 3), locate('x' , a)",
            ),
            (
                "SELECT CURRENT_TIMESTAMP(), UTC_DATE",
                "SELECT now(), UTC_DATE()",
            ),
            (
                "SELECT SQL_NO_CACHE a RLIKE 'x', COUNT(DISTINCT a, f(b))",
                "SELECT a REGEXP 'x', COUNT(DISTINCT distinct_key(a, f(b)))",
            ),
            (
                "SELECT CAST(a AS UNSIGNED), CAST(f(a) AS DECIMAL(10, 2)), CAST(a AS CHAR)",
                "SELECT round(a , 0), round(f(a) , 2), CAST(a AS TEXT)",
            ),
            (
                "SELECT NOW() - INTERVAL 1 DAY > 20260101000000 AND 5 < a + INTERVAL 1 DAY",
                "SELECT date_sub(NOW() , 1 , 'day') +00 > 20260101000000 AND 5 < 00+ date_add(a , 1 , 'day')",
            ),
            (
                "SELECT a + INTERVAL (DAY(b + INTERVAL 2 MONTH)) HOUR",
                "SELECT date_add(a , (DAY(date_add(b , 2 , 'month'))) , 'hour')",
            ),
            (
                "SELECT CAST(a AS CHAR(3)), CAST(a AS DATE)",
                "SELECT left(a , 3), date(a)",
            ),
        ] {
            assert_eq!(spelled(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        for (text, word) in [
            ("SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP", "ROLLUP"),
            ("SELECT a XOR b", "XOR"),
            ("SELECT a + INTERVAL '1:2' MINUTE_SECOND", "INTERVAL"),
            ("SELECT INTERVAL 1 DAY + a", "INTERVAL"),
            (
                "SELECT CASE a WHEN b THEN c END + INTERVAL 1 DAY",
                "DATE_ADD",
            ),
            ("SELECT TIMESTAMPADD(DAY, 1, a)", "TIMESTAMPADD"),
        ] {
            let fault = spelled(text).unwrap_err();
            assert!(
                fault.code.number == 1064 && fault.text.contains(word),
                "{text}: {fault}"
            );
        }
    }
}
