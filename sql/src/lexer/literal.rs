//! Strings, quoted names and numbers.

use memchr::{memchr, memchr2};

use super::{Lexer, Token, TokenKind};
use crate::server::Server;
use crate::work;

impl Lexer<'_> {
    /// A string whose content begins `opening` bytes from here.
    pub(super) fn string(&mut self, opening: usize, quote: u8) -> Token {
        self.string_as(opening, quote, TokenKind::String)
    }

    pub(super) fn string_as(&mut self, opening: usize, quote: u8, kind: TokenKind) -> Token {
        let escapes = !self.flags.no_backslash_escapes;
        let end = self.behind_quote(self.at + opening, quote, escapes);
        self.enclosed(kind, end)
    }

    /// A name whose quote is `opening` bytes from here. Backslashes have no meaning in it.
    pub(super) fn quoted(&mut self, opening: usize, kind: TokenKind) -> Token {
        let quote = self.peek(opening);
        let end = self.behind_quote(self.at + opening + 1, quote, false);
        self.enclosed(kind, end)
    }

    /// `x'…'`, `b'…'`
    pub(super) fn bits(&mut self) -> Token {
        let end = self.behind_quote(self.at + 2, b'\'', false);
        self.enclosed(TokenKind::Binary, end)
    }

    fn enclosed(&mut self, kind: TokenKind, end: Option<usize>) -> Token {
        self.check_region(self.at, end.unwrap_or(self.text.len()));
        match end {
            Some(end) => self.take_to(kind, end),
            None => self.unterminated(kind),
        }
    }

    /// Returns the position after the closing quote, for a content from `at` on. Doubled quotes do not close.
    fn behind_quote(&self, mut at: usize, quote: u8, escapes: bool) -> Option<usize> {
        if self.letters.has_pairs {
            return self.behind_quote_in_pairs(at, quote, escapes);
        }
        loop {
            let rest = self.text.get(at..)?;
            let found = if escapes {
                memchr2(quote, b'\\', rest)
            } else {
                memchr(quote, rest)
            };
            work::count(found.unwrap_or(rest.len()));
            at += found?;
            // An escape, or a quote that is doubled.
            if self.text[at] != quote || self.text.get(at + 1) == Some(&quote) {
                at += 2;
            } else {
                return Some(at + 1);
            }
        }
    }

    /// Returns the same as [`Self::behind_quote`] if a backslash or backtick may be the second byte of a character.
    #[cold]
    fn behind_quote_in_pairs(&self, mut at: usize, quote: u8, escapes: bool) -> Option<usize> {
        loop {
            let byte = *self.text.get(at)?;
            let next = self.text.get(at + 1).copied();
            at += match next {
                Some(trail) if self.letters.is_pair(byte, trail) => 2,
                _ if byte == b'\\' && escapes => 2,
                Some(next) if byte == quote && next == quote => 2,
                _ if byte == quote => return Some(at + 1),
                _ => 1,
            };
        }
    }

    /// `$$…$$` and `$tag$…$tag$` if the server knows them, otherwise a word.
    ///
    /// A tag without a second tag is an error in MySQL 9 and a name in older servers. After one such tag, no
    /// second tag is searched for any more, so that a text full of them does not take long to read.
    pub(super) fn dollar(&mut self) -> Token {
        let is_known = match self.flags.server {
            Server::MariaDb(_) => return self.word(),
            Server::MySql(version) => version >= 90_000,
            Server::Unknown => false,
        };
        let tag_end = self.behind_word(self.at + 1);
        let word = &self.text[self.at..tag_end];
        let Some(length) = memchr(b'$', &word[1..]).map(|at| at + 2) else {
            return self.word();
        };
        if self.is_behind_dot() || self.has_lone_tag {
            return self.word();
        }
        let (tag, rest) = self.text[self.at..].split_at(length);
        let Some(found) = memchr::memmem::find(rest, tag) else {
            work::count(rest.len());
            self.has_lone_tag = true;
            return self.word();
        };
        self.is_lost |= !is_known;
        self.enclosed(TokenKind::Dollar, Some(self.at + length + found + length))
    }

    /// `_utf8mb4` in front of a string, or a name that begins with an underscore.
    pub(super) fn introducer_or_word(&mut self) -> Token {
        let end = self.behind_word(self.at + 1);
        let behind = self.text.get(end..).unwrap_or_default();
        let spaces = behind
            .iter()
            .take_while(|byte| self.letters.is_blank(**byte))
            .count();
        work::count(spaces);
        let next = behind.get(spaces);
        let is_string = matches!(next, Some(b'\'' | b'"' | b'x' | b'X' | b'b' | b'B' | b'0'));
        let is_introducer = is_string && !self.is_behind_dot();
        if is_introducer && crate::charsets::is_charset(&self.text[self.at + 1..end]) {
            return self.take_to(TokenKind::Introducer, end);
        }
        self.word_to(end)
    }

    /// A number, or a name that begins with digits.
    pub(super) fn number_or_word(&mut self) -> Token {
        if self.is_behind_dot() {
            return self.word();
        }
        if let Some(end) = self.prefixed_number() {
            return self.take_to(TokenKind::Binary, end);
        }
        let end = self.digits_end(self.at);
        match self.text.get(end) {
            Some(b'.') => self.fraction(end),
            Some(b'e' | b'E') => match self.exponent_end(end) {
                Some(end) => self.take_to(TokenKind::Number, end),
                None => self.word(),
            },
            Some(&byte) if self.letters.is_word(byte) => self.word(),
            _ => self.take_to(TokenKind::Number, end),
        }
    }

    /// A number with a point at `point`.
    pub(super) fn fraction(&mut self, point: usize) -> Token {
        let end = self.digits_end(point + 1);
        let end = match self.text.get(end) {
            Some(b'e' | b'E') => self.exponent_end(end).unwrap_or(end),
            _ => end,
        };
        self.take_to(TokenKind::Number, end)
    }

    #[inline]
    fn digits_end(&self, mut at: usize) -> usize {
        while self.text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    }

    /// Returns the end of the exponent whose `e` is at `at`; none if it is no exponent.
    fn exponent_end(&self, at: usize) -> Option<usize> {
        let sign = matches!(self.text.get(at + 1), Some(b'+' | b'-'));
        let digits = at + 1 + usize::from(sign);
        let end = self.digits_end(digits);
        (end > digits).then_some(end)
    }

    /// Returns the end of `0x…` or `0b…`, in lower case only and not followed by a byte of a name.
    fn prefixed_number(&self) -> Option<usize> {
        let is_digit: fn(&u8) -> bool = match (self.peek(0), self.peek(1)) {
            (b'0', b'x') => u8::is_ascii_hexdigit,
            (b'0', b'b') => |byte| matches!(byte, b'0' | b'1'),
            _ => return None,
        };
        let digits = self.text[self.at + 2..]
            .iter()
            .take_while(|byte| is_digit(byte))
            .count();
        let end = self.at + 2 + digits;
        let is_name = |byte: &u8| self.letters.is_word(*byte);
        let is_number = digits > 0 && !self.text.get(end).is_some_and(is_name);
        is_number.then_some(end)
    }
}
