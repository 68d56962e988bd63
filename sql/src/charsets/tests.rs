//! The table of the servers' character sets, compared with the lexer that uses it.

use super::row::Bytes;
use super::*;
use crate::{Flags, Lexer, TokenKind};

fn kinds(text: &[u8], flags: Flags) -> Vec<TokenKind> {
    Lexer::new(text, flags).map(|token| token.kind).collect()
}

/// Every character set of every server, with the flags that select it.
fn every_flags() -> impl Iterator<Item = (&'static Row, Flags)> {
    let servers = [Server::MySql(90_704), Server::MariaDb(101_119)];
    let sets = ROWS.iter().zip(Charset::all());
    sets.flat_map(move |(row, charset)| {
        let flags = move |server| Flags {
            charset,
            server,
            ..Flags::default()
        };
        servers.map(|server| (row, flags(server)))
    })
}

fn has(bytes: Bytes, byte: u8) -> bool {
    bytes
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&byte))
}

#[test]
fn the_lexer_classifies_each_byte_like_the_servers() {
    use TokenKind::{Comment, Number, UserVariable, Word};
    for (row, flags) in every_flags() {
        for byte in 1..=255u8 {
            let what = format!("{} {byte:#x} {:?}", row.name, flags.server);
            let is_blank = kinds(&[b"SELECT", &[byte][..], b"1"].concat(), flags) == [Word, Number];
            assert_eq!(is_blank, has(row.blanks, byte), "{what}");
            let is_word = kinds(&[b'a', byte, b'a'], flags) == [Word];
            let of_mysql =
                matches!(flags.server, Server::MySql(_)) && has(row.words_of_mysql, byte);
            assert_eq!(is_word, has(row.words, byte) || of_mysql, "{what}");
            let is_variable = kinds(&[b'@', b'a', byte, b'a'], flags) == [UserVariable];
            assert_eq!(is_variable, has(row.variables, byte), "{what}");
            let comment = [b"1--", &[byte][..], b"' ("].concat();
            let is_comment = kinds(&comment, flags) == [Number, Comment];
            assert_eq!(is_comment, has(row.dashes, byte), "{what}");
        }
    }
}

#[test]
fn no_byte_of_a_character_is_taken_for_a_quote() {
    for (row, flags) in every_flags().filter(|(row, _)| !row.leads.is_empty()) {
        for lead in 0x80..=255u8 {
            let what = format!("{} {lead:#x}", row.name);
            // The backslash is either the second half of a character, or an escape that hides the quote.
            let is_whole = kinds(&[b"'", &[lead][..], b"\\' 1"].concat(), flags).len() == 2;
            assert_eq!(is_whole, has(row.leads, lead), "{what}");
            let is_name = kinds(&[b"`", &[lead][..], b"`` 1"].concat(), flags).len() == 2;
            assert_eq!(is_name, has(row.leads, lead), "{what}");
            let is_word = kinds(&[b"a", &[lead][..], b"|a"].concat(), flags).len() == 1;
            assert_eq!(is_word, has(row.leads, lead), "{what}");
        }
    }
}

#[test]
fn collation_ids_select_their_charset() {
    for (id, name) in [
        (8, "latin1"),
        (28, "gbk"),
        (45, "utf8mb4"),
        (63, "binary"),
        (96, "cp932"),
        (250, "gb18030"),
        (255, "utf8mb4"),
        (323, "utf8mb4"),
        (1035, "ascii"),
        (1034, "swe7"),
        (2304, "utf8mb4"),
    ] {
        assert_eq!(Charset::of_collation(id).name(), name, "{id}");
    }
    for id in [0, 17, 35, 54, 100, 3271, 3272, u16::MAX] {
        assert_eq!(Charset::of_collation(id), Charset::UNKNOWN, "{id}");
    }
    assert!(COLLATIONS.iter().is_sorted());
}

#[test]
fn charsets_are_known_by_their_names() {
    for charset in Charset::all() {
        assert_eq!(Charset::of_name(charset.name().as_bytes()), charset);
        let upper = charset.name().to_ascii_uppercase();
        assert_eq!(Charset::of_name(upper.as_bytes()), charset);
        assert!(is_charset(upper.as_bytes()));
    }
    assert_eq!(Charset::of_name(b"utf8").name(), "utf8mb3");
    assert_eq!(Charset::of_name(b"Utf8").name(), "utf8mb3");
    assert_eq!(Charset::of_name(b"ucs2"), Charset::UNKNOWN);
    assert!(is_charset(b"UTF16") && !is_charset(b"") && !is_charset(b"latin"));
    assert_eq!(Charset::default(), Charset::UTF8MB4);
}
