//! The lexer: it cuts bytes into tokens as the servers' own lexers do (`lex_one_token` of `sql_lex.cc`).
//!
//! A token is a kind and a range: nothing is copied. Comments are tokens too. An executable comment is
//! not a token, but its content is cut into tokens. The lexer goes on to the end for any bytes.

mod comment;
mod literal;
mod skip;

use crate::Span;
use crate::bytes::{Class, Letters, SINGLES};
use crate::charsets::Charset;
use crate::eight::{eight_at, word_bytes};
use crate::flags::Flags;
use crate::functions::{Function, FunctionFamily};
use crate::words::{Word, find_word_in};
use crate::work;

#[cfg(test)]
mod tests;

/// One piece of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(align(8))]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// The built-in function of this name.
    pub(crate) function: Function,
    /// The keyword, if the token is a [`TokenKind::Word`] and a keyword.
    pub word: Word,
    /// Its range in the text.
    pub span: Span,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TokenKind {
    /// Nothing follows.
    #[default]
    End,
    /// A keyword or an unquoted name.
    Word,
    /// A name in backticks, or in double quotes under ANSI_QUOTES.
    Quoted,
    /// `'…'`, `"…"`, `N'…'`.
    String,
    /// `x'…'`, `b'…'`, `0x…`, `0b…`.
    Binary,
    /// `$$…$$` or `$tag$…$tag$`: the text of a routine in another language.
    Dollar,
    /// An integer, decimal or floating-point number without its sign.
    Number,
    /// `\N`, which is NULL.
    BackslashNull,
    /// `_utf8mb4` and similar ones in front of a string.
    Introducer,
    /// `@x`, `` @`x` ``, `@'x'`; also the host in `user@host`.
    UserVariable,
    /// `@@x`, or `@@session` in front of `.x`.
    SystemVariable,
    /// `?`
    Placeholder,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `;`
    Semicolon,
    /// `:=`
    Assign,
    /// `=`
    Equal,
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `*`
    Star,
    /// `:`
    Colon,
    /// `{` of ODBC's escapes.
    OpenBrace,
    /// Any other operator, of one to three bytes.
    Operator,
    /// `/*…*/`, `-- …`, `#…`; and executable comments that the server skips.
    Comment,
    /// `/*+…*/`
    Hint,
    /// A byte that begins nothing.
    Stray,
}

/// A position before the first byte of any statement.
const NOWHERE: usize = usize::MAX;

/// Whether the lexer is inside an executable comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Plain,
    /// Inside a comment that every server executes.
    Code,
    /// Inside a comment that some servers execute.
    Maybe,
}

/// Cuts a statement into tokens.
#[derive(Clone, Copy, Debug)]
pub struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    flags: Flags,
    letters: &'static Letters,
    region: Region,
    /// A word that begins at this byte is a name, because a dot is before it: `t.1a`, `t.select`.
    name_start: usize,
    /// An unquoted name ended at this byte, so a dot at this byte is a separator.
    word_end: usize,
    /// A dollar tag was opened and not closed.
    has_lone_tag: bool,
    is_lost: bool,
    is_conditional: bool,
}

impl TokenKind {
    /// Whether it is a value at every place.
    pub const fn is_literal(self) -> bool {
        matches!(
            self,
            Self::String | Self::Binary | Self::Dollar | Self::Number | Self::BackslashNull
        )
    }
}

impl<'a> Lexer<'a> {
    /// Starts at the first byte. Text after 4 GiB is not read, and the lexer is then lost.
    pub fn new(text: &'a [u8], flags: Flags) -> Self {
        let read = &text[..text.len().min(u32::MAX as usize)];
        let is_readable = flags.charset != Charset::UNKNOWN || read.is_ascii();
        Self {
            text: read,
            at: 0,
            flags,
            letters: flags.charset.letters(flags.server),
            region: Region::Plain,
            name_start: NOWHERE,
            word_end: NOWHERE,
            has_lone_tag: false,
            is_lost: read.len() < text.len() || !is_readable,
            is_conditional: false,
        }
    }

    /// The settings with which it reads.
    pub(crate) const fn flags(&self) -> Flags {
        self.flags
    }

    /// Goes on from this byte, at which a statement begins, and reads with these settings from there.
    pub(crate) fn read_on_from(&mut self, at: usize, flags: Flags) {
        (self.at, self.flags) = (at, flags);
        self.letters = flags.charset.letters(flags.server);
        (self.name_start, self.word_end) = (NOWHERE, NOWHERE);
    }

