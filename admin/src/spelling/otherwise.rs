//! What SQLite has and says in other words: DIV, the separator of GROUP_CONCAT, a HAVING alone.

use std::collections::HashMap;

use sql::{Flags, Lexer, Token, TokenKind};

use super::casts::convert;
use super::operands::{inside, operand, operand_end, starts_operand};
use super::{FLAGS, Text};
use crate::engine::JOINED;
use crate::fault::Fault;

/// The most that is divided and multiplied in front of a DIV; also what that may grow by, in bytes.
const FACTORS_MAX: usize = 200;

/// What stands for tokens in SQLite, in front of them and behind them, by their places.
#[derive(Default)]
pub struct Otherwise {
    instead: HashMap<usize, String>,
    before: HashMap<usize, String>,
    behind: HashMap<usize, String>,
}

impl Otherwise {
    /// This stands for a token.
    pub fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.instead.insert(at, text.into());
    }

    /// This stands in front of it, and of what stands there already.
    pub fn before(&mut self, at: usize, text: &str) {
        self.before.entry(at).or_default().insert_str(0, text);
    }

    /// This stands behind it, and behind what stands there already.
    pub fn behind(&mut self, at: usize, text: &str) {
        self.behind.entry(at).or_default().push_str(text);
    }

    /// What stands for it.
    pub fn instead(&self, at: usize) -> Option<&str> {
        self.instead.get(&at).map(String::as_str)
    }

    /// What stands in front of it.
    pub fn in_front(&self, at: usize) -> &str {
        self.before.get(&at).map_or("", String::as_str)
    }

    /// What stands behind it.
    pub fn after(&self, at: usize) -> &str {
        self.behind.get(&at).map_or("", String::as_str)
    }
}

/// Whoever reads SQLite's own text.
const SQLITE: Flags = Flags {
    no_backslash_escapes: true,
    ansi_quotes: true,
    ..FLAGS
};

/// Finds what is said otherwise in a statement.
///
/// # Errors
/// What cannot be had here.
pub fn otherwise(text: Text<'_>) -> Result<Otherwise, Fault> {
    let mut divided = None;
    let mut said = Otherwise::default();
    for (at, token) in text.tokens.iter().enumerate() {
        let is_call = || text.text_of(at + 1) == "(";
        let word = text.written(token);
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        if word == "%" || is("MOD") && is_operator(text, at) {
            divided = Some(division(text, at, divided, &MOD, &mut said)?);
        } else if token.kind != TokenKind::Word {
            let operator = match word {
                "&&" => "AND",
                "<=>" => "IS",
                _ => continue,
            };
            said.insert(at, apart(text, at, operator));
        } else if is("CONVERT") && is_call() {
            convert(text, at, &mut said)?;
        } else if is("GROUP_CONCAT") && is_call() {
            separator(text, at, &mut said)?;
        } else if is("TRIM") && is_call() {
            trim(text, at, &mut said);
        } else if is("DIV") {
            divided = Some(division(text, at, divided, &DIV, &mut said)?);
        }
    }
    Ok(said)
}

/// A word in an operator's place, with a space where nothing was between that and its operand.
fn apart(text: Text<'_>, at: usize, word: &str) -> String {
    let is_close = |left: usize| {
        let pair = text.tokens.get(left..left + 2);
        pair.is_some_and(|it| {
            it.iter()
                .map(|it| it.span)
                .is_sorted_by(|a, b| a.end == b.start)
        })
    };
    let space = |is_close: bool| if is_close { " " } else { "" };
    let before = at.checked_sub(1).is_some_and(is_close);
    format!("{}{word}{}", space(before), space(is_close(at)))
}

/// What stands around two operands, and between them.
struct Around {
    name: &'static str,
    before: &'static str,
    between: &'static str,
    behind: &'static str,
}

/// `a DIV b` is what is whole of `a / b`.
const DIV: Around = Around {
    name: "DIV",
    before: "CAST(",
    between: "/",
    behind: " AS INTEGER)",
};

/// `a % b` and `a MOD b` have a fraction where one of them has.
const MOD: Around = Around {
    name: "%",
    before: "mod(",
    between: ",",
    behind: ")",
};

/// Whether a word stands between two operands, and is not the name of a function or of something else.
fn is_operator(text: Text<'_>, at: usize) -> bool {
    let is_operand = |at: usize| !starts_operand(text, at) && operand(text, at).is_some();
    let names = ["AS", ".", "AND"];
    at.checked_sub(1)
        .is_some_and(|last| is_operand(last) && !names.iter().any(|it| text.is_word(last, it)))
        && operand_end(text, at + 1).is_some()
}

/// `TRIM(LEADING x FROM y)` takes away a whole text, as often as it stands there; SQLite's takes away characters.
fn trim(text: Text<'_>, at: usize, said: &mut Otherwise) {
    let parts = inside(text, at + 1);
    let Some(from) = parts.iter().find(|it| is_word(text, **it, "FROM")) else {
        return;
    };
    let side = ["BOTH", "LEADING", "TRAILING"];
    let side = side.iter().find(|it| is_word(text, at + 2, it));
    let first = at + 2 + usize::from(side.is_some());
    said.insert(at, "trimmed");
    if side.is_some() {
        said.insert(at + 2, "");
    }
    said.behind(at + 1, &format!("'{}', ", side.unwrap_or(&"BOTH")));
    said.insert(*from, if first == *from { "' '," } else { "," });
}

