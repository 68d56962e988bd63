//! The columns that a table is searched by, from the conditions in EXPLAIN FORMAT=JSON. Servers write each column there
//! with its table's name, whatever the statement looks like.

use serde_json::Value;
use sql::{Flags, Lexer, Token, TokenKind};

/// The most columns per table.
const COLUMNS_MAX: usize = 8;

/// The JSON fields that have conditions: of MySQL 5.7 and 8, of MariaDB, of MySQL's newer format.
const FIELDS: &[&str] = &["attached_condition", "index_condition", "condition"];

const DEPTH_MAX: u32 = 64;

/// How a column is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Search {
    /// With one value, or several: an index can use a further column after it.
    Equal,
    /// With a range: an index can use no further column after it.
    Range,
}

/// The columns by which an index could find a table's rows; columns compared with single values come first.
/// Empty if the conditions are alternatives (OR).
pub fn columns(json: &Value, alias: &str) -> Vec<String> {
    let mut conditions = Vec::new();
    gather(json, 0, &mut conditions);
    let mut found: Vec<(Search, String)> = Vec::new();
    for condition in conditions {
        for (search, column) in searched(condition, alias) {
            if !found.iter().any(|(_, known)| *known == column) {
                found.push((search, column));
            }
        }
    }
    found.sort_by_key(|(search, _)| *search);
    // After a range, an index can use no further column, so at most one range column is kept.
    let equal = found
        .iter()
        .filter(|(search, _)| *search == Search::Equal)
        .count();
    found.truncate((equal + 1).min(COLUMNS_MAX));
    found.into_iter().map(|(_, column)| column).collect()
}

fn gather<'a>(node: &'a Value, depth: u32, conditions: &mut Vec<&'a str>) {
    if depth > DEPTH_MAX {
        return;
    }
    match node {
        Value::Array(nodes) => nodes
            .iter()
            .for_each(|it| gather(it, depth + 1, conditions)),
        Value::Object(fields) => {
            let said = FIELDS
                .iter()
                .filter_map(|field| fields.get(*field)?.as_str());
            conditions.extend(said);
            fields
                .values()
                .for_each(|it| gather(it, depth + 1, conditions));
        }
        _ => {}
    }
}

/// The columns of a table that one condition compares, and how.
fn searched(condition: &str, alias: &str) -> Vec<(Search, String)> {
    let said = Condition::of(condition);
    if said.has_alternatives() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < said.tokens.len() {
        let length = said.name_length(at);
        let end = at + (2 * length).max(2) - 1;
        if length >= 2
            && said.name(at + 2 * (length - 2)) == alias
            && let Some(search) = said.search(at, end)
        {
            found.push((search, said.name(end - 1)));
        }
        at = end;
    }
    found
}

/// A condition, in tokens.
struct Condition<'a> {
    text: &'a [u8],
    tokens: Vec<Token>,
}

impl<'a> Condition<'a> {
    fn of(condition: &'a str) -> Self {
        let text = condition.as_bytes();
        Self {
            text,
            tokens: Lexer::new(text, Flags::default()).collect(),
        }
    }

