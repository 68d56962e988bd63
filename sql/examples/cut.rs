//! Shows how statements are cut, for a comparison with servers (`e2e/tests/lexing.rs`).
//!
//! Each line of the input: a server (`mysql` or `mariadb`), its version, a character set, a `sql_mode` and the bytes of
//! a text in hexadecimal digits, with tabs between. Each line of the output: `lost`, or the statements of the text with
//! semicolons between, each the items of its list with commas between. An item is `=` and its bytes where it is one
//! string, otherwise `?`.

use std::io::{BufRead, Write, stdin, stdout};

use pilotfish_sql::{Charset, Flags, Lexer, Server, Token, TokenKind, unquote};

fn main() {
    let mut out = stdout().lock();
    for line in stdin().lock().lines().map_while(Result::ok) {
        let said = cut_of_line(&line).unwrap_or_else(|| "not understood".to_owned());
        if writeln!(out, "{said}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn cut_of_line(line: &str) -> Option<String> {
    let mut columns = line.split('\t');
    let product = columns.next()?;
    let version = columns.next()?.parse().ok()?;
    let flags = Flags {
        server: match product {
            "mysql" => Server::MySql(version),
            "mariadb" => Server::MariaDb(version),
            _ => return None,
        },
        charset: Charset::of_name(columns.next()?.as_bytes()),
        ..Flags::default()
    };
    let flags = flags.in_mode(columns.next()?.as_bytes());
    let text = bytes(columns.next()?)?;
    Some(cut(&text, flags))
}

fn cut(text: &[u8], flags: Flags) -> String {
    let mut lexer = Lexer::new(text, flags);
    let mut statements = vec![vec![Vec::new()]];
    let mut depth = 0;
    for token in lexer.by_ref() {
        match token.kind {
            TokenKind::Comment | TokenKind::Hint => continue,
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth -= 1,
            _ => {}
        }
        let items = statements.last_mut();
        match (items, token.kind) {
            (_, TokenKind::Semicolon) => statements.push(vec![Vec::new()]),
            (Some(items), TokenKind::Comma) if depth == 0 => items.push(Vec::new()),
            (Some(items), _) => items.last_mut().into_iter().for_each(|it| it.push(token)),
            (None, _) => {}
        }
    }
    if lexer.is_lost() {
        return "lost".to_owned();
    }
    let is_empty = |items: &Vec<Vec<Token>>| items.iter().all(Vec::is_empty);
    let shown = |items: Vec<Vec<Token>>| {
        let shown = items.iter().map(|item| item_shown(item, text, flags));
        shown.collect::<Vec<_>>().join(",")
    };
    let statements = statements.into_iter().filter(|items| !is_empty(items));
    statements.map(shown).collect::<Vec<_>>().join(";")
}

/// Returns the output of one item. The first item begins with SELECT, which is left out.
fn item_shown(item: &[Token], text: &[u8], flags: Flags) -> String {
    let item = match item {
        [first, rest @ ..] if first.kind == TokenKind::Word => rest,
        whole => whole,
    };
    let literal = match item {
        [one] if one.kind == TokenKind::String => one.span.of(text),
        _ => return "?".to_owned(),
    };
    let is_plain = literal.starts_with(b"'") || literal.starts_with(b"\"");
    match unquote(literal, flags).filter(|_| is_plain) {
        Some(value) => value.iter().fold("=".to_owned(), |mut shown, byte| {
            shown.push_str(&format!("{byte:02x}"));
            shown
        }),
        None => "?".to_owned(),
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(byte).collect()
}
