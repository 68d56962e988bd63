//! Whether the insert id of an OK packet was generated. Then it is what LAST_INSERT_ID() returns; an
//! explicit value, which the packet tells too, is not.

use sql::{Flags, Lexer, StatementKind, Token, TokenKind, Word};

use super::seen::Seen;

/// A longer text is not read again.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Functions that return a time: as a number it has eight digits at least.
const TIMES: [&[u8]; 6] = [
    b"NOW",
    b"SYSDATE",
    b"CURDATE",
    b"UTC_TIMESTAMP",
    b"CURRENT_DATE",
    b"CURRENT_TIMESTAMP",
];
const TIME_MIN: u64 = 10_000_000;

/// Whether no value of an INSERT or REPLACE can be this id, so that the server generated it.
pub(super) fn is_generated(seen: &Seen<'_>, flags: Flags, parameters: Option<&[u64]>) -> bool {
    let id = seen.tally.ok.last_insert_id;
    let is_insert = matches!(
        seen.facts.kind,
        StatementKind::Insert | StatementKind::Replace
    );
    // The server reports a negative value as unsigned. A generated id never gets that far.
    let is_negative = i64::try_from(id).is_err();
    if !is_insert || is_negative || seen.tally.had_rows || seen.text.len() > TEXT_BYTES_MAX {
        return false;
    }
    let mut tokens = Lexer::new(seen.text, flags).peekable();
    // In front of the values there are only names.
    let values = [Word::Values, Word::Set];
    let is_value = |token: &Token| {
        values.contains(&token.word) || token.span.of(seen.text).eq_ignore_ascii_case(b"VALUE")
    };
    if !tokens.by_ref().any(|token| is_value(&token)) {
        return false;
    }
    let mut last = TokenKind::End;
    while let Some(token) = tokens.next() {
        let next = tokens.peek().map_or(TokenKind::End, |next| next.kind);
        let is_bound = token.kind == TokenKind::Placeholder
            && parameters.is_some_and(|numbers| !numbers.contains(&id));
        if !is_bound && !is_other(seen, token, last, next, id) {
            return false;
        }
        last = token.kind;
    }
    true
}

/// Whether a token of a list of values cannot give this id.
fn is_other(seen: &Seen<'_>, token: Token, last: TokenKind, next: TokenKind, id: u64) -> bool {
    let raw = token.span.of(seen.text);
    match token.kind {
        TokenKind::Open | TokenKind::Close | TokenKind::Comma | TokenKind::Equal => true,
        TokenKind::Comment | TokenKind::Semicolon | TokenKind::BackslashNull | TokenKind::End => {
            true
        }
        TokenKind::Minus => {
            let is_sign = matches!(last, TokenKind::Open | TokenKind::Comma | TokenKind::Equal);
            is_sign && next == TokenKind::Number
        }
        // The number stands behind a sign.
        TokenKind::Number if last == TokenKind::Minus => true,
        TokenKind::Number => number(raw).is_some_and(|number| number != id),
        TokenKind::String => is_other_string(raw, id),
        // The column of an assignment.
        TokenKind::Word | TokenKind::Quoted if next == TokenKind::Equal => true,
        TokenKind::Word => is_other_word(token, raw, next, id),
        _ => false,
    }
}

fn is_other_word(token: Token, raw: &[u8], next: TokenKind, id: u64) -> bool {
    let is_time = TIMES.iter().any(|time| raw.eq_ignore_ascii_case(time));
    match token.word {
        Word::Null | Word::Default => next != TokenKind::Open,
        Word::True | Word::False => id > 1,
        _ => is_time && id < TIME_MIN,
    }
}

/// An integer as it is written.
fn number(raw: &[u8]) -> Option<u64> {
    let is_integer = raw.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(raw)
        .ok()
        .filter(|_| is_integer)?
        .parse()
        .ok()
}

/// Whether a string, taken for a number, is not this id.
fn is_other_string(raw: &[u8], id: u64) -> bool {
    let quoted = |byte: &u8| matches!(byte, b'\'' | b'"' | b'n' | b'N');
    let content = raw
        .iter()
        .position(|byte| !quoted(byte))
        .map_or(&b""[..], |at| &raw[at..]);
    let content = content.trim_ascii_start();
    let digits = content
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let is_signed = matches!(content.first(), Some(b'+' | b'.' | b'\\'));
    let is_fraction = matches!(content.get(digits), Some(b'.' | b'e' | b'E'));
    let is_number = is_signed || digits > 0 && is_fraction;
    !is_number && (digits == 0 || number(&content[..digits]).is_some_and(|number| number != id))
}
