//! Rows with the same normalised text are written once: `VALUES (...), ...`.

use crate::lexer::{Token, TokenKind};
use crate::words::Word;

/// The rows of VALUES, or of `IN ((…), (…))`, that are being written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rows {
    is_active: bool,
    /// The nesting depth of the rows.
    depth: u32,
    /// The position in the text at which the current row begins.
    start: usize,
    /// Whether the current row begins with the word ROW.
    has_word: bool,
    /// The last row that was written, `from..to`; empty at first.
    from: usize,
    to: usize,
    /// The position after the dots that replace equal rows; 0 if there are none.
    dots: usize,
}

impl Rows {
    /// Whether rows may begin with this token.
    pub fn may_begin(token: Token) -> bool {
        token.kind == TokenKind::Open || token.word == Word::Row
    }

    /// Notes that rows begin after VALUES.
    pub fn begin(&mut self, depth: u32) {
        *self = Self {
            is_active: true,
            depth,
            ..Self::default()
        };
    }

    /// Notes that the word ROW is written next.
    pub fn row(&mut self, at: usize) {
        self.start = at;
        self.has_word = true;
    }

    /// Notes that a parenthesis is written next, at `at`.
    pub fn open(&mut self, depth: u32, at: usize, of_in_with_rows: bool) {
        if self.is_active && depth == self.depth && !self.has_word {
            self.start = at;
        }
        if of_in_with_rows && !self.is_active {
            self.begin(depth + 1);
        }
    }

    /// Notes that a parenthesis was closed, down to `depth`. Removes the row if it is equal to the last one.
    pub fn close(&mut self, depth: u32, text: &mut Vec<u8>) {
        if !self.is_active || depth != self.depth {
            self.is_active &= depth >= self.depth;
            return;
        }
        self.has_word = false;
        if self.to == 0 || text.get(self.from..self.to) != text.get(self.start..) {
            (self.from, self.to, self.dots) = (self.start, text.len(), 0);
        } else if self.dots == 0 {
            text.truncate(self.to);
            text.extend_from_slice(b", ...");
            self.dots = text.len();
        } else {
            text.truncate(self.dots);
        }
    }

    /// Notes a written token. A token other than a comma or a part of a row ends the rows.
    pub fn pass(&mut self, token: Token, last: Token, depth: u32) {
        if !self.is_active || depth != self.depth {
            return;
        }
        let goes_on = matches!(token.kind, TokenKind::Comma | TokenKind::Close)
            || matches!(token.word, Word::Values | Word::Value)
            || token.word == Word::Row && last.kind != TokenKind::Close;
        self.is_active = goes_on;
    }
}
