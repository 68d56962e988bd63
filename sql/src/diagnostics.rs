//! Statements that read the list of warnings and errors: the items of GET DIAGNOSTICS, and the rows of
//! SHOW WARNINGS and SHOW ERRORS.

use std::ops::Range;

use crate::flags::Flags;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::server::Server;
use crate::span::Span;

/// How the servers treat a GET DIAGNOSTICS outside of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GetForm {
    /// It reads the list.
    Read(GetDiagnostics),
    /// It asks for the list of a handler, but no handler is active (MySQL).
    Stacked,
    /// The servers refuse it for any content of the list.
    Refused,
}

/// GET DIAGNOSTICS outside of a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetDiagnostics {
    /// The condition that it asks about; none if it asks about the whole statement.
    pub condition: Option<Condition>,
    /// User variables as written, with their `@`, and the item that each is set to, in order.
    pub items: Vec<(Span, DiagnosticsItem)>,
}

/// A condition of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The condition with this number, from 1.
    Number(u64),
    /// The condition whose number is the value of this text: a variable, a name, or another literal.
    Value(Span),
}

/// An item of information about the statement or a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticsItem {
    /// NUMBER: the number of conditions in the list.
    Number,
    /// ROW_COUNT
    RowCount,
    /// RETURNED_SQLSTATE
    ReturnedSqlstate,
    /// MYSQL_ERRNO
    MysqlErrno,
    /// MESSAGE_TEXT
    MessageText,
    /// CLASS_ORIGIN, SUBCLASS_ORIGIN
    Origin,
    /// CONSTRAINT_NAME, TABLE_NAME and others that are empty unless SIGNAL has set them.
    Name,
    /// ROW_NUMBER (MariaDB)
    RowNumber,
}

/// Reads a GET DIAGNOSTICS.
pub fn get_diagnostics(text: &[u8], flags: Flags) -> GetForm {
    let mut words = PeekableTokens::new(text, flags);
    let is_mysql = matches!(flags.server, Server::MySql(_));
    // With MariaDB's SET STATEMENT, only the statement after FOR matters.
    while !is_mysql && words.here().is_some_and(|here| here != b"GET") {
        words.next();
    }
    if words.expect(b"GET").is_none() {
        return GetForm::Refused;
    }
    let is_stacked = words.here().is_some_and(|here| here == b"STACKED") && is_mysql;
    if is_stacked || words.here().is_some_and(|here| here == b"CURRENT") {
        words.next();
    }
    match information(&mut words, flags) {
        Some(_) if is_stacked => GetForm::Stacked,
        Some(get) => GetForm::Read(get),
        None => GetForm::Refused,
    }
}

/// Reads the text from DIAGNOSTICS on; none if it does not follow the grammar.
fn information(words: &mut PeekableTokens<'_>, flags: Flags) -> Option<GetDiagnostics> {
    words.expect(b"DIAGNOSTICS")?;
    let mut condition = None;
    if words.here()? == b"CONDITION" {
        words.next();
        condition = Some(words.condition()?);
    }
    let mut items = Vec::new();
    loop {
        let target = words.next()?;
        let is_set = words.next()?.kind == TokenKind::Equal;
        if target.kind != TokenKind::UserVariable || !is_set {
            return None;
        }
        let name = words.here()?;
        items.push((target.span, item(&name, condition.is_some(), flags)?));
        words.next();
        match words.next().map(|token| token.kind) {
            Some(TokenKind::Comma) => {}
            Some(TokenKind::Semicolon) if words.next().is_none() => break,
            None => break,
            _ => return None,
        }
    }
    Some(GetDiagnostics { condition, items })
}

/// Returns the rows that SHOW WARNINGS or SHOW ERRORS asks for, counted from 0; none for any other
/// statement.
pub fn shown_conditions(text: &[u8], flags: Flags) -> Option<Range<u64>> {
    let mut words = PeekableTokens::new(text, flags);
    words.expect(b"SHOW")?;
    if !matches!(&*words.here()?, b"WARNINGS" | b"ERRORS") {
        return None;
    }
    words.next();
    let mut numbers = [None, None];
    let mut is_offset_first = true;
    match words.here().as_deref() {
        Some(b"LIMIT") => {
            words.next();
            numbers[0] = Some(words.integer()?);
            match words.here().as_deref() {
                Some(b",") => {
                    words.next();
                    numbers[1] = Some(words.integer()?);
                }
                Some(b"OFFSET") => {
                    words.next();
                    numbers[1] = Some(words.integer()?);
                    is_offset_first = false;
                }
                _ => {}
            }
        }
        _ => numbers[0] = Some(u64::MAX),
    }
    if words
        .next()
        .is_some_and(|token| token.kind != TokenKind::Semicolon)
        || words.next().is_some()
    {
        return None;
    }
    let (offset, count) = match numbers {
        [Some(offset), Some(count)] if is_offset_first => (offset, count),
        [Some(count), Some(offset)] => (offset, count),
        [count, _] => (0, count?),
    };
    Some(offset..offset.saturating_add(count))
}

