//! The pass that replaces parts of a text. Columns with a replaced part get the name that the servers would
//! have given them before: the original text of the whole item of the select list.

use super::column::Column;
use crate::flags::Flags;
use crate::lexer::{Lexer, Token, TokenKind};
use crate::span::Span;
use crate::words::Word;

/// The deepest nesting of queries whose columns get names.
const LEVELS_MAX: usize = 64;

/// The writer of the new text.
pub(super) struct Writer<'a> {
    text: &'a [u8],
    flags: Flags,
    lexer: Lexer<'a>,
    /// The token that comes next.
    ahead: Token,
    out: Vec<u8>,
    /// The number of bytes of the original text that are written or replaced.
    written: usize,
    /// The end of the last token or comment.
    end: u32,
    /// The open select list of each level of parentheses; none if the level is not in a select list.
    levels: Vec<Option<Column>>,
    /// Parentheses open below the last level.
    deeper: u32,
}

impl<'a> Writer<'a> {
    pub fn new(text: &'a [u8], flags: Flags) -> Self {
        let mut lexer = Lexer::new(text, flags);
        let ahead = lexer.token();
        Self {
            text,
            flags,
            lexer,
            ahead,
            out: Vec::new(),
            written: 0,
            end: 0,
            levels: vec![None],
            deeper: 0,
        }
    }

    /// Replaces the text at `span` by a value. `span` must be after the previous one.
    pub fn replace(&mut self, span: Span, value: &[u8]) {
        while self.ahead.kind != TokenKind::End && self.ahead.span.start < span.start {
            self.step();
        }
        self.check_gap();
        self.write_to(span.start as usize);
        // `SELECT@@identity` is valid without a space, but the value needs one.
        let letters = self.flags.charset.letters(self.flags.server);
        if self.out.last().is_some_and(|byte| letters.is_word(*byte)) {
            self.out.push(b' ');
        }
        self.out.extend_from_slice(value);
        self.written = span.end as usize;
        for column in self.levels.iter_mut().flatten() {
            column.replaced();
        }
        self.note(Token {
            kind: TokenKind::Close,
            span,
            ..Token::default()
        });
        while self.ahead.kind != TokenKind::End && self.ahead.span.start < span.end {
            self.advance();
        }
    }

    /// Returns the new text; none if nothing was replaced.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        if self.written == 0 {
            return None;
        }
        while self.ahead.kind != TokenKind::End {
            self.step();
        }
        self.end_column();
        self.write_to(self.text.len());
        Some(self.out)
    }

    fn write_to(&mut self, end: usize) {
        let part = self.text.get(self.written..end).unwrap_or_default();
        self.out.extend_from_slice(part);
        self.written = self.written.max(end);
    }

    /// Goes to the next token and returns the passed one.
    fn advance(&mut self) -> Token {
        self.check_gap();
        let token = self.ahead;
        self.end = token.span.end;
        self.ahead = self.lexer.token();
        token
    }

    /// Notes the marks of executable comments before the token ahead: a column's name contains only
    /// the content of such comments.
    fn check_gap(&mut self) {
        let gap = self.end as usize..self.ahead.span.start as usize;
        if self.text.get(gap).unwrap_or_default().contains(&b'*') {
            for column in self.levels.iter_mut().flatten() {
                column.cut();
            }
        }
    }

    /// Passes one token and notes it for the columns.
    fn step(&mut self) {
        let token = self.advance();
        match (token.kind, token.word) {
            (TokenKind::Comment | TokenKind::Hint, _) => {}
            (TokenKind::Open, _) => self.open(token),
            (TokenKind::Close, _) => self.close(token),
            _ if self.deeper > 0 => {}
            (TokenKind::Comma, _) => {
                if self.end_column() {
                    self.begin_column();
                }
            }
            (TokenKind::Semicolon, _) => {
                self.end_column();
                self.levels.truncate(1);
            }
            (_, Word::Select | Word::Returning) => self.begin_column(),
            (_, word) if ends_list(word) => {
                self.end_column();
            }
            _ => self.note(token),
        }
    }

    fn note(&mut self, token: Token) {
        if self.deeper > 0 {
            return;
        }
        if let Some(Some(column)) = self.levels.last_mut() {
            column.note(token, self.text);
        }
    }

    fn open(&mut self, token: Token) {
        if self.levels.len() == LEVELS_MAX {
            self.deeper += 1;
            return;
        }
        self.note(token);
        self.levels.push(None);
    }

    fn close(&mut self, token: Token) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        self.end_column();
        if self.levels.len() > 1 {
            self.levels.pop();
        }
        self.note(token);
    }

    fn begin_column(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            *level = Some(Column::default());
        }
    }

    /// Ends a column and its list. Returns whether there was one.
    fn end_column(&mut self) -> bool {
        let Some(column) = self.levels.last_mut().and_then(Option::take) else {
            return false;
        };
        if let Some(span) = column.unnamed() {
            self.write_to(span.end as usize);
            self.alias(span);
        }
        true
    }

    /// Writes ` AS` and the text at `span` as a quoted name.
    fn alias(&mut self, span: Span) {
        let name = span.of(self.text);
        self.out.extend_from_slice(b" AS `");
        let mut at = 0;
        while let Some(&byte) = name.get(at) {
            let pair = name
                .get(at + 1)
                .copied()
                .filter(|trail| self.flags.charset.is_pair(byte, *trail));
            self.out.push(byte);
            match pair {
                Some(trail) => self.out.push(trail),
                None if byte == b'`' => self.out.push(byte),
                None => {}
            }
            at += 1 + usize::from(pair.is_some());
        }
        self.out.push(b'`');
    }
}

/// Whether this word ends a select list if it is outside parentheses.
const fn ends_list(word: Word) -> bool {
    matches!(
        word,
        Word::From
            | Word::Into
            | Word::Where
            | Word::Group
            | Word::Having
            | Word::Order
            | Word::Limit
            | Word::Union
            | Word::Except
            | Word::Intersect
            | Word::Procedure
            | Word::For
            | Word::Lock
            | Word::On
    )
}
