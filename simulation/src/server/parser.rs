//! Statements of the model's SQL, read by recursive descent. What it does not know gets the servers' 1064.
//!
//! The tokens are those of the crate `sql`; each statement form has a file of its own here.

mod change;
mod definition;
mod expression;
mod functions;
mod other;
mod query;
mod set;
mod transaction;

use std::rc::Rc;

use sql::{Flags, Lexer, Token, TokenKind};

use super::ast::{Early, Name, Statement};
use super::error::{SqlError, SqlResult};
use super::family::Family;

/// What a text's first statement is.
#[derive(Debug)]
pub struct Parsed {
    /// The statement.
    pub statement: Rc<Statement>,
    /// Its text.
    pub text: Rc<str>,
    /// How many placeholders it has.
    pub parameters: u16,
    /// Where the next statement begins; none if there is none.
    pub next: Option<usize>,
}

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// By whom.
    pub family: Family,
    /// With these settings of the session.
    pub flags: Flags,
    /// Whether it may hold placeholders.
    pub is_prepared: bool,
}

/// Reads the first statement of a text.
///
/// # Errors
/// 1064, 1065, or what an unknown function gets.
pub fn parse(text: &[u8], reading: Reading) -> SqlResult<Parsed> {
    let mut parser = Parser::new(text, reading);
    let start = parser.token.span.start as usize;
    let is_blank = text.iter().all(u8::is_ascii_whitespace);
    let statement = match parser.token.kind {
        TokenKind::End if !is_blank && !reading.is_prepared => Statement::Empty,
        TokenKind::End | TokenKind::Semicolon => return Err(reading.family.empty_query()),
        _ => parser.statement()?,
    };
    let end = parser.last_end;
    let next = match parser.token.kind {
        TokenKind::End => None,
        TokenKind::Semicolon => {
            let behind = parser.token.span.end as usize;
            parser.advance();
            (parser.token.kind != TokenKind::End).then_some(behind)
        }
        _ => return Err(parser.error()),
    };
    let own = text.get(start..end).unwrap_or_default();
    Ok(Parsed {
        statement: Rc::new(statement),
        // Nearly all is ASCII, which the check for UTF-8 reads in large steps.
        text: match std::str::from_utf8(own) {
            Ok(own) => Rc::from(own),
            Err(_) => Rc::from(String::from_utf8_lossy(own)),
        },
        parameters: parser.parameters,
        next,
    })
}

