//! The kinds of tokens: their numbers and names, which scripts compare.

use super::words::{FIRST_WORD_ID, WORDS};

/// The kinds that are no keywords, in the order of their ids from 0 on.
const OTHERS: [&str; 28] = [
    "TK_UNKNOWN",
    "TK_LE",
    "TK_GE",
    "TK_LT",
    "TK_GT",
    "TK_EQ",
    "TK_NE",
    "TK_STRING",
    "TK_COMMENT",
    "TK_LITERAL",
    "TK_FUNCTION",
    "TK_INTEGER",
    "TK_FLOAT",
    "TK_DOT",
    "TK_COMMA",
    "TK_ASSIGN",
    "TK_OBRACE",
    "TK_CBRACE",
    "TK_SEMICOLON",
    "TK_STAR",
    "TK_PLUS",
    "TK_MINUS",
    "TK_DIV",
    "TK_BITWISE_AND",
    "TK_BITWISE_OR",
    "TK_BITWISE_XOR",
    "TK_LOGICAL_AND",
    "TK_LOGICAL_OR",
];

/// A token's `token_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenId(pub(super) u16);

impl TokenId {
    pub(super) const UNKNOWN: Self = Self(0);
    pub(super) const LE: Self = Self(1);
    pub(super) const GE: Self = Self(2);
    pub(super) const LT: Self = Self(3);
    pub(super) const GT: Self = Self(4);
    pub(super) const EQ: Self = Self(5);
    pub(super) const NE: Self = Self(6);
    pub(super) const STRING: Self = Self(7);
    pub(super) const COMMENT: Self = Self(8);
    pub(super) const LITERAL: Self = Self(9);
    pub(super) const FUNCTION: Self = Self(10);
    pub(super) const INTEGER: Self = Self(11);
    pub(super) const FLOAT: Self = Self(12);
    pub(super) const DOT: Self = Self(13);
    pub(super) const COMMA: Self = Self(14);
    pub(super) const ASSIGN: Self = Self(15);
    pub(super) const OBRACE: Self = Self(16);
    pub(super) const CBRACE: Self = Self(17);
    pub(super) const SEMICOLON: Self = Self(18);
    pub(super) const STAR: Self = Self(19);
    pub(super) const PLUS: Self = Self(20);
    pub(super) const MINUS: Self = Self(21);
    pub(super) const DIV: Self = Self(22);
    pub(super) const BITWISE_AND: Self = Self(23);
    pub(super) const BITWISE_OR: Self = Self(24);
    pub(super) const BITWISE_XOR: Self = Self(25);
    pub(super) const LOGICAL_AND: Self = Self(26);
    pub(super) const LOGICAL_OR: Self = Self(27);
    pub(super) const COMMENT_MYSQL: Self = Self(FIRST_WORD_ID + WORDS.len() as u16);

    /// All there are, in the order of their numbers.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..=Self::COMMENT_MYSQL.0).map(Self)
    }

    /// Its number.
    pub(crate) fn id(self) -> u16 {
        self.0
    }

    /// Its name, with `TK_` in front.
    pub(crate) fn name(self) -> String {
        let at = usize::from(self.0);
        if let Some(name) = OTHERS.get(at) {
            return (*name).to_owned();
        }
        match WORDS.get(at - OTHERS.len()) {
            Some(word) => format!("TK_SQL_{word}"),
            None => "TK_COMMENT_MYSQL".to_owned(),
        }
    }
}