/// What is divided, by the places where that begins and ends. So far has come what was divided last.
fn division(
    text: Text<'_>,
    at: usize,
    divided: Option<(usize, usize)>,
    around: &Around,
    said: &mut Otherwise,
) -> Result<(usize, usize), Fault> {
    let name = around.name;
    let unreadable = || {
        Fault::syntax(format!(
            "What {name} divides cannot be told; (a) {name} (b)"
        ))
    };
    let begins = |last: usize| match divided {
        Some((begin, end)) if end == last => Some(begin),
        _ => operand(text, last),
    };
    let mut last = at.checked_sub(1).ok_or_else(unreadable)?;
    let mut begin = begins(last).ok_or_else(unreadable)?;
    for count in 0.. {
        let operator = begin.checked_sub(1).map_or("", |it| text.text_of(it));
        if !["*", "/", "%", "DIV", "MOD"]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(operator))
        {
            break;
        }
        if count > FACTORS_MAX || said.in_front(begin).len() > FACTORS_MAX {
            return Err(Fault::syntax(format!(
                "There are too many factors beside {name}"
            )));
        }
        last = begin.checked_sub(2).ok_or_else(unreadable)?;
        begin = begins(last).ok_or_else(unreadable)?;
    }
    let end = operand_end(text, at + 1).ok_or_else(unreadable)?;
    if said.in_front(begin).len() > FACTORS_MAX {
        return Err(Fault::syntax(format!(
            "There are too many factors beside {name}"
        )));
    }
    said.insert(at, around.between);
    said.before(begin, around.before);
    said.behind(end, around.behind);
    Ok((begin, end))
}

/// `GROUP_CONCAT(x ORDER BY y SEPARATOR ',')`: the separator is an argument. Of what is DISTINCT, SQLite's aggregates
/// have one argument only: a list is made of it, and that is joined.
fn separator(text: Text<'_>, at: usize, said: &mut Otherwise) -> Result<(), Fault> {
    let parts = inside(text, at + 1);
    let place = |word: &str| parts.iter().copied().find(|it| is_word(text, *it, word));
    let (order, separator) = (place("ORDER"), place("SEPARATOR"));
    let is_distinct = is_word(text, at + 2, "DISTINCT");
    let values = parts
        .iter()
        .take_while(|it| Some(**it) != order.or(separator));
    if is_distinct && values.into_iter().any(|it| text.text_of(*it) == ",") {
        return Err(Fault::syntax(
            "GROUP_CONCAT(DISTINCT …) joins one value of each row: \
             GROUP_CONCAT(DISTINCT CONCAT(a, b) ORDER BY c SEPARATOR ';')",
        ));
    }
    let Some(separator) = separator else {
        return Ok(());
    };
    let value = text.tokens.get(separator + 1);
    let Some(value) = value.and_then(|it| super::string(it, text.text)) else {
        return Ok(());
    };
    let argument = format!(", {}", super::quoted(&value));
    said.insert(separator, String::new());
    said.insert(separator + 1, String::new());
    match (is_distinct, order) {
        (true, _) => {
            said.insert(at, format!("{JOINED}(json_group_array"));
            said.insert(separator + 2, format!("){argument})"));
        }
        (false, Some(order)) => said.insert(order, format!("{argument} ORDER")),
        (false, None) => said.insert(separator, argument),
    }
    Ok(())
}

fn is_word(text: Text<'_>, at: usize, word: &str) -> bool {
    text.text_of(at).eq_ignore_ascii_case(word)
}

