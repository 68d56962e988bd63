//! The value of an assignment: literal, DEFAULT, or an expression and what it depends on.

use super::assignment::{Constancy, Value};
use crate::classify::QueryPosition;
use crate::functions::Function;
use crate::lexer::{Token, TokenKind};
use crate::scan::{Scan, Watcher};
use crate::words::Word;

impl<W: Watcher> Scan<'_, W> {
    /// Reads the value up to the next comma outside parentheses, FOR, or the end.
    ///
    /// A single word is a value for a system variable (`utf8mb4`, ON), but a column for a user
    /// variable.
    pub(super) fn value(&mut self, is_for_user_variable: bool) -> Value {
        let start = self.here.span;
        let shape = self.shape_of_value(is_for_user_variable);
        self.body(&mut QueryPosition::of_value());
        let span = self.span_from(start);
        match shape {
            Shape::Nothing => Value::None,
            Shape::Default => Value::Default,
            Shape::Literal => Value::Literal(span),
            Shape::Expression(constancy) => Value::Expression(span, constancy),
        }
    }

    fn shape_of_value(&self, is_for_user_variable: bool) -> Shape {
        let mut depth = 0u32;
        let mut constancy = Constancy::Constant;
        let mut last = Token::default();
        let mut count = 0;
        let mut tokens = self.tokens_ahead().peekable();
        while let Some(token) = tokens.next() {
            match token.kind {
                TokenKind::Comma if depth == 0 => break,
                TokenKind::Word if depth == 0 && token.word == Word::For => break,
                TokenKind::Open => depth += 1,
                TokenKind::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            let is_call = tokens
                .peek()
                .is_some_and(|next| next.kind == TokenKind::Open);
            if !is_name_behind(last) {
                constancy = constancy.max(constancy_of(token, is_call));
            }
            let is_sign = matches!(token.kind, TokenKind::Minus | TokenKind::Plus);
            if !(count == 0 && (is_sign || token.kind == TokenKind::Introducer)) {
                count += 1;
            }
            last = token;
        }
        shape_of(count, last, constancy, is_for_user_variable)
    }
}

enum Shape {
    Nothing,
    Default,
    Literal,
    Expression(Constancy),
}

/// Returns the shape of a value with `count` tokens besides the sign, of which `last` is the last.
fn shape_of(count: u32, last: Token, constancy: Constancy, is_for_user_variable: bool) -> Shape {
    if count == 0 {
        return Shape::Nothing;
    }
    if count > 1 {
        return Shape::Expression(constancy);
    }
    match (last.kind, last.word) {
        (TokenKind::Word, Word::Default) => Shape::Default,
        (TokenKind::Word, Word::True | Word::False | Word::Null) => Shape::Literal,
        (TokenKind::Word, Word::Niladic) => Shape::Expression(Constancy::Session),
        (TokenKind::Word | TokenKind::Quoted, _) if is_for_user_variable => {
            Shape::Expression(Constancy::Unknown)
        }
        (TokenKind::Word | TokenKind::Quoted, _) => Shape::Literal,
        (kind, _) if is_literal(kind) => Shape::Literal,
        _ => Shape::Expression(constancy),
    }
}

const fn is_literal(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::String | TokenKind::Binary | TokenKind::Number | TokenKind::BackslashNull
    )
}

/// Whether the next token is a name that belongs to this token: `@@global.x`, `COLLATE x`, `AS x`.
const fn is_name_behind(token: Token) -> bool {
    matches!(token.kind, TokenKind::Dot)
        || matches!(
            token.word,
            Word::As | Word::Collate | Word::Set | Word::Using
        )
}

/// Returns what an expression depends on because of this token.
fn constancy_of(token: Token, is_call: bool) -> Constancy {
    match token.kind {
        TokenKind::UserVariable | TokenKind::SystemVariable => Constancy::Session,
        TokenKind::Word => constancy_of_word(token, is_call),
        TokenKind::Quoted
        | TokenKind::Dollar
        | TokenKind::Assign
        | TokenKind::Placeholder
        | TokenKind::Stray => Constancy::Unknown,
        _ => Constancy::Constant,
    }
}

fn constancy_of_word(token: Token, is_call: bool) -> Constancy {
    match (token.word, token.function) {
        (Word::Niladic, _) => Constancy::Session,
        (_, Function::Plain) if is_call => Constancy::Constant,
        (_, Function::Session | Function::Volatile | Function::ConnectionId) if is_call => {
            Constancy::Session
        }
        (_, Function::LastInsertId | Function::FoundRows | Function::RowCount) if is_call => {
            Constancy::Session
        }
        // A SELECT without FROM depends only on its other tokens.
        (Word::Select, _) => Constancy::Session,
        (word, _) if word.expects_operand() => Constancy::Constant,
        (Word::Type | Word::Null | Word::True | Word::False | Word::End | Word::Is, _) => {
            Constancy::Constant
        }
        (Word::As | Word::Char | Word::Character | Word::Using | Word::Collate, _) => {
            Constancy::Constant
        }
        _ => Constancy::Unknown,
    }
}
