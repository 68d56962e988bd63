//! Rewriting of statements: either a template replaces each match of a regular expression, or a fixed
//! text replaces the whole statement. The result must be exactly one statement.

use sql::{Analysis, Flags, Marks, StatementKind};

use super::pattern::Pattern;

/// How a rule rewrites.
#[derive(Clone, Debug)]
pub struct Rewrite {
    pieces: Box<[Piece]>,
    extent: Extent,
}

/// The part of the statement that is replaced.
#[derive(Clone, Debug)]
enum Extent {
    /// Each match.
    Matches(Pattern),
    /// The whole statement.
    Whole,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(Box<[u8]>),
    /// The text that a group has matched, by the group's number.
    Group(usize),
}

/// The statement that replaces the client's, and its analysis.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// Its text.
    pub text: Vec<u8>,
    /// Its facts and its digest.
    pub analysis: Box<Analysis>,
}

/// Why a rewrite has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The result is not exactly one statement.
    NoStatement,
    /// Far longer than the original.
    TooLong,
}

/// A rewritten statement may have this many bytes more than four times its original length.
const GROWTH_BYTES_MAX: usize = 64 << 10;

impl Rewrite {
    /// With `pattern`, the template replaces each match. Without it, the template's text replaces the whole
    /// statement.
    ///
    /// # Errors
    /// What is wrong with the template.
    pub(crate) fn new(template: &str, pattern: Option<&Pattern>) -> Result<Self, String> {
        let Some(pattern) = pattern else {
            let whole = Self {
                pieces: [Piece::Literal(template.as_bytes().into())].into(),
                extent: Extent::Whole,
            };
            let told = |_| "yields no statement, or several".to_owned();
            whole.done(b"", Flags::default()).map_err(told)?;
            return Ok(whole);
        };
        Ok(Self {
            pieces: pieces(template, pattern)?,
            extent: Extent::Matches(pattern.clone()),
        })
    }

    /// Rewrites a statement and analyses the result.
    pub(crate) fn done(&self, text: &[u8], flags: Flags) -> Result<Rewritten, Unfit> {
        let text = self.text(text)?;
        let mut analysis = Box::<Analysis>::default();
        analysis.read(&text, flags);
        let facts = &analysis.facts;
        let is_one = facts.statements.len() == 1 && !facts.marks.has(Marks::LOST);
        match facts.kind {
            StatementKind::Empty | StatementKind::Unknown | StatementKind::Multi => {
                Err(Unfit::NoStatement)
            }
            _ if is_one => Ok(Rewritten { text, analysis }),
            _ => Err(Unfit::NoStatement),
        }
    }

    fn text(&self, text: &[u8]) -> Result<Vec<u8>, Unfit> {
        let limit = text
            .len()
            .saturating_mul(4)
            .saturating_add(GROWTH_BYTES_MAX);
        let mut written = Vec::with_capacity(text.len());
        let pattern = match &self.extent {
            Extent::Matches(pattern) => pattern,
            Extent::Whole => {
                self.write(&mut written, |_| b"");
                return Ok(written);
            }
        };
        let mut copied_to = 0;
        for captures in pattern.regex().captures_iter(text) {
            let Some(whole) = captures.get(0) else {
                continue;
            };
            written.extend_from_slice(&text[copied_to..whole.start()]);
            self.write(&mut written, |group| {
                captures.get(group).map_or(b"", |it| it.as_bytes())
            });
            copied_to = whole.end();
            if written.len() > limit {
                return Err(Unfit::TooLong);
            }
        }
        written.extend_from_slice(&text[copied_to..]);
        Ok(written)
    }

    fn write<'t>(&self, written: &mut Vec<u8>, matched: impl Fn(usize) -> &'t [u8]) {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(bytes) => written.extend_from_slice(bytes),
                Piece::Group(group) => written.extend_from_slice(matched(*group)),
            }
        }
    }
}

/// Reads `$1`, `${name}`, `${1}` and `$$`.
fn pieces(template: &str, pattern: &Pattern) -> Result<Box<[Piece]>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        literal.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('$') {
            literal.push('$');
            rest = behind;
            continue;
        }
        let (name, behind) =
            group_name(rest).ok_or("has a $ that names no group; write $$ for the sign itself")?;
        let group = group(name, pattern).ok_or_else(|| no_group(name, pattern))?;
        if !literal.is_empty() {
            pieces.push(Piece::Literal(
                std::mem::take(&mut literal).into_bytes().into(),
            ));
        }
        pieces.push(Piece::Group(group));
        rest = behind;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal.into_bytes().into()));
    }
    Ok(pieces.into())
}

