//! The byte tables of the lexer, one for each character set: which token a byte begins, and where it may occur.

use crate::TokenKind;
use crate::charsets::row::{Bytes, CharsetFamily, Row};

/// The kind of token that a byte begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Class {
    Space,
    /// Begins a word.
    Letter,
    /// A letter for one family of servers only, while the server's family is unknown.
    Doubtful,
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
    /// `|`, `&`: single or doubled.
    Doubled,
    Backslash,
    Stray,
}

/// The bytes of a character set.
#[derive(Debug)]
pub(crate) struct Letters {
    /// The class of each byte.
    pub classes: [Class; 256],
    /// Where each byte may occur, as bits.
    places: [u8; 256],
    /// Whether some bytes below 0x80 may be the second byte of a character.
    pub has_pairs: bool,
}

const WORD: u8 = 1;
const VARIABLE: u8 = 2;
const BLANK: u8 = 4;
const DASHES: u8 = 8;
const LEAD: u8 = 16;
const TRAIL: u8 = 32;

impl Letters {
    /// Returns the byte table of a charset row, for a family of servers.
    pub const fn of(row: &Row, family: CharsetFamily) -> Self {
        let mut letters = Self {
            classes: [Class::Stray; 256],
            places: [0; 256],
            has_pairs: !row.leads.is_empty(),
        };
        letters.add(WORD, row.words);
        letters.add(VARIABLE, row.variables);
        letters.add(BLANK, row.blanks);
        // After two dashes, the end of the text (a zero byte here) begins a comment too.
        letters.add(DASHES, &[(0, 0), (b'\n', b'\n')]);
        letters.add(DASHES, row.dashes);
        letters.add(LEAD, row.leads);
        letters.add(TRAIL, row.trails);
        if matches!(family, CharsetFamily::MySql) {
            letters.add(WORD, row.words_of_mysql);
        }
        let mut byte = 0;
        while byte < 256 {
            letters.classes[byte] = class_in(byte as u8, letters.places[byte]);
            byte += 1;
        }
        if matches!(family, CharsetFamily::Both) {
            letters.doubt(row.words_of_mysql);
        }
        letters
    }

    const fn add(&mut self, place: u8, bytes: Bytes) {
        let mut range = 0;
        while range < bytes.len() {
            let (first, last) = bytes[range];
            let mut byte = first as usize;
            while byte <= last as usize {
                self.places[byte] |= place;
                byte += 1;
            }
            range += 1;
        }
    }

    const fn doubt(&mut self, bytes: Bytes) {
        let mut range = 0;
        while range < bytes.len() {
            let (first, last) = bytes[range];
            let mut byte = first as usize;
            while byte <= last as usize {
                self.classes[byte] = Class::Doubtful;
                byte += 1;
            }
            range += 1;
        }
    }

    #[inline]
    const fn stands(&self, byte: u8, place: u8) -> bool {
        self.places[byte as usize] & place != 0
    }

    /// Whether a byte may be inside a word.
    #[inline]
    pub const fn is_word(&self, byte: u8) -> bool {
        self.stands(byte, WORD)
    }

    /// Whether a byte may be in the unquoted name of a user variable. The servers do not check for characters of
    /// more than one byte here.
    #[inline]
    pub const fn is_variable(&self, byte: u8) -> bool {
        self.stands(byte, VARIABLE)
    }

    /// Whether a byte separates words.
    #[inline]
    pub const fn is_blank(&self, byte: u8) -> bool {
        self.stands(byte, BLANK)
    }

    /// Whether two dashes begin a comment if this byte follows.
    #[inline]
    pub const fn makes_comment(&self, byte: u8) -> bool {
        self.stands(byte, DASHES)
    }

    /// Whether these two bytes are one character, in a charset whose second bytes may be below 0x80.
    #[inline]
    pub const fn is_pair(&self, lead: u8, trail: u8) -> bool {
        self.stands(lead, LEAD) && self.stands(trail, TRAIL)
    }
}

/// Returns the class of a byte that may occur in these places.
const fn class_in(byte: u8, places: u8) -> Class {
    let ascii = class(byte);
    match ascii {
        Class::Letter | Class::Prefix | Class::Digit | Class::Dollar => ascii,
        _ if places & BLANK != 0 => Class::Space,
        _ if places & WORD != 0 => Class::Letter,
        _ => ascii,
    }
}

/// The class of a byte of ASCII.
const fn class(byte: u8) -> Class {
    match byte {
        // Some clients send the NUL that ends their strings.
        b' ' | b'\t'..=b'\r' | 0 => Class::Space,
        b'n' | b'N' | b'x' | b'X' | b'b' | b'B' | b'_' => Class::Prefix,
        b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
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
