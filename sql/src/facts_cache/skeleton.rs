//! The skeleton of a statement: its text without plain values. Statements that differ only in these values have the
//! same skeleton.
//!
//! A plain value is one token for the lexer in every text with the same surroundings: the digits of an integer, or a
//! string of ASCII without quotes and backslashes, between spaces, parentheses, commas and comparisons.

use std::hash::Hasher;

use memchr::memchr2;
use rustc_hash::FxHasher;

use crate::eight::{between, eight_of};
use crate::lexer::{Lexer, TokenKind};
use crate::span::Span;

/// A longer text is not cached.
const TEXT_BYTES_MAX: usize = 1024;

/// A text with more values is not cached.
const VALUES_MAX: usize = 64;

/// A plain value in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlainValue {
    /// A number or a string.
    kind: TokenKind,
    /// The number of bytes before it that belong to no value.
    offset: u32,
    /// Its range in the text.
    pub span: Span,
}

/// A text without its plain values, and the ranges of these. Reused for the next text.
#[derive(Clone, Debug, Default)]
pub(super) struct Skeleton {
    /// All bytes that do not belong to a plain value.
    rest: Vec<u8>,
    /// The plain values, in order.
    pub values: Vec<PlainValue>,
}

impl Skeleton {
    /// Reads a text. False: the text cannot be cached.
    pub fn read(&mut self, text: &[u8]) -> bool {
        self.rest.clear();
        self.values.clear();
        if text.len() > TEXT_BYTES_MAX {
            return false;
        }
        let (mut from, mut at) = (0, 0);
        while let Some((start, byte)) = digit_or_quote(text, at) {
            let is_string = byte == b'\'';
            let end = match is_string {
                true => behind_string(text, start),
                false => Some(behind_digits(text, start)),
            };
            let Some(end) = end else {
                return false;
            };
            at = end;
            if may_stand_before(text, start) && may_stand_behind(text, end) {
                self.rest.extend_from_slice(&text[from..start]);
                self.values.push(PlainValue {
                    kind: match is_string {
                        true => TokenKind::String,
                        false => TokenKind::Number,
                    },
                    offset: self.rest.len() as u32,
                    span: Span {
                        start: start as u32,
                        end: end as u32,
                    },
                });
                from = end;
            } else if is_string {
                return false;
            }
        }
        self.rest.extend_from_slice(&text[from..]);
        self.values.len() <= VALUES_MAX
    }

    /// Returns a hash of the bytes outside of values.
    pub fn hash(&self) -> u64 {
        let mut hasher = FxHasher::default();
        hasher.write(&self.rest);
        hasher.finish()
    }

    /// Whether two texts differ only in their plain values.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_same = |one: &PlainValue, other: &PlainValue| {
            one.offset == other.offset && one.kind == other.kind
        };
        let mut pairs = self.values.iter().zip(&other.values);
        self.rest == other.rest
            && self.values.len() == other.values.len()
            && pairs.all(|(one, other)| is_same(one, other))
    }

    /// Whether each value is a token of its own in the text, and no other token depends on the bytes
    /// of a value.
    pub fn is_sure(&self, text: &[u8], mut tokens: Lexer<'_>) -> bool {
        // A dollar may begin a string that ends at its second tag. For some servers, a comment may end inside a value.
        let is_unsure = memchr::memchr(b'$', &self.rest).is_some()
            || memchr::memmem::find(text, b"/*").is_some();
        let is_token = |value: &PlainValue| {
            tokens.any(|token| token.kind == value.kind && token.span == value.span)
        };
        text.is_ascii() && !is_unsure && self.values.iter().all(is_token)
    }

    /// Frees unused memory.
    pub fn fit(&mut self) {
        self.rest.shrink_to_fit();
        self.values.shrink_to_fit();
    }
}

/// Returns the position of the first digit or quote from `at` on, and that byte.
#[inline]
fn digit_or_quote(text: &[u8], mut at: usize) -> Option<(usize, u8)> {
    while let Some(eight) = text.get(at..).and_then(eight_of) {
        let found = between(eight, b'0', b'9') | between(eight, b'\'', b'\'');
        if found != 0 {
            at += found.trailing_zeros() as usize / 8;
            return Some((at, text[at]));
        }
        at += 8;
    }
    let rest = text.get(at..)?.iter();
    let found = rest
        .enumerate()
        .find(|(_, byte)| byte.is_ascii_digit() || **byte == b'\'');
    found.map(|(behind, byte)| (at + behind, *byte))
}

#[inline]
fn behind_digits(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Returns the position after a string that begins at `at`; none if it contains a backslash or a character that is
/// not ASCII.
#[inline]
fn behind_string(text: &[u8], at: usize) -> Option<usize> {
    let content = text.get(at + 1..)?;
    let length = memchr2(b'\'', b'\\', content)?;
    let is_plain = content[length] == b'\'' && content[..length].is_ascii();
    is_plain.then_some(at + length + 2)
}

/// Whether a plain value may begin after the byte before `start`.
#[inline]
fn may_stand_before(text: &[u8], start: usize) -> bool {
    let before = start.checked_sub(1).and_then(|at| text.get(at));
    matches!(
        before,
        Some(b' ' | b'\n' | b'\r' | b'\t' | b'(' | b',' | b'=' | b'<' | b'>')
    )
}

/// Whether any value ends before the byte at `end`.
#[inline]
fn may_stand_behind(text: &[u8], end: usize) -> bool {
    matches!(
        text.get(end),
        None | Some(b' ' | b'\n' | b'\r' | b'\t' | b')' | b',' | b';')
    )
}
