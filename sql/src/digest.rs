//! The digest of a statement: its normalised text and the hash of that. Statements that differ only in
//! their values have the same digest.
//!
//! Values become `?`, lists of values `...`, keywords upper case. There is one space where one is needed, and
//! no comment or hint. This is close to MySQL's DIGEST_TEXT, but names stay as they are written, without
//! quotes if they need none. The hash is XXH3 (64 bits, seed 0) of the text. A change of either changes the
//! digests of all users: the table in `tests/digests.tsv` guards against that.

mod rows;
mod text;

use twox_hash::XxHash3_64;

use crate::eight::{eight_at, upper_case};
use crate::facts::Facts;
use crate::flags::Flags;
use crate::functions::Function;
use crate::lexer::{Token, TokenKind};
use crate::scan::{Scan, Watcher};
use crate::span::Span;
use crate::words::{Word, find_word};
use rows::Rows;

/// The text of a digest is cut at this length. Statements that differ only after it have the same digest.
pub const DIGEST_BYTES_MAX: usize = 32 << 10;

/// The normalised text of a command and its hash. Reused for the next command.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    text: Vec<u8>,
    hash: u64,
    state: State,
}

/// The state while a digest is written.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The last token written.
    last: Token,
    /// How many parentheses are open.
    depth: u32,
    /// Whether an operand comes next: then a minus is a sign, and NULL is a value.
    expects_operand: bool,
    /// Whether words that are often names are names here.
    in_query: bool,
    /// Whether a semicolon must be written if another token follows.
    semicolon_due: bool,
    /// The start of the signs at the end of the text, and the token in front of them.
    signs: Option<(usize, Token)>,
    list: List,
    rows: Rows,
    is_full: bool,
}

/// The values at the end of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum List {
    #[default]
    None,
    /// One value, at `start`.
    One { start: usize, opening: Opening },
    /// Two or more, written `?, ...`.
    Many { start: usize, opening: Opening },
    /// Values and a comma at `comma`.
    Comma {
        start: usize,
        comma: usize,
        is_many: bool,
        opening: Opening,
    },
}

/// The text in front of a list of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// Something else.
    Other,
    /// `(`
    Parenthesis,
    /// `IN (`
    In,
}

impl Digest {
    /// Returns the digest with this text, which is already normalised, such as a copy from a log or a table.
    pub fn of_text(text: &[u8]) -> Self {
        let mut digest = Self {
            text: text.to_owned(),
            ..Self::default()
        };
        digest.finish();
        digest
    }

    /// The normalised text, at most [`DIGEST_BYTES_MAX`] bytes. Names in it may be of any charset.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// XXH3 of the text.
    pub const fn hash(&self) -> u64 {
        self.hash
    }

    /// Reads a command's digest and its facts in one pass; the data of the previous command are
    /// cleared.
    pub fn read(&mut self, facts: &mut Facts, text: &[u8], flags: Flags) {
        facts.clear();
        self.clear();
        Scan::new(text, flags, facts, self).command();
        self.finish();
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.hash = 0;
        self.state = State {
            expects_operand: true,
            ..State::default()
        };
    }

    pub(crate) fn finish(&mut self) {
        self.text.truncate(DIGEST_BYTES_MAX);
        self.hash = XxHash3_64::oneshot(&self.text);
    }

    /// Whether a token belongs to a value.
    fn is_value(&self, token: Token, bytes: &[u8]) -> bool {
        match token.kind {
            TokenKind::String
            | TokenKind::Binary
            | TokenKind::Dollar
            | TokenKind::Number
            | TokenKind::BackslashNull
            | TokenKind::Placeholder => true,
            TokenKind::Word => self.is_value_word(token, bytes),
            TokenKind::Stray => bytes != b"\\",
            _ => false,
        }
    }

    /// Whether a word is NULL as a value, or a broken number: a name does not begin with a digit.
    #[inline(always)]
    fn is_value_word(&self, token: Token, bytes: &[u8]) -> bool {
        match token.word {
            Word::Null => self.state.expects_operand && self.state.last.word != Word::Not,
            Word::None => {
                bytes.first().is_some_and(u8::is_ascii_digit)
                    && self.state.last.kind != TokenKind::Dot
            }
            _ => false,
        }
    }