/// Returns the digits, or the name in braces, at the start, and the text after it.
fn group_name(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('{') {
        let (name, behind) = inner.split_once('}')?;
        return (!name.is_empty()).then_some((name, behind));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| text.split_at(digits))
}

fn group(name: &str, pattern: &Pattern) -> Option<usize> {
    let regex = pattern.regex();
    match name.parse::<usize>() {
        Ok(number) => (number < regex.captures_len()).then_some(number),
        Err(_) => regex.capture_names().position(|it| it == Some(name)),
    }
}

fn no_group(name: &str, pattern: &Pattern) -> String {
    let count = pattern.regex().captures_len() - 1;
    match name.parse::<usize>() {
        Ok(_) => format!("names group {name}, but rule.regex has {count}"),
        Err(_) => format!("names a group \"{name}\", which rule.regex has not"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rewritten(regex: &str, template: &str, statement: &str) -> Result<String, Unfit> {
        let pattern = Pattern::new(regex).unwrap();
        let rewrite = Rewrite::new(template, Some(&pattern)).unwrap();
        let done = rewrite.done(statement.as_bytes(), Flags::default())?;
        Ok(String::from_utf8(done.text).unwrap())
    }

    #[test]
    fn each_match_is_replaced_by_the_template() {
        for (regex, template, statement, expected) in [
            (
                r"force index \(\w+\)",
                " ",
                "SELECT a FROM t FORCE INDEX (x) WHERE b",
                "SELECT a FROM t   WHERE b",
            ),
            (
                r"\bold_(\w+)",
                "new_$1",
                "SELECT a FROM old_t, old_u",
                "SELECT a FROM new_t, new_u",
            ),
            (
                r"(?<a>\w+) \+ (?<b>\w+)",
                "${b} - ${a}",
                "SELECT x + y",
                "SELECT y - x",
            ),
            (
                r"^select (.*)$",
                "SELECT $$$1x, ${1}x",
                "SELECT a",
                "SELECT $ax, ax",
            ),
            ("nothing", "x", "SELECT 1", "SELECT 1"),
            ("(a)|b", "[$1]", "SELECT a, b", "SELECT [a], []"),
        ] {
            assert_eq!(rewritten(regex, template, statement).unwrap(), expected);
        }
    }

    #[test]
    fn a_rewrite_that_is_no_statement_is_not_sent() {
        for (regex, template, statement) in [
            ("^.*$", " ", "SELECT 1"),
            ("^", "DELETE FROM t; ", "SELECT 1"),
            ("1", "'", "SELECT 1"),
            ("select", "selct", "SELECT 1"),
        ] {
            assert_eq!(
                rewritten(regex, template, statement),
                Err(Unfit::NoStatement),
                "{template}"
            );
        }
        let many = format!("SELECT {}", "a".repeat(100_000));
        let long = rewritten("a", "'0123456789',", &many);
        assert_eq!(long, Err(Unfit::TooLong));
    }

    #[test]
    fn a_replacement_without_match_replaces_the_whole_statement() {
        let rewrite = Rewrite::new("SELECT $1, 2", None);
        // Without a pattern there are no groups, so `$1` stays text; MySQL reads it as a name.
        let done = rewrite
            .unwrap()
            .done(b"SELECT anything", Flags::default())
            .unwrap();
        assert_eq!(done.text, b"SELECT $1, 2");
        assert!(Rewrite::new("SELECT 1; SELECT 2", None).is_err());
        assert!(Rewrite::new("-- nothing", None).is_err());
    }

    #[test]
    fn missing_groups_are_reported() {
        let pattern = Pattern::new("(a)").unwrap();
        for (template, told) in [
            ("$2", "names group 2, but rule.regex has 1"),
            ("${b}", "names a group \"b\", which rule.regex has not"),
            (
                "a $ b",
                "has a $ that names no group; write $$ for the sign itself",
            ),
            (
                "${a",
                "has a $ that names no group; write $$ for the sign itself",
            ),
        ] {
            assert_eq!(Rewrite::new(template, Some(&pattern)).unwrap_err(), told);
        }
    }
}
