//! EXPLAIN SESSION, ROUTE, RULES, LANES and TIMES: the proxy answers these statements; servers do not know them.

use crate::{Flags, Lexer, StatementKind, TokenKind};

/// A question of a client to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyExplain {
    /// EXPLAIN SESSION
    Session,
    /// EXPLAIN ROUTE, and the position at which the statement begins.
    Route(usize),
    /// EXPLAIN RULES
    Rules,
    /// EXPLAIN LANES
    Lanes,
    /// EXPLAIN TIMES
    Times,
}

/// Returns the question to the proxy, if the text is one; comments and space around the words do not matter. A
/// table with the name `session` can be described by DESCRIBE, or in backticks.
pub fn proxy_explain(text: &[u8], flags: Flags) -> Option<ProxyExplain> {
    // Most statements begin with another byte and need no lexer.
    let first = text.trim_ascii_start().first()?;
    if !matches!(first, b'e' | b'E' | b'/' | b'-' | b'#') {
        return None;
    }
    let mut tokens = Lexer::new(text, flags).filter(|token| token.kind != TokenKind::Comment);
    let mut next_is = |word: &[u8]| {
        let token = tokens.next();
        token.is_some_and(|token| token.span.of(text).eq_ignore_ascii_case(word))
    };
    if !next_is(b"EXPLAIN") {
        return None;
    }
    let about = tokens.next()?.span;
    if about.of(text).eq_ignore_ascii_case(b"ROUTE") {
        // If no statement follows, ROUTE is the name of a table, and a column name may follow.
        let begin = about.end as usize;
        let facts = crate::facts(text.get(begin..)?, flags);
        let is_statement = !matches!(facts.kind, StatementKind::Unknown | StatementKind::Empty);
        return is_statement.then_some(ProxyExplain::Route(begin));
    }
    let mut rest = tokens.skip_while(|token| token.kind == TokenKind::Semicolon);
    if rest.next().is_some() {
        return None;
    }
    match about.of(text).to_ascii_uppercase().as_slice() {
        b"SESSION" => Some(ProxyExplain::Session),
        b"RULES" => Some(ProxyExplain::Rules),
        b"LANES" => Some(ProxyExplain::Lanes),
        b"TIMES" => Some(ProxyExplain::Times),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_explain_session_and_explain_route_go_to_the_proxy() {
        for text in [
            "EXPLAIN SESSION",
            "explain session;",
            "/* x */ explain -- y\n session ;",
        ] {
            let asked = proxy_explain(text.as_bytes(), Flags::default());
            assert_eq!(asked, Some(ProxyExplain::Session), "{text}");
        }
        for text in [
            "EXPLAIN `session`",
            "DESCRIBE session",
            "EXPLAIN session id",
            "EXPLAIN SELECT 1",
            "EXPLAIN",
            "",
        ] {
            assert_eq!(
                proxy_explain(text.as_bytes(), Flags::default()),
                None,
                "{text}"
            );
        }
        let asked = proxy_explain(b"EXPLAIN ROUTE SELECT 1", Flags::default());
        assert_eq!(asked, Some(ProxyExplain::Route(13)));
        let asked = proxy_explain(b"EXPLAIN route id", Flags::default());
        assert_eq!(asked, None);
    }
}
