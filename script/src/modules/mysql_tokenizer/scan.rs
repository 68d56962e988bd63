//! Splits a statement into tokens by the original's rules: if several rules match at one place, the
//! longest match wins. No statement is refused: a byte that no rule matches is an unknown token.

use std::borrow::Cow;

use super::kind::TokenId;
use super::words;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenId,
    pub(crate) text: Cow<'a, [u8]>,
}

impl<'a> Token<'a> {
    fn new(kind: TokenId, text: &'a [u8]) -> Self {
        Self {
            kind,
            text: Cow::Borrowed(text),
        }
    }
}

/// Takes a space or some tokens from the front of `rest`, whose first byte is `first`. Returns the rest after them.
pub(crate) fn step<'a>(rest: &'a [u8], first: u8, tokens: &mut Vec<Token<'a>>) -> &'a [u8] {
    match first {
        b' ' | b'\t'..=b'\r' => &rest[1..],
        b'\'' | b'"' => quoted(rest, first, TokenId::STRING, tokens),
        b'`' => quoted(rest, first, TokenId::LITERAL, tokens),
        _ => comment(rest, tokens)
            .or_else(|| word_or_number(rest, tokens))
            .unwrap_or_else(|| operator(rest, tokens)),
    }
}

/// The result of each reader: the rest after its token; `None` if the text does not begin with its kind of token.
type Left<'a> = Option<&'a [u8]>;

fn comment<'a>(text: &'a [u8], tokens: &mut Vec<Token<'a>>) -> Left<'a> {
    let (kind, inside, end): (_, _, &[u8]) = match text {
        [b'/', b'*', b'!', inside @ ..] => (TokenId::COMMENT_MYSQL, inside, b"*/"),
        [b'/', b'*', inside @ ..] => (TokenId::COMMENT, inside, b"*/"),
        [b'-', b'-', b' ' | b'\t', inside @ ..] => (TokenId::COMMENT, inside, b"\n"),
        [b'-', b'-', b'\n' | b'\r', ..] => (TokenId::COMMENT, &text[2..], b"\n"),
        _ => return None,
    };
    let length = find(inside, end).unwrap_or(inside.len());
    tokens.push(Token::new(kind, &inside[..length]));
    let left = &inside[length..];
    Some(left.get(end.len()..).unwrap_or_default())
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// Reads a quoted text. A doubled quote inside stands for one quote. After a backslash in a string a quote does not
/// end it. If the end is missing, the whole rest is inside.
fn quoted<'a>(text: &'a [u8], quote: u8, kind: TokenId, tokens: &mut Vec<Token<'a>>) -> &'a [u8] {
    let text = &text[1..];
    let mut collapsed: Option<Vec<u8>> = None;
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        if text[at] == b'\\' && kind == TokenId::STRING {
            at += 2;
        } else if text[at] != quote {
            at += 1;
        } else if text.get(at + 1) == Some(&quote) {
            let so_far = collapsed.get_or_insert_default();
            so_far.extend_from_slice(&text[from..=at]);
            at += 2;
            from = at;
        } else {
            break;
        }
    }
    let end = at.min(text.len());
    let last = &text[from.min(end)..end];
    let text_inside = match collapsed {
        Some(so_far) => Cow::Owned([so_far.as_slice(), last].concat()),
        None => Cow::Borrowed(last),
    };
    tokens.push(Token {
        kind,
        text: text_inside,
    });
    text.get(end + 1..).unwrap_or_default()
}

/// Reads the longest of: a number, a name before an opening bracket, up to three names with dots.
fn word_or_number<'a>(text: &'a [u8], tokens: &mut Vec<Token<'a>>) -> Left<'a> {
    let number = number(text);
    let name = name_length(text);
    if name == 0 && number.is_none() {
        return None;
    }
    let joined = joined_length(text, name);
    if let Some((kind, length)) = number
        && length >= joined
        && !(length == name && text.get(name) == Some(&b'('))
    {
        tokens.push(Token::new(kind, &text[..length]));
        return Some(&text[length..]);
    }
    if text.get(name) == Some(&b'(') {
        tokens.push(Token::new(TokenId::FUNCTION, &text[..name]));
        return Some(&text[name..]);
    }
    for (index, part) in text[..joined].split(|byte| *byte == b'.').enumerate() {
        if index > 0 {
            tokens.push(Token::new(TokenId::DOT, b"."));
        }
        let kind = words::id(part).map_or(TokenId::LITERAL, TokenId);
        tokens.push(Token::new(kind, part));
    }
    Some(&text[joined..])
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'@'
}