    /// A token as it is written.
    fn token_text(&self, at: Option<usize>) -> &'a [u8] {
        let token = at.and_then(|at| self.tokens.get(at));
        token.map_or(&[], |token| token.span.of(self.text))
    }

    fn is(&self, at: Option<usize>, words: &[&str]) -> bool {
        let said = self.token_text(at);
        words
            .iter()
            .any(|word| said.eq_ignore_ascii_case(word.as_bytes()))
    }

    fn kind(&self, at: usize) -> TokenKind {
        self.tokens.get(at).map_or(TokenKind::End, |it| it.kind)
    }

    fn is_word(&self, at: Option<usize>) -> bool {
        let kind = at.map(|at| self.kind(at));
        matches!(kind, Some(TokenKind::Word | TokenKind::Quoted))
    }

    fn name(&self, at: usize) -> String {
        let name = self.tokens.get(at).map(|it| it.span.name(self.text));
        String::from_utf8_lossy(&name.unwrap_or_default()).into_owned()
    }

    /// Whether the condition has alternatives (OR) or a negation (NOT).
    fn has_alternatives(&self) -> bool {
        let each = 0..self.tokens.len();
        each.into_iter().any(|at| {
            self.is(Some(at), &["or", "xor", "||"])
                || self.is(Some(at), &["not", "!"]) && !self.is(Some(at + 1), &["null"])
        })
    }

    /// The number of parts of the name that begins here; 0 if no name does.
    fn name_length(&self, start: usize) -> usize {
        let mut length = 0;
        while self.is_word(Some(start + 2 * length)) {
            length += 1;
            if self.kind(start + 2 * length - 1) != TokenKind::Dot {
                break;
            }
        }
        length
    }

    /// How the column in `start..end` is compared. `None` if an expression made of the column is compared, and not the
    /// column itself.
    fn search(&self, start: usize, end: usize) -> Option<Search> {
        let before = start.checked_sub(1);
        let is_last = matches!(self.kind(end), TokenKind::End | TokenKind::Close)
            || self.is(Some(end), &["and"]);
        if self.is(before, &["=", "<=>"]) {
            return is_last.then_some(Search::Equal);
        }
        let opens = self.is(before, &["("]);
        let is_called = opens && {
            let function = before.and_then(|at| at.checked_sub(1));
            self.is_word(function) && !self.is(function, &["and"])
        };
        if is_called || !(before.is_none() || opens || self.is(before, &["and"])) {
            return None;
        }
        let is_null = self.is(Some(end), &["is"]) && self.is(Some(end + 1), &["null"]);
        match () {
            () if is_null || self.is(Some(end), &["=", "<=>", "in"]) => Some(Search::Equal),
            () if self.is(Some(end), &["<", "<=", ">", ">=", "between", "like"]) => {
                Some(Search::Range)
            }
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_that_are_compared_are_found_in_every_spelling() {
        for (origin, condition, expected) in [
            ("MySQL 8", "(`world`.`c`.`District` = 'x')", "District"),
            (
                "MySQL 9",
                "((c.`Name` = 'x') and (c.Population > 1000))",
                "Name Population",
            ),
            (
                "MariaDB",
                "c.`Name` = 'x' and c.Population > 1000",
                "Name Population",
            ),
            ("range first", "c.a > 1 and c.b = 2 and c.d < 3", "b a"),
            ("a join's", "(c.CountryCode = k.`Code`)", "CountryCode"),
            (
                "a join's, turned",
                "(k.`Code` = c.CountryCode)",
                "CountryCode",
            ),
            ("some", "(c.a in (1,2,3))", "a"),
            ("nothing", "(c.a is null) and (c.b is not null)", "a"),
            ("likeness", "(c.a like 'x%')", "a"),
            ("alternatives", "((c.a = 1) or (c.b = 2))", ""),
            ("not", "(not (c.a = 1))", ""),
            ("other", "(c.a <> 1)", ""),
            (
                "made of a column",
                "(lower(c.a) = 'x') and ((c.b + 1) = 2) and (3 = c.d + 1)",
                "",
            ),
            ("another table's", "(k.a = 1)", ""),
            ("a value like a name", "(c.a = 'c.b = 1')", "a"),
            ("hostile", "c. = = (((( 'x", ""),
            ("a name with a quote", "(`c`.`a``b` = 1)", "a`b"),
        ] {
            let json = json!({"query_block": {"table": {"attached_condition": condition}}});
            assert_eq!(columns(&json, "c").join(" "), expected, "{origin}");
        }
    }

    #[test]
    fn conditions_of_all_formats_are_found() {
        for field in FIELDS {
            let json = json!([{"inputs": [{*field: "(c.a = 1)"}]}]);
            assert_eq!(columns(&json, "c"), ["a"]);
        }
        assert!(columns(&Value::Null, "c").is_empty());
    }

    #[test]
    fn columns_are_bounded_by_the_maximum_of_an_index() {
        let many: Vec<_> = (0..100).map(|at| format!("c.a{at} = 1")).collect();
        let json = json!({"condition": many.join(" and ")});
        assert_eq!(columns(&json, "c").len(), COLUMNS_MAX);
    }
}
