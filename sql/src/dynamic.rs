//! PREPARE, EXECUTE and EXECUTE IMMEDIATE in SQL text: the text that they prepare or run, and the values.

use crate::flags::Flags;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::span::Span;
use crate::words::Word;

/// The text and values of a statement of dynamic SQL, without comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DynamicSource {
    /// The range of the text to prepare: a literal, a variable, an expression (MariaDB). None in an EXECUTE.
    pub text: Option<Span>,
    /// The values after USING, in order.
    pub arguments: Vec<Vec<u8>>,
}

/// Returns the parts of a PREPARE, EXECUTE or EXECUTE IMMEDIATE.
pub fn source(text: &[u8], flags: Flags) -> DynamicSource {
    let clean = code(text, flags);
    let mut source = DynamicSource::default();
    let mut depth = 0_u32;
    let mut place = TokenPosition::Before;
    let mut span = Span::default();
    for token in Lexer::new(text, flags) {
        depth = match token.kind {
            TokenKind::Comment | TokenKind::Hint => continue,
            TokenKind::Open => depth + 1,
            TokenKind::Close => depth.saturating_sub(1),
            _ => depth,
        };
        if depth == 0 && ends_part(token, place) {
            source.take(place, span, &clean);
            span = Span::default();
            place = match place {
                _ if token.word == Word::Using => TokenPosition::Arguments,
                TokenPosition::Before if token.word == Word::Execute => TokenPosition::Statement,
                TokenPosition::Before => TokenPosition::Name,
                TokenPosition::Name | TokenPosition::Statement if token.kind == TokenKind::Word => {
                    TokenPosition::Text
                }
                same => same,
            };
            continue;
        }
        if span.is_empty() {
            span = token.span;
        }
        span.end = token.span.end;
    }
    source.take(place, span, &clean);
    source
}

/// The part of the statement to which a token belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenPosition {
    /// Before PREPARE or EXECUTE: SET STATEMENT … FOR.
    Before,
    /// The name after PREPARE.
    Name,
    /// The name after EXECUTE.
    Statement,
    /// The text to prepare.
    Text,
    /// The values.
    Arguments,
}

/// Whether a token separates two parts.
fn ends_part(token: Token, place: TokenPosition) -> bool {
    match place {
        TokenPosition::Before => matches!(token.word, Word::Prepare | Word::Execute),
        TokenPosition::Name => token.word == Word::From,
        TokenPosition::Statement => matches!(token.word, Word::Immediate | Word::Using),
        TokenPosition::Text => token.word == Word::Using || token.kind == TokenKind::Semicolon,
        TokenPosition::Arguments => matches!(token.kind, TokenKind::Comma | TokenKind::Semicolon),
    }
}

impl DynamicSource {
    fn take(&mut self, place: TokenPosition, span: Span, clean: &[u8]) {
        match place {
            _ if span.is_empty() => {}
            TokenPosition::Text => self.text = self.text.or(Some(span)),
            TokenPosition::Arguments => self.arguments.push(span.of(clean).to_vec()),
            TokenPosition::Before | TokenPosition::Name | TokenPosition::Statement => {}
        }
    }
}

/// Returns a text with spaces in place of comments and of the marks of executable comments. All other bytes
/// keep their positions.
pub fn code(text: &[u8], flags: Flags) -> Vec<u8> {
    let mut code = vec![b' '; text.len()];
    for token in Lexer::new(text, flags) {
        if matches!(token.kind, TokenKind::Comment | TokenKind::Hint) {
            continue;
        }
        let place = token.span.start as usize..token.span.end as usize;
        if let Some(place) = code.get_mut(place) {
            place.copy_from_slice(token.span.of(text));
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (Option<&str>, Vec<String>) {
        let source = source(text.as_bytes(), Flags::default());
        let string = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let span = source
            .text
            .map(|span| std::str::from_utf8(span.of(text.as_bytes())).unwrap());
        (span, source.arguments.iter().map(string).collect())
    }

    #[test]
    fn sources_and_values_are_found() {
        for (text, source, arguments) in [
            ("PREPARE s FROM 'KILL ?'", Some("'KILL ?'"), &[][..]),
            ("prepare `from` from @x ;", Some("@x"), &[]),
            ("/*!50000 PREPARE s FROM @x */", Some("@x"), &[]),
            ("EXECUTE s", None, &[]),
            ("EXECUTE s USING @a, @b", None, &["@a", "@b"]),
            (
                "EXECUTE s USING /* one */ f(1, 2), 'x, y';",
                None,
                &["f(1, 2)", "'x, y'"],
            ),
            (
                "EXECUTE IMMEDIATE CONCAT('a', CONVERT(x USING utf8)) USING @id+0",
                Some("CONCAT('a', CONVERT(x USING utf8))"),
                &["@id+0"],
            ),
            (
                "SET STATEMENT max_statement_time=5 FOR EXECUTE IMMEDIATE 'DO 1'",
                Some("'DO 1'"),
                &[],
            ),
        ] {
            let found = parts(text);
            let arguments: Vec<_> = arguments.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(found, (source, arguments), "{text}");
        }
    }

    #[test]
    fn comments_and_marks_become_space() {
        let clean = |text: &str| {
            let code = code(text.as_bytes(), Flags::default());
            String::from_utf8(code).unwrap()
        };
        assert_eq!(clean("KILL /* x */ 5 -- y"), "KILL         5     ");
        assert_eq!(clean("/*! KILL '/*' */"), "    KILL '/*'   ");
    }
}
