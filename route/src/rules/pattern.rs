//! Regular expressions with bounded cost. The engine does not backtrack, so the time is linear in the text.
//! An expression that is too big when compiled is refused.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use super::needle::needle;

/// The most bytes of one compiled expression.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// The most bytes of the cache that speeds up one expression.
const CACHE_BYTES_MAX: usize = 1 << 20;
/// The largest nesting depth of groups.
const NESTING_MAX: u32 = 100;

/// A regular expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    needle: Option<Box<[u8]>>,
}

impl Pattern {
    /// Compiles an expression. Case is ignored and `.` matches line ends, unless the expression sets other flags.
    /// It matches bytes, because a statement may be in any charset: `.` is any byte, and `\w` is ASCII without `(?u)`.
    ///
    /// # Errors
    /// What is wrong with the expression, and at which character.
    pub(crate) fn new(source: &str) -> Result<Self, String> {
        let mut parser = ParserBuilder::new();
        let parser = parser.case_insensitive(true).dot_matches_new_line(true);
        let parsed = parser
            .utf8(false)
            .unicode(false)
            .nest_limit(NESTING_MAX)
            .build()
            .parse(source);
        let parsed = parsed.map_err(|error| fault_with_character(source, &error))?;
        let mut builder = RegexBuilder::new(source);
        builder.case_insensitive(true).dot_matches_new_line(true);
        builder
            .unicode(false)
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(CACHE_BYTES_MAX);
        let regex = builder.nest_limit(NESTING_MAX).build();
        let regex =
            regex.map_err(|_| "is too big: compiled it takes more than 1 MiB".to_owned())?;
        Ok(Self {
            regex,
            needle: needle(&parsed).map(Into::into),
        })
    }

    /// The byte string, in lower case, that every match contains in upper or lower case.
    pub(crate) fn needle(&self) -> Option<&[u8]> {
        self.needle.as_deref()
    }

    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }

    pub(crate) const fn regex(&self) -> &Regex {
        &self.regex
    }

    pub(crate) fn source(&self) -> &str {
        self.regex.as_str()
    }
}

/// Returns what is wrong with an expression, and at which character.
fn fault_with_character(source: &str, error: &regex_syntax::Error) -> String {
    let (what, offset) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => {
            (error.kind().to_string(), error.span().start.offset)
        }
        other => return format!("is no regular expression: {other}"),
    };
    let character = 1 + source
        .get(..offset)
        .map_or(0, |before| before.chars().count());
    format!("is no regular expression: {what}, at character {character}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn case_and_line_ends_do_not_matter() {
        let pattern = Pattern::new("^select.*from t$").unwrap();
        assert!(pattern.is_match(b"SELECT a\nFROM t"));
        assert!(!Pattern::new("(?-i)select").unwrap().is_match(b"SELECT"));
        assert!(!Pattern::new("(?-s)a.b").unwrap().is_match(b"a\nb"));
        assert!(Pattern::new("caf.").unwrap().is_match(b"caf\xe9"));
    }

    #[test]
    fn a_fault_has_its_position() {
        for (source, told) in [
            (
                "a(b",
                "is no regular expression: unclosed group, at character 2",
            ),
            (
                "é[z-a]",
                "is no regular expression: invalid character class range, the start must be <= the end, at character 3",
            ),
            (
                "(?=a)",
                "is no regular expression: look-around, including look-ahead and look-behind, is not supported, at character 1",
            ),
            (
                "a{1000}{1000}",
                "is too big: compiled it takes more than 1 MiB",
            ),
        ] {
            assert_eq!(Pattern::new(source).unwrap_err(), told, "{source}");
        }
    }

    #[test]
    fn patterns_of_exponential_time_elsewhere_take_linear_time() {
        let pattern = Pattern::new("^(a+)+$").unwrap();
        let mut text = vec![b'a'; 100_000];
        text.push(b'!');
        assert!(!pattern.is_match(&text));
    }
}
