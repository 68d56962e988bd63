//! Masks passwords and hashes in statements about accounts and servers, before the statements are shown or logged.

use std::borrow::Cow;

use crate::flags::Flags;
use crate::lexer::{Lexer, Token, TokenKind};

/// The text that replaces a secret. MySQL's own logs have the same word without quotes.
const MASK: &[u8] = b"'<secret>'";

/// Whether a secret may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expectation {
    /// No secret is expected.
    Nothing,
    /// After `IDENTIFIED`: each string up to the next account is a secret.
    Identified,
    /// After `IDENTIFIED WITH`: the next string names a plugin, later ones are secrets.
    Plugin,
    /// After `PASSWORD`: the next string is a secret, and so is the string after `REPLACE`.
    Password,
    /// After `PASSWORD FOR`: the string after the equals sign is a secret.
    PasswordFor,
}

/// Returns a statement's text with `'<secret>'` in place of each password and hash: after IDENTIFIED, in
/// PASSWORD('…'), SET PASSWORD = '…', MASTER_PASSWORD = '…' and OPTIONS (PASSWORD '…').
pub fn mask_secrets(text: &[u8], flags: Flags) -> Cow<'_, [u8]> {
    if !may_have_secrets(text) {
        return Cow::Borrowed(text);
    }
    let mut masked = Vec::new();
    let mut copied = 0;
    let mut expectation = Expectation::Nothing;
    let mut depth = 0_usize;
    let mut lexer = Lexer::new(text, flags);
    loop {
        let token = lexer.token();
        if token.kind == TokenKind::End {
            break;
        }
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_literal = token.kind.is_literal() && token.kind != TokenKind::Number;
        let is_secret =
            is_literal && matches!(expectation, Expectation::Identified | Expectation::Password);
        if is_secret {
            let (start, end) = (token.span.start as usize, token.span.end as usize);
            masked.extend_from_slice(&text[copied..start]);
            masked.extend_from_slice(MASK);
            copied = end;
        }
        expectation = expectation.after(&token, text, depth);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    masked.extend_from_slice(&text[copied..]);
    Cow::Owned(masked)
}

impl Expectation {
    fn after(self, token: &Token, text: &[u8], depth: usize) -> Self {
        let word = token.span.of(text);
        let is = |name: &[u8]| token.kind == TokenKind::Word && word.eq_ignore_ascii_case(name);
        if is(b"IDENTIFIED") {
            return Self::Identified;
        }
        match (self, token.kind) {
            (_, TokenKind::Comment | TokenKind::Hint | TokenKind::Introducer) => self,
            (Self::Identified, TokenKind::Comma) if depth == 0 => Self::Nothing,
            (Self::Identified, TokenKind::Semicolon) => Self::Nothing,
            (Self::Identified, _) if is(b"WITH") || is(b"VIA") => Self::Plugin,
            (Self::Identified | Self::Plugin, _) => Self::Identified,
            _ if token.kind == TokenKind::Word && names_password(word) => Self::Password,
            (Self::Password, TokenKind::Open | TokenKind::Equal | TokenKind::Assign) => self,
            // SET PASSWORD = '…' REPLACE '…', SET PASSWORD TO RANDOM REPLACE '…'
            (Self::Password, kind) if kind.is_literal() => self,
            (Self::Password, _) if is(b"REPLACE") || is(b"TO") || is(b"RANDOM") => self,
            (Self::Password, _) if is(b"FOR") => Self::PasswordFor,
            (Self::PasswordFor, TokenKind::Equal | TokenKind::Assign) => Self::Password,
            (Self::PasswordFor, _) if is(b"REPLACE") => Self::Password,
            (Self::PasswordFor, TokenKind::Semicolon) => Self::Nothing,
            (Self::PasswordFor, _) => self,
            _ => Self::Nothing,
        }
    }
}

