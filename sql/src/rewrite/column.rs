//! One item of a select list: its range, and whether it has an alias.

use crate::lexer::{Token, TokenKind};
use crate::span::Span;
use crate::words::Word;

/// The longest name of a column; servers cut longer names.
const NAME_BYTES_MAX: u32 = 256;

/// An item, up to the current token.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Column {
    span: Span,
    last: Token,
    before_last: Token,
    /// Whether a part of it was replaced.
    is_replaced: bool,
    /// Whether it has `AS` outside all parentheses.
    has_as: bool,
    has_case: bool,
    /// Whether it contains marks of an executable comment, which a server leaves out of its name.
    is_torn: bool,
    /// Whether such marks follow the part that was read so far.
    is_cut: bool,
}

impl Column {
    /// Notes marks of an executable comment at this place. They do not matter before the item or after
    /// it.
    pub const fn cut(&mut self) {
        self.is_cut = !self.span.is_empty();
    }

    /// Notes that a part of it is replaced, outside or inside parentheses.
    pub const fn replaced(&mut self) {
        self.is_replaced = true;
    }

    /// Notes a token outside all parentheses, or the parenthesis itself.
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

    /// Returns its range, if a part of it was replaced and it has no alias: the servers would use its text as its
    /// name. In doubt it counts as having an alias, because a second alias would be an error.
    pub fn unnamed(&self) -> Option<Span> {
        let length = self.span.end - self.span.start;
        let is_plain = !self.is_torn && length <= NAME_BYTES_MAX;
        let is_named = self.has_as || self.may_end_in_name();
        (self.is_replaced && is_plain && !is_named).then_some(self.span)
    }

    /// Whether the last token may be an alias of the text before it.
    fn may_end_in_name(&self) -> bool {
        let may_name = matches!(
            self.last.kind,
            TokenKind::Word | TokenKind::Quoted | TokenKind::String
        );
        let ends_case = self.last.word == Word::End && self.has_case;
        may_name && !ends_case && !expects_operand(self.before_last)
    }
}

/// Whether an operand follows a token.
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