/// A query of SQLite's with HAVING and without GROUP BY as a query over its result, which is what servers take
/// it for; nothing where it is not the statement's own HAVING, or one of several SELECTs.
pub fn without_lone_having(text: &str) -> Option<String> {
    let tokens: Vec<Token> = Lexer::new(text.as_bytes(), SQLITE).collect();
    let mut depth = 0_usize;
    let (mut having, mut order, mut limit) = (None, None, None);
    for token in &tokens {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            TokenKind::Word if depth == 0 => {
                let word = text.get(token.span.start as usize..token.span.end as usize)?;
                match &*word.to_ascii_uppercase() {
                    "UNION" | "INTERSECT" | "EXCEPT" | "GROUP" => return None,
                    "HAVING" => having = having.or(Some(token.span)),
                    "ORDER" => order = order.or(Some(token.span.start as usize)),
                    "LIMIT" => limit = limit.or(Some(token.span.start as usize)),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let having = having?;
    let limit = limit.unwrap_or(text.len());
    let order = order.unwrap_or(limit);
    let query = text.get(..having.start as usize)?;
    let condition = text.get(having.end as usize..order)?;
    // An order may be by what is not in the result.
    let (order, limit) = (text.get(order..limit)?, text.get(limit..)?);
    Some(format!(
        "SELECT * FROM ({query}{order}) WHERE{condition}{limit}"
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::spelling::tokens;

    #[test]
    fn what_sqlite_says_otherwise_is_said_so() {
        for (text, expected) in [
            ("SELECT CONVERT(a, CHAR)", "SELECT CAST(a AS TEXT )"),
            (
                "SELECT convert (max(a, b), UNSIGNED INTEGER)",
                "SELECT round (max(a, b), 0  )",
            ),
            ("SELECT CONVERT(a USING utf8mb4)", "SELECT CAST(a AS TEXT )"),
            (
                "SELECT 7 DIV 2 && a <=> NULL",
                "SELECT CAST(7 / 2 AS INTEGER) AND a IS NULL",
            ),
            (
                "SELECT null<=>null&&1, 1<=> 1, a/**/<=>b",
                "SELECT null IS null AND 1, 1 IS 1, a IS b",
            ),
            (
                "SELECT GROUP_CONCAT(a SEPARATOR \"'\")",
                "SELECT GROUP_CONCAT(a , '''' )",
            ),
            (
                "SELECT group_concat(f(a, b) ORDER BY a SEPARATOR ';')",
                "SELECT group_concat(f(a, b) , ';' ORDER BY a  )",
            ),
            (
                "SELECT GROUP_CONCAT(DISTINCT f(a, b) ORDER BY b, a SEPARATOR ';'), 1",
                "SELECT joined(json_group_array(DISTINCT f(a, b) ORDER BY b, a  ), ';'), 1",
            ),
            (
                "SELECT GROUP_CONCAT(DISTINCT a ORDER BY b, c)",
                "SELECT GROUP_CONCAT(DISTINCT a ORDER BY b, c)",
            ),
            (
                "SELECT 2 + AVG(x) * 3 DIV -10 * b DIV 4",
                "SELECT 2 + CAST(CAST(AVG(x) * 3 / -10 AS INTEGER) * b / 4 AS INTEGER)",
            ),
            (
                "SELECT @@version DIV 2, a.b DIV ?",
                "SELECT CAST(system_variable('version') / 2 AS INTEGER), CAST(a.b / ? AS INTEGER)",
            ),
            ("SELECT a % 2, b", "SELECT mod(a , 2), b"),
            ("SELECT a MOD (b) = 1", "SELECT mod(a , (b)) +00 = 1"),
            (
                "SELECT MOD(a, 2), a AS n, MOD(b, 2)",
                "SELECT MOD(a, 2), a AS n, MOD(b, 2)",
            ),
            (
                "SELECT 1 + a DIV 2 % 3",
                "SELECT 1 + mod(CAST(a / 2 AS INTEGER) , 3)",
            ),
            (
                "SELECT 7 % 4 % 2 FROM t WHERE a LIKE '%'",
                "SELECT mod(mod(7 , 4) , 2) FROM t WHERE a LIKE '%'",
            ),
            ("SELECT TRIM(a), trim( a )", "SELECT TRIM(a), trim( a )"),
            (
                "SELECT TRIM(LEADING 'x' FROM a)",
                "SELECT trimmed('LEADING',  'x' , a)",
            ),
            ("SELECT TRIM(b FROM a)", "SELECT trimmed('BOTH', b , a)"),
            (
                "SELECT TRIM(TRAILING FROM a)",
                "SELECT trimmed('TRAILING',  ' ', a)",
            ),
            ("SELECT convert FROM t", "SELECT convert FROM t"),
            ("SELECT convert(a", "SELECT convert(a"),
        ] {
            let tokens = tokens(text).unwrap();
            let spelled = Text::new(text, &tokens).in_sqlite().unwrap();
            assert_eq!(spelled, expected, "{text}");
        }
    }

    #[test]
    fn distinct_values_of_several_columns_are_to_be_made_one() {
        for text in [
            "SELECT GROUP_CONCAT(DISTINCT a, b)",
            "SELECT GROUP_CONCAT(DISTINCT a, ';' ORDER BY a)",
            "SELECT GROUP_CONCAT(DISTINCT a, b SEPARATOR ';')",
        ] {
            let tokens = tokens(text).unwrap();
            let fault = Text::new(text, &tokens).in_sqlite().unwrap_err();
            assert!(fault.text.contains("CONCAT(a, b)"), "{text}: {fault}");
        }
    }

    #[test]
    fn a_lone_having_looks_at_the_result() {
        for (text, expected) in [
            (
                "SELECT a AS b FROM t HAVING b IN ('x ORDER', (1)) ORDER BY b LIMIT 2",
                Some(
                    "SELECT * FROM (SELECT a AS b FROM t ORDER BY b ) WHERE b IN ('x ORDER', (1)) LIMIT 2",
                ),
            ),
            (
                r"SELECT '\' AS b HAVING b",
                Some(r"SELECT * FROM (SELECT '\' AS b ) WHERE b"),
            ),
            ("SELECT a FROM t GROUP BY a HAVING a", None),
            ("SELECT a UNION SELECT b HAVING b", None),
            ("SELECT (SELECT a HAVING a)", None),
        ] {
            assert_eq!(without_lone_having(text).as_deref(), expected, "{text}");
        }
    }
}
