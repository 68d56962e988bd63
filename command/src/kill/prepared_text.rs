//! The text that a PREPARE or an EXECUTE IMMEDIATE names: a literal, a variable, or an expression.

use sql::{Facts, Flags, Lexer, Role, Show, Span, StatementKind, TokenKind};

use super::kill_statement::is_refused;

/// The text that a statement prepares, as far as it can be read from the statement.
#[derive(Debug)]
pub enum PreparedText {
    /// A literal, or a variable whose value the session knows.
    Known(Vec<u8>),
    /// The server has to be asked for the value of an expression.
    Expression {
        /// The statement that asks.
        select: Vec<u8>,
        /// The facts of that statement.
        facts: Box<Facts>,
    },
    /// The server would refuse the expression. So the statement goes there, and the server reports what is wrong.
    Unknown,
}

impl PreparedText {
    /// Reads the text that a statement with these facts prepares; `span` is the place of that text or expression in
    /// `text`. `value_of`: the value of a variable, if the session knows it.
    pub fn read(
        (facts, text): (&Facts, &[u8]),
        span: Span,
        flags: Flags,
        value_of: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Self {
        let raw = span.of(text);
        let is_simple = facts.mentions_of(Role::PreparedText).next().is_some();
        let is_variable = is_simple && raw.starts_with(b"@");
        let known = match is_variable {
            true => value_of(raw),
            false if is_simple => sql::unquote(raw, flags).map(std::borrow::Cow::into_owned),
            false => None,
        };
        if let Some(known) = known {
            return Self::Known(known);
        }
        // MySQL does not allow expressions here.
        let is_mysql = matches!(flags.server, sql::Server::MySql(_));
        if !is_variable && is_mysql || !is_balanced(raw, flags) {
            return Self::Unknown;
        }
        let clean = sql::code(text, flags);
        let select = [&b"SELECT ("[..], span.of(&clean), b")"].concat();
        let facts = Box::new(sql::facts(&select, flags));
        match is_refused(&facts) {
            true => Self::Unknown,
            false => Self::Expression { select, facts },
        }
    }
}

/// The statement with the value of an expression, as a literal, in place of the expression.
pub fn with_literal(text: &[u8], span: Span, value: &[u8], flags: Flags) -> Vec<u8> {
    let before = text.get(..span.start as usize).unwrap_or_default();
    let after = text.get(span.end as usize..).unwrap_or_default();
    [before, &quoted(value, flags), after].concat()
}

/// Whether a statement reads the list of warnings, and does nothing else.
pub fn asks_for_list(facts: &Facts) -> bool {
    match facts.kind {
        StatementKind::GetDiagnostics => true,
        StatementKind::Show(show) => matches!(
            show,
            Show::Warnings
                | Show::SomeWarnings
                | Show::WarningCount
                | Show::Errors
                | Show::SomeErrors
                | Show::ErrorCount
        ),
        _ => false,
    }
}

/// Whether each closing parenthesis has an opening one. If not, this is no expression.
fn is_balanced(expression: &[u8], flags: Flags) -> bool {
    let mut depth = 0_u32;
    for token in Lexer::new(expression, flags) {
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close if depth == 0 => return false,
            TokenKind::Close => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

fn quoted(text: &[u8], flags: Flags) -> Vec<u8> {
    let mut literal = vec![b'\''];
    for byte in text {
        if *byte == b'\'' || *byte == b'\\' && !flags.no_backslash_escapes {
            literal.push(*byte);
        }
        literal.push(*byte);
    }
    literal.push(b'\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(server: sql::Server) -> Flags {
        Flags {
            server,
            ..Flags::default()
        }
    }

    /// Returns the text that a statement prepares, or the statement that asks for it.
    fn read(text: &str, flags: Flags) -> Option<String> {
        let text = text.as_bytes();
        let span = sql::dynamic_source(text, flags).text?;
        let value_of = |name: &[u8]| (name == b"@known").then(|| b"KILL 5".to_vec());
        let facts = sql::facts(text, flags);
        let found = match PreparedText::read((&facts, text), span, flags, value_of) {
            PreparedText::Known(text) | PreparedText::Expression { select: text, .. } => text,
            PreparedText::Unknown => return None,
        };
        Some(String::from_utf8_lossy(&found).into_owned())
    }

    #[test]
    fn literals_and_variables_are_known_and_expressions_are_asked_for() {
        let mariadb = at(sql::Server::MariaDb(101_100));
        for (text, expected) in [
            ("PREPARE s FROM 'KILL 7'", Some("KILL 7")),
            ("PREPARE s FROM @known", Some("KILL 5")),
            ("PREPARE s FROM @other", Some("SELECT (@other)")),
            (
                "EXECUTE IMMEDIATE CONCAT('KILL ', 7)",
                Some("SELECT (CONCAT('KILL ', 7))"),
            ),
            ("EXECUTE IMMEDIATE own_function()", None),
        ] {
            assert_eq!(read(text, mariadb).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn mysql_takes_no_expressions() {
        let mysql = at(sql::Server::MySql(80_400));
        assert_eq!(read("PREPARE s FROM CONCAT('KILL ', 7)", mysql), None);
        let asked = Some("SELECT (@other)".to_owned());
        assert_eq!(read("PREPARE s FROM @other", mysql), asked);
    }

    #[test]
    fn only_whole_expressions_are_asked_for() {
        let flags = Flags::default();
        assert!(is_balanced(b"CONCAT('KILL (', f(1))", flags));
        assert!(!is_balanced(b"1) + (2", flags));
        assert!(!is_balanced(b"(1", flags));
    }

    #[test]
    fn a_value_takes_the_place_of_its_expression_as_a_literal() {
        let flags = Flags::default();
        let text = b"EXECUTE IMMEDIATE CONCAT(@a, 'x') USING 1";
        let span = sql::dynamic_source(text, flags).text.unwrap_or_default();
        let replaced = with_literal(text, span, b"it's", flags);
        assert_eq!(replaced, b"EXECUTE IMMEDIATE 'it''s' USING 1");
    }

    #[test]
    fn a_text_becomes_a_literal_that_says_it() {
        let flags = Flags::default();
        let literal = quoted(b"it's \\ a", flags);
        assert_eq!(literal, b"'it''s \\\\ a'");
        let text = sql::unquote(&literal, flags).unwrap_or_default();
        assert_eq!(text, &b"it's \\ a"[..]);
    }
}