    /// Whether a string, quoted name or comment did not end, or might end at another byte for some
    /// server: the tokens after it are a guess.
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether some of the code so far is in a comment that only some servers execute.
    pub const fn is_conditional(&self) -> bool {
        self.is_conditional
    }

    /// Returns the next token; at the end always [`TokenKind::End`].
    #[inline]
    pub fn token(&mut self) -> Token {
        let mut token = Token::default();
        self.cut(&mut token);
        token
    }

    /// Writes the next token to the place where it is kept. A returned token would be written in pieces and read
    /// as a whole at once, and the processor stalls on that (a fifth of the time of a point select).
    pub(crate) fn cut(&mut self, token: &mut Token) {
        // Most tokens have one space in front.
        self.at += usize::from(self.text.get(self.at) == Some(&b' '));
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                *token = self.end();
                return;
            };
            match self.letters.classes[byte as usize] {
                Class::Space => {
                    work::count(1);
                    self.at += 1;
                    continue;
                }
                Class::Letter => *token = self.word(),
                Class::Single => *token = self.take(SINGLES[byte as usize], 1),
                Class::Digit => *token = self.number_or_word(),
                class => match self.other(class, byte) {
                    Some(other) => *token = other,
                    None => continue,
                },
            }
            return;
        }
    }

    /// Returns a token that does not begin with a letter, a digit or a single-byte token. None
    /// if an executable comment begins or ends.
    #[inline(never)]
    fn other(&mut self, class: Class, byte: u8) -> Option<Token> {
        Some(match class {
            Class::Quote => self.string(1, byte),
            Class::DoubleQuote if self.flags.ansi_quotes => self.quoted(0, TokenKind::Quoted),
            Class::DoubleQuote => self.string(1, byte),
            Class::Backtick => self.quoted(0, TokenKind::Quoted),
            Class::Prefix => self.prefixed(byte),
            Class::Dollar => self.dollar(),
            Class::At => self.variable(),
            Class::Dot => self.dot(),
            Class::Hash => self.line_comment(1),
            Class::Minus => self.minus(),
            Class::Slash => return self.slash(),
            Class::Star => return self.star(),
            Class::Colon if self.peek(1) == b'=' => self.take(TokenKind::Assign, 2),
            Class::Colon => self.take(TokenKind::Colon, 1),
            Class::Comparison => self.comparison(byte),
            Class::Doubled if self.peek(1) == byte => self.take(TokenKind::Operator, 2),
            Class::Doubled => self.take(TokenKind::Operator, 1),
            Class::Doubtful => {
                self.is_lost = true;
                self.word()
            }
            Class::Backslash if self.peek(1) == b'N' => self.take(TokenKind::BackslashNull, 2),
            _ => self.take(TokenKind::Stray, 1),
        })
    }

    #[inline]
    const fn is_behind_dot(&self) -> bool {
        self.name_start == self.at
    }

    /// Returns the byte at this distance; 0 after the end.
    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The token of the next `length` bytes.
    #[inline]
    fn take(&mut self, kind: TokenKind, length: usize) -> Token {
        self.take_to(kind, self.at + length)
    }

    /// The token up to `end`.
    #[inline]
    fn take_to(&mut self, kind: TokenKind, end: usize) -> Token {
        let span = Span {
            start: self.at as u32,
            end: end as u32,
        };
        work::count(end - self.at + 1);
        self.at = end;
        Token {
            kind,
            span,
            ..Token::default()
        }
    }

    #[cold]
    fn end(&mut self) -> Token {
        self.is_lost |= self.region != Region::Plain;
        self.region = Region::Plain;
        self.take(TokenKind::End, 0)
    }

    /// Returns a token whose end is missing. A name without an end becomes a string, because it may
    /// contain values.
    #[cold]
    fn unterminated(&mut self, kind: TokenKind) -> Token {
        self.is_lost = true;
        let is_comment = matches!(kind, TokenKind::Comment | TokenKind::Hint);
        let kind = if is_comment { kind } else { TokenKind::String };
        self.take_to(kind, self.text.len())
    }

    /// A keyword or an unquoted name.
    #[inline]
    fn word(&mut self) -> Token {
        let end = self.behind_word(self.at + 1);
        self.word_to(end)
    }

    #[inline(always)]
    fn word_to(&mut self, end: usize) -> Token {
        let is_name = self.is_behind_dot();
        let start = self.at;
        let mut token = self.take_to(TokenKind::Word, end);
        self.word_end = end;
        if !is_name {
            let entry = find_word_in(self.text, start, end);
            token.word = entry.word;
            token.function = entry.function;
            if entry.family != FunctionFamily::Both {
                token.function = entry.function_for(self.flags.server);
            }
        }
        token
    }

    /// Returns the end of the word that continues at `at`.
    #[inline]
    fn behind_word(&self, mut at: usize) -> usize {
        if self.letters.has_pairs {
            return self.behind_wide_word(at - 1);
        }
        loop {
            let count = word_bytes(eight_at(self.text, at), self.letters);
            at += count;
            if count < 8 {
                return at;
            }
        }
    }

    #[cold]
    fn behind_wide_word(&self, mut at: usize) -> usize {
        while let Some(&byte) = self.text.get(at) {
            at += match self.text.get(at + 1) {
                Some(&trail) if self.letters.is_pair(byte, trail) => 2,
                _ if self.letters.is_word(byte) => 1,
                _ => break,
            };
        }
        at
    }

    /// Returns a word, or a literal that begins like a word: `n'…'`, `x'…'`, `b'…'`, `_utf8'…'`.
    fn prefixed(&mut self, byte: u8) -> Token {
        match (byte | 0x20, self.peek(1)) {
            (b'n', b'\'') if !self.is_behind_dot() => self.string(2, b'\''),
            (b'x' | b'b', b'\'') if !self.is_behind_dot() => self.bits(),
            _ if byte == b'_' => self.introducer_or_word(),
            _ => self.word(),
        }
    }

    /// `.` of a qualified name, or of a number without digits before it.
    fn dot(&mut self) -> Token {
        let next = self.peek(1);
        if next.is_ascii_digit() && self.word_end != self.at {
            return self.fraction(self.at);
        }
        let token = self.take(TokenKind::Dot, 1);
        if self.letters.is_word(next) {
            self.name_start = self.at;
        }
        token
    }

    /// `@name`, `@'name'`, `@@name`.
    fn variable(&mut self) -> Token {
        let kind = match self.peek(1) {
            b'@' => return self.system_variable(),
            b'"' if self.flags.ansi_quotes => return self.quoted(1, TokenKind::UserVariable),
            quote @ (b'\'' | b'"') => return self.string_as(2, quote, TokenKind::UserVariable),
            b'`' => return self.quoted(1, TokenKind::UserVariable),
            _ => TokenKind::UserVariable,
        };
        let name = self.text.get(self.at + 1..).unwrap_or_default();
        let is_inside = |byte: &&u8| self.letters.is_variable(**byte);
        let end = self.at + 1 + name.iter().take_while(is_inside).count();
        self.take_to(kind, end)
    }

    fn system_variable(&mut self) -> Token {
        if self.peek(2) == b'`' {
            return self.quoted(2, TokenKind::SystemVariable);
        }
        let mut end = self.at + 2;
        if self
            .text
            .get(end)
            .is_some_and(|byte| self.letters.is_word(*byte))
        {
            end = self.behind_word(end + 1);
        }
        let token = self.take_to(TokenKind::SystemVariable, end);
        self.word_end = end;
        token
    }

    fn comparison(&mut self, byte: u8) -> Token {
        let length = match (byte, self.peek(1), self.peek(2)) {
            (b'<', b'=', b'>') => 3,
            (b'<', b'=' | b'>' | b'<', _) | (b'>', b'=' | b'>', _) | (b'!', b'=', _) => 2,
            _ => 1,
        };
        self.take(TokenKind::Operator, length)
    }

    fn minus(&mut self) -> Token {
        match (self.peek(1), self.peek(2)) {
            (b'-', next) if self.letters.makes_comment(next) => self.line_comment(2),
            (b'>', b'>') => self.take(TokenKind::Operator, 3),
            (b'>', _) => self.take(TokenKind::Operator, 2),
            _ => self.take(TokenKind::Minus, 1),
        }
    }
}

/// Iterates over all tokens; the end is not included.
impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        Some(self.token()).filter(|token| token.kind != TokenKind::End)
    }
}