/// A cursor over tokens.
struct Parser<'a> {
    text: &'a [u8],
    lexer: Lexer<'a>,
    token: Token,
    /// Where the token before the current one ends.
    last_end: usize,
    reading: Reading,
    parameters: u16,
    early: Vec<Early>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8], reading: Reading) -> Self {
        let mut parser = Self {
            text,
            lexer: Lexer::new(text, reading.flags),
            token: Token::default(),
            last_end: 0,
            reading,
            parameters: 0,
            early: Vec::new(),
        };
        parser.advance();
        parser.last_end = 0;
        parser
    }

    fn advance(&mut self) {
        self.last_end = self.token.span.end as usize;
        loop {
            self.token = self.lexer.token();
            if !matches!(self.token.kind, TokenKind::Comment | TokenKind::Hint) {
                return;
            }
        }
    }

    /// The token behind the current one.
    fn peek(&self) -> Token {
        let mut lexer = self.lexer;
        loop {
            let token = lexer.token();
            if !matches!(token.kind, TokenKind::Comment | TokenKind::Hint) {
                return token;
            }
        }
    }

    fn bytes(&self) -> &'a [u8] {
        self.token.span.of(self.text)
    }

    /// The error that the current token makes no sense.
    fn error(&self) -> SqlError {
        SqlError::syntax(
            self.reading.family,
            self.text,
            self.token.span.start as usize,
        )
    }

    fn is(&self, word: &str) -> bool {
        self.token.kind == TokenKind::Word && self.bytes().eq_ignore_ascii_case(word.as_bytes())
    }

    fn is_next(&self, word: &str) -> bool {
        let token = self.peek();
        let bytes = token.span.of(self.text);
        token.kind == TokenKind::Word && bytes.eq_ignore_ascii_case(word.as_bytes())
    }

    fn eat(&mut self, word: &str) -> bool {
        let is = self.is(word);
        if is {
            self.advance();
        }
        is
    }

    fn expect(&mut self, word: &str) -> SqlResult<()> {
        match self.eat(word) {
            true => Ok(()),
            false => Err(self.error()),
        }
    }

    /// Reads these words in a row if the first is there.
    fn eat_all(&mut self, words: &[&str]) -> SqlResult<bool> {
        let Some((first, rest)) = words.split_first() else {
            return Ok(false);
        };
        if !self.eat(first) {
            return Ok(false);
        }
        rest.iter().try_for_each(|word| self.expect(word))?;
        Ok(true)
    }

    fn eat_kind(&mut self, kind: TokenKind) -> bool {
        let is = self.token.kind == kind;
        if is {
            self.advance();
        }
        is
    }

    fn expect_kind(&mut self, kind: TokenKind) -> SqlResult<()> {
        match self.eat_kind(kind) {
            true => Ok(()),
            false => Err(self.error()),
        }
    }

    fn is_at_end(&self) -> bool {
        matches!(self.token.kind, TokenKind::End | TokenKind::Semicolon)
    }

    /// A name: quoted, or a word that is not reserved.
    fn name(&mut self) -> SqlResult<Name> {
        let is_name = match self.token.kind {
            TokenKind::Quoted => true,
            TokenKind::Word => !is_reserved(self.bytes()),
            _ => false,
        };
        match is_name {
            true => Ok(self.take_name()),
            false => Err(self.error()),
        }
    }

    /// A name, also in quotes as a string has them.
    fn name_or_string(&mut self) -> SqlResult<Name> {
        match self.token.kind {
            TokenKind::String => {
                let text = sql::unquote(self.bytes(), self.reading.flags);
                let text = text.ok_or_else(|| self.error())?;
                let name = Rc::from(String::from_utf8_lossy(&text));
                self.advance();
                Ok(name)
            }
            TokenKind::Word => Ok(self.take_name()),
            _ => self.name(),
        }
    }

    fn take_name(&mut self) -> Name {
        let name = self.token.span.name(self.text);
        let name = Rc::from(String::from_utf8_lossy(&name));
        self.advance();
        name
    }

    /// A list with commas between its items.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> SqlResult<T>) -> SqlResult<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_kind(TokenKind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A list in parentheses.
    fn enclosed<T>(&mut self, item: impl FnMut(&mut Self) -> SqlResult<T>) -> SqlResult<Vec<T>> {
        self.expect_kind(TokenKind::Open)?;
        let items = self.list(item)?;
        self.expect_kind(TokenKind::Close)?;
        Ok(items)
    }

    fn take_early(&mut self) -> Vec<Early> {
        std::mem::take(&mut self.early)
    }

    fn statement(&mut self) -> SqlResult<Statement> {
        let mut lower = [0; 12];
        let bytes = self.bytes();
        let length = bytes.len().min(lower.len());
        lower[..length].copy_from_slice(&bytes[..length]);
        lower.make_ascii_lowercase();
        if self.token.kind == TokenKind::Open {
            return Ok(Statement::Select(self.select()?));
        }
        match &lower[..length] {
            b"select" => Ok(Statement::Select(self.select()?)),
            b"insert" => self.insert(),
            b"update" => self.update(),
            b"delete" => self.delete(),
            b"begin" | b"start" | b"commit" | b"rollback" | b"savepoint" | b"release" => {
                self.transaction()
            }
            b"set" => self.set(),
            b"create" | b"drop" | b"truncate" => self.definition(),
            _ => self.other(),
        }
    }
}

/// Words that are no names unless they are quoted, sorted.
const RESERVED: &[&str] = &[
    "add",
    "all",
    "alter",
    "and",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "collate",
    "create",
    "cross",
    "default",
    "delete",
    "desc",
    "distinct",
    "div",
    "drop",
    "else",
    "exists",
    "false",
    "for",
    "from",
    "group",
    "having",
    "if",
    "ignore",
    "in",
    "index",
    "inner",
    "insert",
    "int",
    "into",
    "is",
    "join",
    "key",
    "keys",
    "kill",
    "left",
    "like",
    "limit",
    "lock",
    "mod",
    "not",
    "null",
    "on",
    "or",
    "order",
    "primary",
    "read",
    "references",
    "release",
    "replace",
    "right",
    "select",
    "set",
    "show",
    "table",
    "then",
    "to",
    "true",
    "union",
    "unique",
    "unlock",
    "unsigned",
    "update",
    "usage",
    "use",
    "using",
    "values",
    "varchar",
    "when",
    "where",
    "with",
    "write",
    "xor",
];

fn is_reserved(word: &[u8]) -> bool {
    let mut lower = [0; 11];
    let Some(lower) = lower.get_mut(..word.len()) else {
        return false;
    };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    RESERVED
        .binary_search_by(|it| it.as_bytes().cmp(lower))
        .is_ok()
}

#[cfg(test)]
mod tests;
