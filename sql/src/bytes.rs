//! What a byte may begin: the table that the lexer turns on.

use crate::TokenKind;

/// The byte that is a space in latin1.
pub(crate) const NO_BREAK_SPACE: u8 = 0xa0;

/// What kind of token a byte begins.
#[derive(Clone, Copy)]
pub(crate) enum Class {
    Space,
    /// Begins a word. Bytes from 0x80 do too.
    Letter,
    /// A space in latin1 and its like, a letter in others, half a character in UTF-8.
    NoBreakSpace,
    /// A letter that may begin a literal: n, x, b and the underscore.
    Prefix,
    Digit,
    /// A token by itself, of [`SINGLES`].
    Single,
    Quote,
    DoubleQuote,
    Backtick,
    Dollar,
    At,
    Dot,
    Hash,
    Minus,
    Slash,
    Star,
    Colon,
    /// `<`, `>`, `!`
    Comparison,
    /// `|`, `&`: one or two of the same.
    Doubled,
    Backslash,
    Stray,
}

/// The class of each byte.
pub(crate) static CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut classes = [Class::Stray; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = class(byte as u8);
        byte += 1;
    }
    classes
}

const fn class(byte: u8) -> Class {
    match byte {
        // Some clients send the NUL that ends their strings.
        b' ' | b'\t'..=b'\r' | 0 => Class::Space,
        NO_BREAK_SPACE => Class::NoBreakSpace,
        b'n' | b'N' | b'x' | b'X' | b'b' | b'B' | b'_' => Class::Prefix,
        b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => Class::Letter,
        b'0'..=b'9' => Class::Digit,
        b'\'' => Class::Quote,
        b'"' => Class::DoubleQuote,
        b'`' => Class::Backtick,
        b'$' => Class::Dollar,
        b'@' => Class::At,
        b'.' => Class::Dot,
        b'#' => Class::Hash,
        b'-' => Class::Minus,
        b'/' => Class::Slash,
        b'*' => Class::Star,
        b':' => Class::Colon,
        b'<' | b'>' | b'!' => Class::Comparison,
        b'|' | b'&' => Class::Doubled,
        b'\\' => Class::Backslash,
        _ if !matches!(single(byte), TokenKind::Stray) => Class::Single,
        _ => Class::Stray,
    }
}

/// The kind of token that each byte is by itself.
pub(crate) static SINGLES: [TokenKind; 256] = {
    let mut kinds = [TokenKind::Stray; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = single(byte as u8);
        byte += 1;
    }
    kinds
};

const fn single(byte: u8) -> TokenKind {
    match byte {
        b'(' => TokenKind::Open,
        b')' => TokenKind::Close,
        b',' => TokenKind::Comma,
        b';' => TokenKind::Semicolon,
        b'=' => TokenKind::Equal,
        b'+' => TokenKind::Plus,
        b'?' => TokenKind::Placeholder,
        b'{' => TokenKind::OpenBrace,
        b'%' | b'^' | b'~' | b'}' | b'[' | b']' => TokenKind::Operator,
        _ => TokenKind::Stray,
    }
}

/// Whether a byte may stand inside a word. Of [`NO_BREAK_SPACE`] the byte before decides.
#[inline]
pub(crate) fn is_word(byte: u8) -> bool {
    WORD[byte as usize]
}

static WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let at = byte as u8;
        word[byte] = at.is_ascii_alphanumeric()
            || matches!(at, b'_' | b'$' | 0x80..) && at != NO_BREAK_SPACE;
        byte += 1;
    }
    word
};
