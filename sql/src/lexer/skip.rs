//! Skips long lists of values without a token for each value: `(1, 2, 3 …)`, `(1, 'a'), (2, 'b') …`.
//!
//! The skipped values change neither facts nor digest, because both are the same for any list of at least two
//! values or two rows. Skipping ends before the first byte that is not part of a plain value, a comma or a
//! space; the lexer goes on there.

use memchr::memchr2;

use super::{Lexer, Region};
use crate::work;

impl Lexer<'_> {
    /// After a value and a comma: skips all following `value,`.
    pub(crate) fn skip_values(&mut self) {
        if self.region != Region::Plain {
            return;
        }
        while let Some(behind) = self
            .behind_value(self.at)
            .and_then(|at| self.behind(at, b','))
        {
            self.at = behind;
        }
    }

    /// After a row of at least two values and a comma: skips all following
    /// `(value, value …),`.
    pub(crate) fn skip_rows(&mut self) {
        if self.region != Region::Plain {
            return;
        }
        while let Some(behind) = self
            .behind_row(self.at)
            .and_then(|at| self.behind(at, b','))
        {
            self.at = behind;
        }
    }

    fn behind_row(&self, at: usize) -> Option<usize> {
        let at = self.behind(at, b'(')?;
        let mut at = self.behind_value(at).and_then(|at| self.behind(at, b','))?;
        loop {
            at = self.behind_value(at)?;
            match self.behind(at, b',') {
                Some(behind) => at = behind,
                None => return self.behind(at, b')'),
            }
        }
    }

    /// Returns the position after this byte, which may have spaces before it.
    #[inline]
    fn behind(&self, at: usize, byte: u8) -> Option<usize> {
        let at = self.behind_spaces(at);
        (self.text.get(at) == Some(&byte)).then_some(at + 1)
    }

    #[inline]
    fn behind_spaces(&self, mut at: usize) -> usize {
        while matches!(self.text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            at += 1;
        }
        at
    }

    /// Returns the position after a plain value, which may have spaces before it: a number, a string, NULL.
    #[inline]
    fn behind_value(&self, at: usize) -> Option<usize> {
        let at = self.behind_spaces(at);
        work::count(1);
        match self.text.get(at)? {
            b'0'..=b'9' => self.behind_number(at),
            b'-' | b'+' if self.text.get(at + 1)?.is_ascii_digit() => self.behind_number(at + 1),
            b'\'' if !self.letters.has_pairs => self.behind_string(at + 1),
            b'n' | b'N' => self.behind_null(at),
            _ => None,
        }
    }

    #[inline]
    fn behind_number(&self, at: usize) -> Option<usize> {
        let mut end = self.behind_digits(at);
        if self.text.get(end) == Some(&b'.') {
            end = self.behind_digits(end + 1);
        }
        self.ends_value(end).then_some(end)
    }

    #[inline]
    fn behind_digits(&self, mut at: usize) -> usize {
        while self.text.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    }

    /// Returns the position after a string without doubled quotes and backslashes, which no other string follows.
    #[inline]
    fn behind_string(&self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        let found = memchr2(b'\'', b'\\', rest);
        work::count(found.unwrap_or(rest.len()));
        let found = at + found?;
        (self.text[found] == b'\'' && self.ends_value(found + 1)).then_some(found + 1)
    }

    fn behind_null(&self, at: usize) -> Option<usize> {
        let is_null = self.text.get(at..at + 4)?.eq_ignore_ascii_case(b"null");
        (is_null && self.ends_value(at + 4)).then_some(at + 4)
    }

    #[inline]
    fn ends_value(&self, at: usize) -> bool {
        matches!(
            self.text.get(at),
            Some(b',' | b')' | b' ' | b'\n' | b'\r' | b'\t')
        )
    }
}
