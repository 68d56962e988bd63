//! The spaces in a digest's text.

use super::Digest;
use crate::functions::Function;
use crate::lexer::{Token, TokenKind};
use crate::words::Word;

impl Digest {
    /// Writes the space before a token, if one is needed, and before that a pending semicolon.
    #[inline(always)]
    pub(super) fn space(&mut self, token: Token) {
        if self.state.semicolon_due {
            self.text.push(b';');
            self.state.semicolon_due = false;
        }
        if !self.text.is_empty() && !self.is_glued(token) {
            self.text.push(b' ');
        }
    }

    #[inline(always)]
    fn is_glued(&self, token: Token) -> bool {
        let last = self.state.last;
        match (last.kind, token.kind) {
            (TokenKind::Open | TokenKind::Dot, _) | (_, TokenKind::Dot) => true,
            (TokenKind::Quoted, TokenKind::Open) => true,
            (TokenKind::Word, TokenKind::Open) => is_called(last),
            // user@host
            (_, TokenKind::UserVariable) => {
                is_name_of_account(last.kind) && last.span.end == token.span.start
            }
            _ => self
                .state
                .signs
                .is_some_and(|(start, _)| self.text.len() > start),
        }
    }
}

/// Whether a parenthesis after this word belongs to it: `f(…)`, `t(…)`, `VARCHAR(…)`.
fn is_called(word: Token) -> bool {
    let is_function = word.function != Function::None;
    let is_clause = matches!(word.word, Word::Values | Word::Value | Word::In);
    matches!(word.word, Word::None | Word::Type | Word::Niladic) || is_function && !is_clause
}

const fn is_name_of_account(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Word | TokenKind::Quoted | TokenKind::String
    )
}