    /// Writes a value, or makes it part of the list at the end of the text.
    fn value(&mut self, token: Token) {
        let is_second_half =
            token.kind == TokenKind::String && self.state.last.kind == TokenKind::String;
        if is_second_half {
            return;
        }
        if let Some((start, before)) = self.state.signs.take() {
            self.text.truncate(start);
            self.state.last = before;
        }
        self.state.list = match self.state.list {
            List::Comma {
                start,
                comma,
                is_many: true,
                opening,
            } => {
                self.text.truncate(comma);
                List::Many { start, opening }
            }
            List::Comma { start, opening, .. } => {
                self.text.truncate(start);
                self.text.extend_from_slice(b"?, ...");
                List::Many { start, opening }
            }
            _ => {
                let opening = self.opening();
                self.space(token);
                let start = self.text.len();
                self.text.push(b'?');
                List::One { start, opening }
            }
        };
        self.state.expects_operand = false;
    }

    fn opening(&self) -> Opening {
        match self.state.last.kind {
            TokenKind::Open if self.state.last.word == Word::In => Opening::In,
            TokenKind::Open => Opening::Parenthesis,
            _ => Opening::Other,
        }
    }

    fn comma(&mut self) {
        let comma = self.text.len();
        self.state.list = match self.state.list {
            List::One { start, opening } => List::Comma {
                start,
                comma,
                is_many: false,
                opening,
            },
            List::Many { start, opening } => List::Comma {
                start,
                comma,
                is_many: true,
                opening,
            },
            _ => List::None,
        };
        self.text.push(b',');
        self.state.expects_operand = true;
    }

    fn open(&mut self, mut token: Token, ahead: Token) {
        let behind_in = self.state.last.word == Word::In;
        self.space(token);
        let at = self.text.len();
        self.state
            .rows
            .open(self.state.depth, at, behind_in && Rows::may_begin(ahead));
        self.text.push(b'(');
        self.state.depth += 1;
        self.state.list = List::None;
        self.state.expects_operand = true;
        // Keep with the parenthesis whether it follows IN, and which function it belongs to.
        token.word = if behind_in { Word::In } else { Word::None };
        token.function = self.state.last.function;
        self.state.last = token;
    }

    fn close(&mut self) {
        match self.state.list {
            List::One {
                start,
                opening: Opening::In,
            }
            | List::Many {
                start,
                opening: Opening::In | Opening::Parenthesis,
            } => {
                self.text.truncate(start);
                self.text.extend_from_slice(b"...");
            }
            _ => {}
        }
        self.text.push(b')');
        self.state.depth = self.state.depth.saturating_sub(1);
        self.state.list = List::None;
        self.state.expects_operand = false;
        self.state.rows.close(self.state.depth, &mut self.text);
    }

    fn sign(&mut self, token: Token, bytes: &[u8]) {
        let is_unary = self.state.expects_operand;
        if is_unary && self.state.signs.is_none() {
            // A value replaces the space before the sign too, because it writes its own.
            self.state.signs = Some((self.text.len(), self.state.last));
        }
        self.space(token);
        self.text.extend_from_slice(bytes);
        self.state.expects_operand = true;
        if !is_unary {
            self.state.list = List::None;
        }
    }

    fn semicolon(&mut self) {
        self.state = State {
            expects_operand: true,
            semicolon_due: !self.text.is_empty(),
            is_full: self.state.is_full,
            ..State::default()
        };
    }
}

impl Watcher for Digest {
    #[inline]
    fn token(&mut self, text: &[u8], token: Token, ahead: Token) {
        if self.state.is_full {
            return;
        }
        let last = self.state.last;
        let mut token = token;
        match token.kind {
            TokenKind::Word => {
                if token.word == Word::Values && self.calls_values() {
                    token.word = Word::None;
                }
                if self.is_value_word(token, token.span.of(text)) {
                    self.value(token);
                } else {
                    self.word(token, text, ahead);
                }
                self.state.signs = None;
            }
            TokenKind::Introducer => return,
            TokenKind::Semicolon => return self.semicolon(),
            TokenKind::Open => return self.open(token, ahead),
            TokenKind::Minus | TokenKind::Plus => self.sign(token, token.span.of(text)),
            TokenKind::Comma => {
                self.comma();
                self.state.signs = None;
            }
            TokenKind::Close => {
                self.close();
                self.state.signs = None;
            }
            _ => {
                self.other(token, text);
                self.state.signs = None;
            }
        }
        self.state.rows.pass(token, last, self.state.depth);
        self.state.last = token;
        self.state.is_full = self.text.len() >= DIGEST_BYTES_MAX;
    }
}