/// Bytes of the name at the front; 0 if there is none. A name may begin with digits, but has another character, too.
fn name_length(text: &[u8]) -> usize {
    let length = prefix(text, is_of_name);
    match text[..length].iter().all(u8::is_ascii_digit) {
        true => 0,
        false => length,
    }
}

fn joined_length(text: &[u8], first: usize) -> usize {
    let mut length = first;
    for _ in 0..2 {
        if length == 0 || text.get(length) != Some(&b'.') {
            break;
        }
        match name_length(&text[length + 1..]) {
            0 => break,
            next => length += 1 + next,
        }
    }
    length
}

/// The number at the front: its kind and its length in bytes.
fn number(text: &[u8]) -> Option<(TokenId, usize)> {
    let digits = |text: &[u8]| prefix(text, |byte| byte.is_ascii_digit());
    let whole = digits(text);
    let fraction = match text.get(whole) {
        Some(b'.') => digits(&text[whole + 1..]),
        _ => 0,
    };
    if whole == 0 && fraction == 0 {
        return None;
    }
    let mantissa = if fraction > 0 {
        whole + 1 + fraction
    } else {
        whole
    };
    let exponent = match text.get(mantissa) {
        Some(b'e' | b'E') => {
            let sign = usize::from(matches!(text.get(mantissa + 1), Some(b'+' | b'-')));
            match digits(text.get(mantissa + 1 + sign..).unwrap_or_default()) {
                0 => 0,
                digits => 1 + sign + digits,
            }
        }
        _ => 0,
    };
    match (fraction, exponent) {
        (0, 0) => Some((TokenId::INTEGER, whole)),
        _ => Some((TokenId::FLOAT, mantissa + exponent)),
    }
}

fn prefix(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    let end = text.iter().position(|byte| !belongs(*byte));
    end.unwrap_or(text.len())
}

fn operator<'a>(text: &'a [u8], tokens: &mut Vec<Token<'a>>) -> &'a [u8] {
    let (kind, length) = match text {
        [b'<', b'=', ..] => (TokenId::LE, 2),
        [b'>', b'=', ..] => (TokenId::GE, 2),
        [b'<', b'>', ..] | [b'!', b'=', ..] => (TokenId::NE, 2),
        [b':', b'=', ..] => (TokenId::ASSIGN, 2),
        [b'&', b'&', ..] => (TokenId::LOGICAL_AND, 2),
        [b'|', b'|', ..] => (TokenId::LOGICAL_OR, 2),
        [single, ..] => (of_one_byte(*single), 1),
        [] => return text,
    };
    let (taken, left) = text.split_at(length);
    tokens.push(Token::new(kind, taken));
    left
}

fn of_one_byte(byte: u8) -> TokenId {
    match byte {
        b'<' => TokenId::LT,
        b'>' => TokenId::GT,
        b'=' => TokenId::EQ,
        b'.' => TokenId::DOT,
        b',' => TokenId::COMMA,
        b'(' => TokenId::OBRACE,
        b')' => TokenId::CBRACE,
        b';' => TokenId::SEMICOLON,
        b'*' => TokenId::STAR,
        b'+' => TokenId::PLUS,
        b'-' => TokenId::MINUS,
        b'/' => TokenId::DIV,
        b'&' => TokenId::BITWISE_AND,
        b'|' => TokenId::BITWISE_OR,
        b'^' => TokenId::BITWISE_XOR,
        _ => TokenId::UNKNOWN,
    }
}