/// `PASSWORD`, `MASTER_PASSWORD`, `SOURCE_PASSWORD` and names like these.
fn names_password(word: &[u8]) -> bool {
    const NAME: &[u8] = b"PASSWORD";
    let start = word.len().checked_sub(NAME.len());
    start.is_some_and(|start| {
        word[start..].eq_ignore_ascii_case(NAME) && (start == 0 || word[start - 1] == b'_')
    })
}

/// Whether the text contains one of the words at all. Most statements do not, and need no lexer.
fn may_have_secrets(text: &[u8]) -> bool {
    [&b"identified"[..], b"password"].iter().any(|word| {
        text.windows(word.len())
            .any(|it| it.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> String {
        String::from_utf8(mask_secrets(text.as_bytes(), Flags::default()).into_owned()).unwrap()
    }

    #[test]
    fn a_password_of_an_account_is_masked() {
        for (text, expected) in [
            (
                "CREATE USER a@'%' IDENTIFIED BY 'x', 'b'@'h' identified by \"y\" REQUIRE SSL",
                "CREATE USER a@'%' IDENTIFIED BY '<secret>', 'b'@'h' identified by '<secret>' REQUIRE SSL",
            ),
            (
                "CREATE USER 'k'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '$A$x' COMMENT 'c'",
                "CREATE USER 'k'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '<secret>' COMMENT '<secret>'",
            ),
            (
                "ALTER USER k IDENTIFIED VIA ed25519 USING PASSWORD('x') OR mysql_native_password AS '*A'",
                "ALTER USER k IDENTIFIED VIA ed25519 USING PASSWORD('<secret>') OR mysql_native_password AS '<secret>'",
            ),
            (
                "GRANT SELECT ON *.* TO k IDENTIFIED BY PASSWORD '*A' WITH GRANT OPTION",
                "GRANT SELECT ON *.* TO k IDENTIFIED BY PASSWORD '<secret>' WITH GRANT OPTION",
            ),
            (
                "SET PASSWORD FOR 'k'@'%'='*A'",
                "SET PASSWORD FOR 'k'@'%'='<secret>'",
            ),
            (
                "SET PASSWORD FOR a@b = 'x' REPLACE 'y' RETAIN CURRENT PASSWORD",
                "SET PASSWORD FOR a@b = '<secret>' REPLACE '<secret>' RETAIN CURRENT PASSWORD",
            ),
            (
                "SET PASSWORD FOR a TO RANDOM REPLACE 'y'",
                "SET PASSWORD FOR a TO RANDOM REPLACE '<secret>'",
            ),
            (
                "SET PASSWORD = PASSWORD('x')",
                "SET PASSWORD = PASSWORD('<secret>')",
            ),
            (
                "CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (USER 'u', PASSWORD 'p')",
                "CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (USER 'u', PASSWORD '<secret>')",
            ),
            (
                "CHANGE MASTER TO MASTER_HOST = 'h', master_password = 'p', MASTER_PORT = 3306",
                "CHANGE MASTER TO MASTER_HOST = 'h', master_password = '<secret>', MASTER_PORT = 3306",
            ),
            (
                "ALTER USER k IDENTIFIED BY 'new' /* it's */ REPLACE 'old' AND IDENTIFIED WITH p AS x'41'",
                "ALTER USER k IDENTIFIED BY '<secret>' /* it's */ REPLACE '<secret>' AND IDENTIFIED WITH p AS '<secret>'",
            ),
            (
                "CREATE USER k IDENTIFIED BY 'not ended",
                "CREATE USER k IDENTIFIED BY '<secret>'",
            ),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn texts_without_secrets_stay_unchanged() {
        for text in [
            "CREATE TABLE t (password VARCHAR(20) DEFAULT 'none', identified_by INT COMMENT 'x')",
            "INSERT INTO t (password, a) VALUES ('a', 'b')",
            "SELECT 'IDENTIFIED BY' FROM t",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
