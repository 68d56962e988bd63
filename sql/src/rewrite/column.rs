//! One item of a select list: where it begins and ends, and whether it has a name of its own.

use crate::lexer::{Token, TokenKind};
use crate::span::Span;
use crate::words::Word;

/// Servers cut longer names.
const NAME_BYTES_MAX: u32 = 256;

/// An item, as far as it has been seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Column {
    span: Span,
    last: Token,
    before_last: Token,
    /// A part of it was replaced.
    is_replaced: bool,
    /// `AS` stands outside all parentheses.
    has_as: bool,
    has_case: bool,
    /// Marks of an executable comment stand in it: a server names it by what is between them.
    is_torn: bool,
    /// … or behind what has been seen of it.
    is_cut: bool,
}

impl Column {
    /// Marks of an executable comment stand here. In front of the item and behind it they do not
    /// matter.
    pub const fn cut(&mut self) {
        self.is_cut = !self.span.is_empty();
    }

    /// A part of it is replaced, outside all parentheses or within.
    pub const fn replaced(&mut self) {
        self.is_replaced = true;
    }

    /// A token outside all parentheses, or the parenthesis itself.
    pub fn note(&mut self, token: Token, text: &[u8]) {
        if self.span.is_empty() && is_modifier(token, text) {
            return;
        }
        self.has_as |= token.word == Word::As;
        self.has_case |= token.word == Word::Case;
        if self.span.is_empty() {
            self.span.start = token.span.start;
        }
        self.is_torn |= self.is_cut;
        self.span.end = token.span.end;
        self.before_last = self.last;
        self.last = token;
        // The end of ODBC's escapes.
        if token.span.of(text) == b"}" {
            self.last.kind = TokenKind::Close;
        }
    }

    /// Where it stands, if a part of it was replaced and it has no name: then the servers take its
    /// text for one. In doubt it has a name, for a second one would be an error.
    pub fn unnamed(&self) -> Option<Span> {
        let length = self.span.end - self.span.start;
        let is_plain = !self.is_torn && length <= NAME_BYTES_MAX;
        let is_named = self.has_as || self.may_end_in_name();
        (self.is_replaced && is_plain && !is_named).then_some(self.span)
    }

    /// Whether the last token may be a name that is given to what stands before it.
    fn may_end_in_name(&self) -> bool {
        let may_name = matches!(
            self.last.kind,
            TokenKind::Word | TokenKind::Quoted | TokenKind::String
        );
        let ends_case = self.last.word == Word::End && self.has_case;
        may_name && !ends_case && !expects_operand(self.before_last)
    }
}

/// Whether what stands behind a token is its operand.
fn expects_operand(token: Token) -> bool {
    let is_operator = matches!(
        token.kind,
        TokenKind::Operator
            | TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Star
            | TokenKind::Equal
            | TokenKind::Assign
            | TokenKind::Dot
            | TokenKind::Introducer
    );
    is_operator || token.word.expects_operand() || matches!(token.word, Word::Is | Word::Collate)
}

/// Whether a token between SELECT and the first item belongs to SELECT.
fn is_modifier(token: Token, text: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [
        b"DISTINCTROW",
        b"SQL_BIG_RESULT",
        b"SQL_BUFFER_RESULT",
        b"SQL_CACHE",
        b"SQL_NO_CACHE",
        b"SQL_SMALL_RESULT",
    ];
    match token.word {
        Word::All
        | Word::Distinct
        | Word::HighPriority
        | Word::StraightJoin
        | Word::SqlCalcFoundRows => true,
        Word::Reserved | Word::Operator => {
            let name = token.span.of(text);
            NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
        }
        _ => false,
    }
}
