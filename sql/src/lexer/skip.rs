//! Long lists of values, passed without a token each: `(1, 2, 3 …)`, `(1, 'a'), (2, 'b') …`.
//!
//! What is passed changes neither facts nor digest, since lists of two values or two rows and more
//! are alike for both. Anything but plain values, commas and spaces ends the skipping: the lexer
//! goes on in front of it.

use memchr::memchr2;

use super::{Lexer, Region};
use crate::work;

impl Lexer<'_> {
    /// Behind a value and a comma: passes as many `value,` as there are.
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

    /// Behind a row of at least two values and a comma: passes as many `(value, value …),` as there
    /// are.
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

    /// One behind this byte, which may have spaces in front.
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

    /// Behind a plain value: a number, a string, NULL; with spaces in front.
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

    /// Behind a string without doubled quotes, backslashes, or another string behind it.
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