impl Digest {
    /// Writes a token other than a word, sign, comma or parenthesis.
    #[inline]
    fn other(&mut self, token: Token, text: &[u8]) {
        let bytes = token.span.of(text);
        if self.is_value(token, bytes) {
            return self.value(token);
        }
        self.state.list = List::None;
        self.space(token);
        match token.kind {
            TokenKind::Quoted => self.quoted(token.span, text),
            TokenKind::UserVariable => {
                self.text.push(b'@');
                self.quoted(token.span, text);
            }
            TokenKind::SystemVariable => {
                self.text.extend_from_slice(b"@@");
                self.quoted(token.span, text);
            }
            _ => self.text.extend_from_slice(bytes),
        }
        self.state.expects_operand = match token.kind {
            TokenKind::Operator | TokenKind::Equal | TokenKind::Assign => true,
            TokenKind::Star => !self.state.expects_operand,
            _ => false,
        };
    }

    /// Writes a keyword or the name of a function in upper case, and any other name as it is.
    #[inline]
    fn word(&mut self, token: Token, text: &[u8], ahead: Token) {
        self.state.list = List::None;
        self.space(token);
        self.state.expects_operand = token.word.expects_operand();
        if token.word == Word::None {
            let is_function = token.function != Function::None && ahead.kind == TokenKind::Open;
            return self.spell(token.span, text, is_function);
        }
        if token.word.begins_rows() {
            self.begin_rows(token.word, ahead);
        }
        self.spell(token.span, text, self.is_keyword(token, ahead));
        self.state.in_query |= token.word.begins_query();
    }

    /// Notes the start of rows, before the word with which rows may begin is written.
    fn begin_rows(&mut self, word: Word, ahead: Token) {
        match word {
            Word::Row => self.state.rows.row(self.text.len()),
            Word::Values | Word::Value if Rows::may_begin(ahead) => {
                self.state.rows.begin(self.state.depth);
            }
            _ => {}
        }
    }

    /// Writes a word; short words without a loop.
    #[inline]
    fn spell(&mut self, span: Span, text: &[u8], in_upper_case: bool) {
        let length = (span.end - span.start) as usize;
        if length > 8 {
            return self.spell_long(span.of(text), in_upper_case);
        }
        let bytes = eight_at(text, span.start as usize);
        let bytes = if in_upper_case {
            upper_case(bytes)
        } else {
            bytes
        };
        let end = self.text.len() + length;
        self.text.extend_from_slice(&bytes.to_le_bytes());
        self.text.truncate(end);
    }

    fn spell_long(&mut self, bytes: &[u8], in_upper_case: bool) {
        let start = self.text.len();
        self.text.extend_from_slice(bytes);
        if in_upper_case {
            self.text[start..].make_ascii_uppercase();
        }
    }

    /// Whether VALUES is the function of ON DUPLICATE KEY UPDATE, not the clause.
    fn calls_values(&self) -> bool {
        let last = self.state.last;
        let is_first = last.kind == TokenKind::End
            || last.kind == TokenKind::Open && last.function == Function::None;
        self.state.expects_operand && !is_first
    }

    /// Whether a word that may be a keyword is one here.
    fn is_keyword(&self, token: Token, ahead: Token) -> bool {
        let is_called = ahead.kind == TokenKind::Open;
        let is_among_names =
            self.state.in_query || self.state.depth > 0 && token.word != Word::Type;
        let is_name = token.word.is_often_a_name()
            && is_among_names
            && self.state.last.word != Word::As
            && !(is_called && token.word.takes_parenthesis());
        let is_function = is_called && token.function != Function::None;
        is_function || !is_name && ahead.kind != TokenKind::Dot
    }

    /// Writes a name without quotes if it needs none, otherwise in backticks.
    fn quoted(&mut self, span: Span, text: &[u8]) {
        let name = span.name(text);
        let is_plain =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
        let needs_none = name.first().is_none_or(|byte| !byte.is_ascii_digit())
            && !(name.is_empty() && span.of(text).first() != Some(&b'@'))
            && name.iter().all(is_plain)
            && !is_reserved(find_word(&name).word);
        let raw = span.of(text);
        if needs_none || !raw.contains(&b'`') && !raw.contains(&b'"') && !raw.contains(&b'\'') {
            self.text.extend_from_slice(&name);
            return;
        }
        self.text.push(b'`');
        for byte in name.iter() {
            self.text.push(*byte);
            if *byte == b'`' {
                self.text.push(b'`');
            }
        }
        self.text.push(b'`');
    }
}

const fn is_reserved(word: Word) -> bool {
    !matches!(word, Word::None) && !word.is_often_a_name()
}