fn item(name: &[u8], is_of_condition: bool, flags: Flags) -> Option<DiagnosticsItem> {
    let has_row_number = matches!(flags.server, Server::MariaDb(version) if version >= 100_700);
    Some(match (name, is_of_condition) {
        (b"NUMBER", false) => DiagnosticsItem::Number,
        (b"ROW_COUNT", false) => DiagnosticsItem::RowCount,
        (b"RETURNED_SQLSTATE", true) => DiagnosticsItem::ReturnedSqlstate,
        (b"MYSQL_ERRNO", true) => DiagnosticsItem::MysqlErrno,
        (b"MESSAGE_TEXT", true) => DiagnosticsItem::MessageText,
        (b"ROW_NUMBER", true) if has_row_number => DiagnosticsItem::RowNumber,
        (b"CLASS_ORIGIN" | b"SUBCLASS_ORIGIN", true) => DiagnosticsItem::Origin,
        (
            b"CONSTRAINT_CATALOG"
            | b"CONSTRAINT_SCHEMA"
            | b"CONSTRAINT_NAME"
            | b"CATALOG_NAME"
            | b"SCHEMA_NAME"
            | b"TABLE_NAME"
            | b"COLUMN_NAME"
            | b"CURSOR_NAME",
            true,
        ) => DiagnosticsItem::Name,
        _ => return None,
    })
}

fn integer(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The tokens of a statement, without comments.
struct PeekableTokens<'a> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    ahead: Option<Token>,
}

impl<'a> PeekableTokens<'a> {
    fn new(text: &'a [u8], flags: Flags) -> Self {
        let mut words = Self {
            text,
            lexer: Lexer::new(text, flags),
            ahead: None,
        };
        words.next();
        words
    }

    /// Returns the text of the next token in upper case, without passing it.
    fn here(&self) -> Option<Vec<u8>> {
        let token = self.ahead?;
        Some(token.span.of(self.text).to_ascii_uppercase())
    }

    /// Passes the next token and returns it.
    fn next(&mut self) -> Option<Token> {
        let is_comment = |token: &Token| matches!(token.kind, TokenKind::Comment | TokenKind::Hint);
        let next = self.lexer.find(|token| !is_comment(token));
        std::mem::replace(&mut self.ahead, next)
    }

    fn expect(&mut self, word: &[u8]) -> Option<()> {
        (self.here()? == word).then_some(())?;
        self.next();
        Some(())
    }

    /// Reads the number of a condition: a literal, a variable or a name. Expressions are not allowed.
    fn condition(&mut self) -> Option<Condition> {
        let first = self.next()?;
        let mut span = first.span;
        let is_next = |words: &Self, kind| words.ahead.is_some_and(|ahead| ahead.kind == kind);
        match first.kind {
            TokenKind::Number => {
                if let Some(number) = integer(span.of(self.text)) {
                    return Some(Condition::Number(number));
                }
            }
            TokenKind::SystemVariable => {
                while is_next(self, TokenKind::Dot) {
                    self.next();
                    span.end = self.next()?.span.end;
                }
            }
            // DATE '…', and adjacent strings, which are one string.
            TokenKind::Word | TokenKind::String | TokenKind::Introducer => {
                while is_next(self, TokenKind::String) || is_next(self, TokenKind::Binary) {
                    span.end = self.next()?.span.end;
                }
            }
            TokenKind::Quoted
            | TokenKind::Binary
            | TokenKind::BackslashNull
            | TokenKind::UserVariable => {}
            _ => return None,
        }
        Some(Condition::Value(span))
    }

