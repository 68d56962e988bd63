//! Operators that mean something else in SQLite: `/` of whole numbers, `!`, and comparing texts with numbers. `||`
//! joins texts, as in ProxySQL's port, where one of them stands there as a text; servers take it for OR, so between
//! anything else it is refused.

use sql::TokenKind;

use super::Text;
use super::columns::Columns;
use super::operands::{Operands, is_comparison, operand_end};
use super::otherwise::Otherwise;
use crate::engine::AS_NUMBER;
use crate::fault::Fault;

/// What makes a quotient of whole numbers one with a fraction.
const DIVIDED: &str = "*1e0/";

/// What makes a text the number that it begins with.
const NUMBER: &str = " +00";

/// The same in front of it.
const NUMBER_OF: &str = "00+ ";

/// Finds them.
///
/// # Errors
/// What servers take for OR; a text beside a number in what changes rows.
pub fn operators(text: Text<'_>, said: &mut Otherwise) -> Result<(), Fault> {
    let operands = Operands::of(text);
    let columns = Columns::of(text);
    check_joins(text, &operands)?;
    for (at, token) in text.tokens.iter().enumerate() {
        let word = text.written(token);
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        match word {
            "!" if at == 0 || text.text_of(at - 1) != "!" => negation(text, at, said)?,
            "/" => said.insert(at, DIVIDED),
            _ if operands.assigns(at) => {}
            _ if is_comparison(word) => {
                if is_number(text, at + 1) {
                    as_number(text, &operands, &columns, at, said)?;
                } else if at > 0
                    && is_number(text, at - 1)
                    && !operands.is_chained(at)
                    && !text.is_word(at + 1, "NOT")
                    && !columns.is_number(column_behind(text, at + 1), text.text_of(at - 1))?
                {
                    number_behind(text, &columns, at, said)?;
                }
            }
            _ if token.kind != TokenKind::Word => {}
            _ if is("DIV")
                && (has_fraction(text, at + 1) || at > 0 && has_fraction(text, at - 1)) =>
            {
                return Err(Fault::syntax("DIV is for whole numbers here; FLOOR(a / b)"));
            }
            _ if is("BETWEEN") && is_number(text, at + 1) => {
                as_number(text, &operands, &columns, at, said)?;
            }
            _ if is("IN") && are_numbers(text, at + 1) => {
                as_number(text, &operands, &columns, at, said)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// # Errors
/// What `||` stands between may be meant as OR.
fn check_joins(text: Text<'_>, operands: &Operands) -> Result<(), Fault> {
    let is_join = |at: &usize| text.text_of(*at) == "||";
    let mut joins = (0..text.tokens.len()).filter(is_join).peekable();
    let mut has_text = false;
    while let Some(at) = joins.next() {
        let is_text = |at: usize| text.kind_of(at) == TokenKind::String;
        has_text |= is_text(at + 1) || at > 0 && is_text(at - 1);
        // What is joined to more than one text needs one of them only.
        let goes_on = joins
            .peek()
            .is_some_and(|next| operands.start(*next) == at + 1);
        if is_disjunction(text, operands, at) || !(has_text || goes_on) {
            return Err(Fault::syntax(
                "|| joins texts here, as in ProxySQL, and is OR on servers: write CONCAT(a, b), or a OR b",
            ));
        }
        has_text &= goes_on;
    }
    Ok(())
}

/// Whether a number stands beside `||`, or what is compared in front of it is followed by no text.
fn is_disjunction(text: Text<'_>, operands: &Operands, at: usize) -> bool {
    let is_before = at > 0 && is_number(text, at - 1);
    let is_text = text.kind_of(at + 1) == TokenKind::String && !operands.compares(at + 1);
    is_before || is_number(text, at + 1) || (operands.is_chained(at) && !is_text)
}

/// `!` binds closer than NOT: to what stands behind it, and not to what that is compared with.
fn negation(text: Text<'_>, at: usize, said: &mut Otherwise) -> Result<(), Fault> {
    let mut begin = at;
    while text.text_of(begin) == "!" {
        said.insert(begin, "(NOT ");
        begin += 1;
    }
    let last = operand_end(text, begin)
        .ok_or_else(|| Fault::syntax("What ! is about cannot be told; NOT (x)"))?;
    said.behind(last, &")".repeat(begin - at));
    Ok(())
}

/// As a column was written, without what was put into it.
pub fn as_written(name: &str) -> String {
    let name = name.replace(DIVIDED, "/");
    name.replace(NUMBER, "").replace(NUMBER_OF, "")
}

/// What stands in front of a comparison is a number.
fn as_number(
    text: Text<'_>,
    operands: &Operands,
    columns: &Columns,
    at: usize,
    said: &mut Otherwise,
) -> Result<(), Fault> {
    let end = match at > 0 && text.is_word(at - 1, "NOT") {
        true => at - 1,
        false => at,
    };
    let Some(last) = end.checked_sub(1) else {
        return Ok(());
    };
    let is_operand = matches!(
        text.kind_of(last),
        TokenKind::Word | TokenKind::Quoted | TokenKind::Close | TokenKind::String
    );
    if !is_operand || operands.is_chained(end) {
        return Ok(());
    }
    let column = column_between(text, operands.start(end), last);
    let number = (at + 1..text.tokens.len()).find(|it| text.kind_of(*it) == TokenKind::Number);
    let number = number.map_or("0", |it| text.text_of(it));
    if !columns.is_number(column, number)? {
        match columns.changes() {
            true => {
                said.before(operands.start(end), &format!("{AS_NUMBER}("));
                said.behind(last, ")");
            }
            false => said.behind(last, NUMBER),
        }
    }
    Ok(())
}

/// What stands behind a comparison is a number.
fn number_behind(
    text: Text<'_>,
    columns: &Columns,
    at: usize,
    said: &mut Otherwise,
) -> Result<(), Fault> {
    if !columns.changes() {
        said.before(at + 1, NUMBER_OF);
        return Ok(());
    }
    let last = operand_end(text, at + 1).ok_or_else(|| {
        Fault::syntax(
            "What a number is compared with cannot be told; (x) = 1, with the number behind",
        )
    })?;
    let goes_on = ["+", "-", "*", "/", "%", "||", "DIV", "MOD"];
    if !goes_on.iter().any(|it| text.is_word(last + 1, it)) {
        said.before(at + 1, &format!("{AS_NUMBER}("));
        said.behind(last, ")");
    }
    Ok(())
}

fn has_fraction(text: Text<'_>, at: usize) -> bool {
    text.kind_of(at) == TokenKind::Number && !text.text_of(at).bytes().all(|it| it.is_ascii_digit())
}

/// Whether a number stands here, with its sign.
fn is_number(text: Text<'_>, at: usize) -> bool {
    let at = match text.text_of(at) {
        "-" | "+" => at + 1,
        _ => at,
    };
    text.kind_of(at) == TokenKind::Number
}

/// Whether a list in parentheses begins here that has nothing but numbers.
fn are_numbers(text: Text<'_>, open: usize) -> bool {
    if text.kind_of(open) != TokenKind::Open {
        return false;
    }
    let mut at = open;
    loop {
        if !is_number(text, at + 1) {
            return false;
        }
        at += match text.kind_of(at + 1) {
            TokenKind::Number => 2,
            _ => 3,
        };
        match text.kind_of(at) {
            TokenKind::Comma => {}
            kind => return kind == TokenKind::Close,
        }
    }
}

/// The column's name, where that is all that stands there, in parentheses or not.
fn column_between(text: Text<'_>, start: usize, last: usize) -> Option<String> {
    let (mut start, mut last) = (start, last);
    while start < last
        && text.kind_of(start) == TokenKind::Open
        && text.kind_of(last) == TokenKind::Close
    {
        (start, last) = (start + 1, last - 1);
    }
    let is_name = (start..=last).all(|at| {
        matches!(
            text.kind_of(at),
            TokenKind::Word | TokenKind::Quoted | TokenKind::Dot
        )
    });
    is_name.then(|| name(text, last)).flatten()
}

/// The same of what begins at a place.
fn column_behind(text: Text<'_>, begin: usize) -> Option<String> {
    let mut last = begin;
    while text.kind_of(last) == TokenKind::Open {
        last += 1;
    }
    let is_inside = last > begin;
    while text.kind_of(last + 1) == TokenKind::Dot {
        last += 2;
    }
    let is_all = match text.kind_of(last + 1) {
        TokenKind::Close | TokenKind::Comma | TokenKind::End => true,
        TokenKind::Word => !is_inside && !text.is_word(last + 1, "DIV"),
        _ => false,
    };
    is_all.then(|| name(text, last)).flatten()
}

fn name(text: Text<'_>, at: usize) -> Option<String> {
    let rest = Text::new(text.text, text.tokens.get(at..).unwrap_or_default());
    rest.name().map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::engine::AS_NUMBER;
    use crate::spelling::{Text, column_name, tokens};

    #[test]
    fn operators_mean_what_they_mean_on_servers() {
        for (text, expected) in [
            ("SELECT SUM(a)/SUM(b)", "SELECT SUM(a)*1e0/SUM(b)"),
            (
                "SELECT a = b || 'x', a || '' || b = 'c', a || (b) || 'c' || d",
                "SELECT a = b || 'x', a || '' || b = 'c', a || (b) || 'c' || d",
            ),
            ("SELECT '1' = 1", "SELECT '1' +00 = 1"),
            (
                "SELECT 1 FROM settings WHERE value > 5 AND 5 < value",
                "SELECT 1 FROM settings WHERE value +00 > 5 AND 5 < 00+ value",
            ),
            (
                "SELECT 1 WHERE value NOT BETWEEN -1 AND 2 OR value IN (1, 2)",
                "SELECT 1 WHERE value +00 NOT BETWEEN -1 AND 2 OR value +00 IN (1, 2)",
            ),
            (
                "SELECT a LIKE 'x' = 1, a IS NULL = 0, COUNT(a = b) > 1",
                "SELECT a LIKE 'x' = 1, a IS NULL = 0, COUNT(a = b) +00 > 1",
            ),
            (
                "SELECT 1 FROM digests d WHERE d.total_us > 5 AND 'x' = value",
                "SELECT 1 FROM digests d WHERE d.total_us > 5 AND 'x' = value",
            ),
            (
                "UPDATE backends SET weight = 5, name = 1 WHERE weight = 7",
                "UPDATE backends SET weight = 5, name = 1 WHERE weight = 7",
            ),
            (
                "SELECT value NOT IN (1, 'db2') OR value IN (-1, 2) OR value IN (1, x)",
                "SELECT value NOT IN (1, 'db2') OR value +00 IN (-1, 2) OR value IN (1, x)",
            ),
            (
                "DELETE FROM backends WHERE name NOT IN (1, 'db2') AND name = '7'",
                "DELETE FROM backends WHERE name NOT IN (1, 'db2') AND name = '7'",
            ),
        ] {
            let tokens = tokens(text).unwrap();
            let spelled = Text::new(text, &tokens).in_sqlite().unwrap();
            assert_eq!(spelled, expected, "{text}");
            assert_eq!(column_name(&spelled), text);
        }
    }

    #[test]
    fn what_servers_take_for_or_is_refused() {
        for text in [
            "SELECT 1 || 0",
            "SELECT 1 WHERE a = 'x' || b = 'y'",
            "SELECT (a > b || c IS NULL)",
            "SELECT a || b",
            "SELECT a || '' , b || c",
            "SELECT (a || '') || (b || c)",
            "SELECT a = 'x' || b",
            "SELECT a FROM t WHERE a || NOT b",
            "DELETE FROM backends WHERE draining || disabled",
        ] {
            let tokens = tokens(text).unwrap();
            let fault = Text::new(text, &tokens).in_sqlite().unwrap_err();
            assert!(fault.text.contains("a OR b"), "{text}: {fault}");
        }
    }

    #[test]
    fn what_changes_rows_compares_no_text_with_a_number() {
        for text in [
            "DELETE FROM backends WHERE name = 0",
            "DELETE FROM backends WHERE weight = 1 AND (backends.`name`) <> -1",
            "DELETE FROM backends WHERE 0 = name",
            "UPDATE backends SET weight = 5, draining = 1 WHERE 0 <= (name) AND draining",
            "UPDATE backends SET draining = 1 WHERE name NOT IN (1, 2)",
            "UPDATE backends SET name = CASE WHEN name > 5 THEN 'x' END",
            "DELETE FROM mysql_users WHERE username NOT BETWEEN 1 AND 2",
            "DELETE FROM backends WHERE name = (SELECT name FROM accounts WHERE user > 1)",
        ] {
            let tokens = tokens(text).unwrap();
            let fault = Text::new(text, &tokens).in_sqlite().unwrap_err();
            assert!(fault.text.contains("write '"), "{text}: {fault}");
        }
    }

    #[test]
    fn what_changes_rows_takes_no_text_for_a_number() {
        for (text, expected) in [
            (
                "DELETE FROM backends WHERE TRIM(name) = 0",
                "DELETE FROM backends WHERE N(TRIM(name)) = 0",
            ),
            (
                "DELETE FROM backends WHERE 0 = TRIM(name) AND weight = 1",
                "DELETE FROM backends WHERE 0 = N(TRIM(name)) AND weight = 1",
            ),
            (
                "DELETE FROM backends WHERE 7 <> name + 0 OR CONCAT(name, 1) NOT IN (1, 2)",
                "DELETE FROM backends WHERE 7 <> name + 0 OR N(CONCAT(name, 1)) NOT IN (1, 2)",
            ),
            (
                "UPDATE backends SET name = CASE WHEN LENGTH(name) > 5 THEN 'a' END, weight = (f(1) = 1)",
                "UPDATE backends SET name = CASE WHEN N(LENGTH(name)) > 5 THEN 'a' END, weight = (N(f(1)) = 1)",
            ),
            (
                "DELETE FROM backends WHERE COALESCE(name, 1) BETWEEN 1 AND 2",
                "DELETE FROM backends WHERE N(COALESCE(name, 1)) BETWEEN 1 AND 2",
            ),
            (
                "DELETE FROM backends WHERE 'a' = 0",
                "DELETE FROM backends WHERE N('a') = 0",
            ),
        ] {
            let tokens = tokens(text).unwrap();
            let spelled = Text::new(text, &tokens).in_sqlite().unwrap();
            assert_eq!(spelled.replace(AS_NUMBER, "N"), expected, "{text}");
        }
    }

    #[test]
    fn a_time_is_compared_with_no_number() {
        for text in [
            "SELECT * FROM events WHERE time > 20260131",
            "SELECT * FROM `events` AS e WHERE 20260131 <= e.time",
            "SELECT * FROM digests WHERE last_seen BETWEEN 20260101 AND 20260131",
            "SELECT * FROM slow_statements WHERE ended IN (1, 2)",
        ] {
            let tokens = tokens(text).unwrap();
            let fault = Text::new(text, &tokens).in_sqlite().unwrap_err();
            assert!(fault.text.contains("is a time"), "{text}: {fault}");
        }
        for text in [
            "SELECT * FROM events WHERE time > '2026-01-31' AND id > 5",
            "SELECT * FROM information_schema.PROCESSLIST WHERE TIME > 5",
            "SELECT * FROM stats_mysql_errors WHERE first_seen > 5",
            "SELECT * FROM events WHERE UNIX_TIMESTAMP(time) > 5 AND time = 'events'",
        ] {
            let tokens = tokens(text).unwrap();
            assert!(Text::new(text, &tokens).in_sqlite().is_ok(), "{text}");
        }
    }

    #[test]
    fn an_exclamation_mark_is_about_what_stands_behind_it() {
        for (text, expected) in [
            ("SELECT !weight = 5", "SELECT (NOT weight) = 5"),
            ("SELECT !a.b IS NULL", "SELECT (NOT a.b) IS NULL"),
            ("SELECT !f(a, 1) LIKE 'x'", "SELECT (NOT f(a, 1)) LIKE 'x'"),
            ("SELECT !!(a = 'b') + 1", "SELECT (NOT (NOT (a = 'b'))) + 1"),
            ("SELECT !-1, !NULL", "SELECT (NOT -1), (NOT NULL)"),
            (
                "SELECT 5 = !a, a != 'b'",
                "SELECT 5 = 00+ (NOT a), a != 'b'",
            ),
        ] {
            let tokens = tokens(text).unwrap();
            let spelled = Text::new(text, &tokens).in_sqlite().unwrap();
            assert_eq!(spelled, expected, "{text}");
        }
        for text in [
            "SELECT !CASE a WHEN 1 THEN 2 END",
            "SELECT !",
            "SELECT !BINARY a",
        ] {
            let tokens = tokens(text).unwrap();
            let fault = Text::new(text, &tokens).in_sqlite().unwrap_err();
            assert!(fault.text.contains("NOT (x)"), "{text}: {fault}");
        }
    }

    #[test]
    fn long_statements_are_read_in_linear_time() {
        let chain = |one: &str| one.repeat((1 << 18) / one.len());
        for (text, is_read) in [
            (format!("SELECT a{}", chain("=1+a")), true),
            (format!("SELECT a{}", chain(" AND a=1")), true),
            (format!("SELECT 1{}", chain(" OR 1=a.a")), true),
            (format!("SELECT {}a", chain("!")), true),
            (format!("SELECT a {}", chain("+ INTERVAL ")), false),
            (format!("SELECT a {}", chain("+ INTERVAL 1 DAY ")), false),
            (format!("SELECT a {}", chain("DIV a * a ")), false),
            (format!("SELECT {}", chain("CAST(")), false),
            (
                format!("SELECT {}a{}", chain("CONVERT("), chain(",CHAR)")),
                false,
            ),
            (format!("SELECT @@a{}", chain(".a")), false),
            (
                format!("INSERT INTO accounts VALUES (1,2){}", chain(",('a',2)")),
                true,
            ),
        ] {
            let tokens = tokens(&text).unwrap();
            let spelled = Text::new(&text, &tokens).in_sqlite();
            assert_eq!(spelled.is_ok(), is_read, "{text:.60}");
        }
    }
}
