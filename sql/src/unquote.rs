//! Removes quotes: string literals become bytes, user variables become names that can be compared.

use std::borrow::Cow;

use crate::flags::Flags;

/// Returns the bytes of a string literal (`'…'`, `"…"`, `N'…'`) in the client's character set; none if
/// it is no complete literal. Escapes are those of the servers' `get_text` (`sql_lex.cc`).
pub fn unquote(literal: &[u8], flags: Flags) -> Option<Cow<'_, [u8]>> {
    let literal = match literal {
        [b'n' | b'N', rest @ ..] => rest,
        whole => whole,
    };
    let (&quote, rest) = literal.split_first()?;
    let is_string = quote == b'\'' || quote == b'"' && !flags.ansi_quotes;
    let (&last, content) = rest.split_last()?;
    if !is_string || last != quote {
        return None;
    }
    Some(plain(content, quote, flags, !flags.no_backslash_escapes))
}

/// Returns the name of a user variable (`@x`, `` @`x` ``, `@'x'`, `@"x"`), with ASCII letters in lower
/// case. Equal names are equal variables.
///
/// A name that is not all ASCII must be in UTF-8 with at most three bytes a character, which is the servers'
/// character set of names; otherwise the result is none. Different names of this sort may be equal for a server:
/// MySQL compares them without accents and case, MariaDB sometimes.
pub fn user_variable_name(variable: &[u8], flags: Flags) -> Option<Vec<u8>> {
    let name = variable.strip_prefix(b"@")?;
    let quote = name.first().copied();
    let name = match quote.filter(|quote| matches!(quote, b'\'' | b'"' | b'`')) {
        None => Cow::Borrowed(name),
        Some(quote) => {
            let content = name.get(1..)?.strip_suffix(&[quote])?;
            let is_string = quote == b'\'' || quote == b'"' && !flags.ansi_quotes;
            plain(
                content,
                quote,
                flags,
                is_string && !flags.no_backslash_escapes,
            )
        }
    };
    let is_name = |name: &str| name.bytes().all(|byte| byte < 0xf0);
    let is_readable = match name.is_ascii() {
        true => flags.charset.has_ascii(),
        false => flags.charset.is_utf8() && std::str::from_utf8(&name).is_ok_and(is_name),
    };
    is_readable.then(|| name.to_ascii_lowercase())
}

/// Returns the text between two quotes, with single quotes for doubled ones and with escapes resolved.
fn plain(content: &[u8], quote: u8, flags: Flags, escapes: bool) -> Cow<'_, [u8]> {
    let is_special = |byte: &u8| *byte == quote || *byte == b'\\' && escapes;
    if !content.iter().any(is_special) {
        return Cow::Borrowed(content);
    }
    let mut bytes = Vec::with_capacity(content.len());
    let mut rest = content;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match tail {
            [trail, behind @ ..] if flags.charset.is_pair(*byte, *trail) => {
                bytes.extend_from_slice(&[*byte, *trail]);
                rest = behind;
            }
            [escaped, behind @ ..] if *byte == b'\\' && escapes => {
                escape(*escaped, &mut bytes);
                rest = behind;
            }
            [second, behind @ ..] if *byte == quote && *second == quote => {
                bytes.push(quote);
                rest = behind;
            }
            _ => bytes.push(*byte),
        }
    }
    Cow::Owned(bytes)
}

/// Appends the meaning of a backslash and this byte. The escapes of LIKE keep their backslash.
fn escape(byte: u8, bytes: &mut Vec<u8>) {
    match byte {
        b'n' => bytes.push(b'\n'),
        b't' => bytes.push(b'\t'),
        b'r' => bytes.push(b'\r'),
        b'b' => bytes.push(8),
        b'0' => bytes.push(0),
        b'Z' => bytes.push(26),
        b'_' | b'%' => bytes.extend_from_slice(&[b'\\', byte]),
        other => bytes.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Charset;

    fn flags(no_backslash_escapes: bool, ansi_quotes: bool, charset: Charset) -> Flags {
        Flags {
            no_backslash_escapes,
            ansi_quotes,
            charset,
            ..Flags::default()
        }
    }

    #[test]
    fn strings_are_unquoted_like_the_servers_do() {
        let usual = Flags::default();
        for (literal, bytes) in [
            ("'SELECT 1'", "SELECT 1"),
            ("\"it's\"", "it's"),
            ("'it''s'", "it's"),
            ("'it\\'s'", "it's"),
            ("n'a\"\"b'", "a\"\"b"),
            ("'a\\nb\\t\\r\\0\\b\\Z'", "a\nb\t\r\0\x08\x1a"),
            ("'50\\% \\_ \\x \\\\'", "50\\% \\_ x \\"),
            ("''", ""),
        ] {
            let told = unquote(literal.as_bytes(), usual);
            assert_eq!(told.as_deref(), Some(bytes.as_bytes()), "{literal}");
        }
        for literal in ["", "'", "a", "'open", "`a`", "n", "N'"] {
            assert_eq!(unquote(literal.as_bytes(), usual), None, "{literal}");
        }
    }

    #[test]
    fn sql_mode_and_charset_decide_about_escapes() {
        let plain = flags(true, true, Charset::UTF8MB4);
        assert_eq!(
            unquote(b"'a\\n'", plain).as_deref(),
            Some(b"a\\n".as_slice())
        );
        assert_eq!(unquote(b"\"a\"", plain), None);
        let gbk = flags(false, false, Charset::GBK);
        let told = unquote(b"'\x81\\n\\n'", gbk);
        assert_eq!(told.as_deref(), Some(b"\x81\\n\n".as_slice()));
    }

    #[test]
    fn one_variable_has_one_name_however_it_is_spelled() {
        let usual = Flags::default();
        let name = |text: &str| user_variable_name(text.as_bytes(), usual);
        for spelling in ["@Ab", "@`aB`", "@'AB'", "@\"ab\"", "@'a\\b'"] {
            let expected = if spelling.contains('\\') {
                "a\u{8}"
            } else {
                "ab"
            };
            assert_eq!(
                name(spelling).as_deref(),
                Some(expected.as_bytes()),
                "{spelling}"
            );
        }
        assert_eq!(name("@`a``b`").as_deref(), Some(b"a`b".as_slice()));
        assert_eq!(name("@`a\\b`").as_deref(), Some(b"a\\b".as_slice()));
        assert_eq!(name("@a.b$c").as_deref(), Some(b"a.b$c".as_slice()));
        assert_eq!(name("@"), Some(Vec::new()));
        assert_eq!(name("@É").as_deref(), Some("É".as_bytes()));
        assert_eq!(name("@😀"), None, "to MySQL it is @?");
        assert_eq!(user_variable_name(b"@\xe9", usual), None, "not UTF-8");
        assert_eq!(name("@`open"), None);
        let ansi = flags(false, true, Charset::UTF8MB4);
        assert_eq!(
            user_variable_name(b"@\"a\\n\"", ansi).as_deref(),
            Some(b"a\\n".as_slice())
        );
    }
}