    fn integer(&mut self) -> Option<u64> {
        let token = self.next()?;
        integer(token.span.of(self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Named<'a> = Vec<(&'a str, DiagnosticsItem)>;

    fn form(text: &str, server: Server) -> GetForm {
        let flags = Flags {
            server,
            ..Flags::default()
        };
        get_diagnostics(text.as_bytes(), flags)
    }

    fn asked(text: &str) -> Option<(Option<Condition>, Named<'_>)> {
        let GetForm::Read(get) = form(text, Server::Unknown) else {
            return None;
        };
        let name = |span: Span| std::str::from_utf8(span.of(text.as_bytes())).unwrap();
        let items = get.items.iter().map(|(span, item)| (name(*span), *item));
        Some((get.condition, items.collect()))
    }

    #[test]
    fn statement_items_of_get_diagnostics_are_read() {
        use DiagnosticsItem::*;
        assert_eq!(
            asked("GET DIAGNOSTICS @n = NUMBER, @`r`=row_count"),
            Some((None, vec![("@n", Number), ("@`r`", RowCount)]))
        );
        assert_eq!(
            asked("/* so */ get current diagnostics @n = NUMBER;"),
            Some((None, vec![("@n", Number)]))
        );
    }

    #[test]
    fn condition_items_of_get_diagnostics_are_read() {
        use DiagnosticsItem::*;
        assert_eq!(
            asked("GET DIAGNOSTICS CONDITION 2 @s = RETURNED_SQLSTATE, @t = MESSAGE_TEXT"),
            Some((
                Some(Condition::Number(2)),
                vec![("@s", ReturnedSqlstate), ("@t", MessageText)]
            ))
        );
        for value in [
            "@i",
            "@@session.warning_count",
            "'1'",
            "_utf8mb4 '1'",
            "1.4",
            "0x1",
            "TRUE",
            "NULL",
            "foo",
            "99999999999999999999",
        ] {
            let text = format!("GET DIAGNOSTICS CONDITION {value} @e = MYSQL_ERRNO");
            let (condition, items) = asked(&text).unwrap();
            let span = match condition {
                Some(Condition::Value(span)) => span,
                Some(Condition::Number(_)) | None => Span::default(),
            };
            assert_eq!(span.of(text.as_bytes()), value.as_bytes());
            assert_eq!(items, [("@e", MysqlErrno)]);
        }
    }

    #[test]
    fn forms_of_one_family_are_refused_by_the_other() {
        let (mariadb, mysql) = (Server::MariaDb(101_100), Server::MySql(90_700));
        let stacked = "GET STACKED DIAGNOSTICS @n = NUMBER";
        assert_eq!(form(stacked, mariadb), GetForm::Refused);
        assert_eq!(form(stacked, mysql), GetForm::Stacked);
        let row = "GET DIAGNOSTICS CONDITION 1 @n = ROW_NUMBER";
        assert!(matches!(form(row, mariadb), GetForm::Read(_)));
        assert_eq!(form(row, mysql), GetForm::Refused);
        let set = "SET STATEMENT max_statement_time=1 FOR GET DIAGNOSTICS @n = NUMBER";
        assert!(matches!(form(set, mariadb), GetForm::Read(_)));
        assert_eq!(form(set, mysql), GetForm::Refused);
    }

    #[test]
    fn other_forms_are_not_understood() {
        for text in [
            "GET STACKED DIAGNOSTICS @n = NUMBER",
            "GET DIAGNOSTICS CONDITION 1 @n = NUMBER",
            "GET DIAGNOSTICS @n = MESSAGE_TEXT",
            "GET DIAGNOSTICS local = NUMBER",
            "GET DIAGNOSTICS CONDITION 1+1 @t = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION (1) @t = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION -1 @t = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION ? @t = MESSAGE_TEXT",
            "GET DIAGNOSTICS CONDITION 1",
            "GET DIAGNOSTICS @n = NUMBER @r = ROW_COUNT",
            "GET DIAGNOSTICS @n = NUMBER,",
            "GET FOO DIAGNOSTICS @n = NUMBER",
            "GET DIAGNOSTICS @n = NUMBER; SELECT 1",
            "GET DIAGNOSTICS @n",
            "SELECT 1",
            "",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
    }

    #[test]
    fn limits_are_read() {
        let shown = |text: &str| shown_conditions(text.as_bytes(), Flags::default());
        assert_eq!(shown("SHOW WARNINGS"), Some(0..u64::MAX));
        assert_eq!(shown("show errors limit 3;"), Some(0..3));
        assert_eq!(shown("SHOW WARNINGS LIMIT 1, 2"), Some(1..3));
        assert_eq!(shown("SHOW WARNINGS LIMIT 2 OFFSET 1"), Some(1..3));
        assert_eq!(shown("SHOW WARNINGS LIMIT 1; SELECT 1"), None);
        assert_eq!(shown("SHOW WARNINGS LIMIT @n"), None);
        assert_eq!(shown("SHOW COUNT(*) WARNINGS"), None);
    }
}
