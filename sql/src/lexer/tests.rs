//! How the lexer splits texts into tokens, compared with the servers.

use super::*;
use crate::Server;

/// The tokens as text, each with the first letters of its kind.
fn cut(text: impl AsRef<[u8]>, flags: Flags) -> String {
    let text = text.as_ref();
    let of = |token: Token| {
        format!(
            "{:?}:{}",
            token.kind,
            String::from_utf8_lossy(token.span.of(text))
        )
    };
    Lexer::new(text, flags)
        .map(of)
        .collect::<Vec<_>>()
        .join(" ")
}

fn plain(text: &str) -> String {
    cut(text, Flags::default())
}

#[test]
fn names_numbers_and_dots_are_distinguished() {
    for (text, tokens) in [
        ("t.1a", "Word:t Dot:. Word:1a"),
        ("t.1e5", "Word:t Dot:. Word:1e5"),
        ("t .5", "Word:t Number:.5"),
        ("`t`.5", "Quoted:`t` Number:.5"),
        ("1e5", "Number:1e5"),
        ("1e5abc", "Number:1e5 Word:abc"),
        ("1e", "Word:1e"),
        ("1E+", "Word:1E Plus:+"),
        ("1.e3", "Number:1.e3"),
        ("1..2", "Number:1. Number:.2"),
        ("12ab", "Word:12ab"),
        ("0x4G", "Word:0x4G"),
        ("0x", "Word:0x"),
        ("0X41", "Word:0X41"),
        ("0b2", "Word:0b2"),
        ("0b01", "Binary:0b01"),
        ("a$b_1", "Word:a$b_1"),
        ("_utf8 'x'", "Introducer:_utf8 String:'x'"),
        ("_utf8", "Word:_utf8"),
        ("_x 'y'", "Word:_x String:'y'"),
        ("x 'y'", "Word:x String:'y'"),
        ("nx'41'", "Word:nx String:'41'"),
    ] {
        assert_eq!(plain(text), tokens, "{text}");
    }
}

#[test]
fn operators_are_as_long_as_they_can_be() {
    for (text, tokens) in [
        ("<=>", "Operator:<=>"),
        ("<= >", "Operator:<= Operator:>"),
        ("a:=1", "Word:a Assign::= Number:1"),
        ("a->>b", "Word:a Operator:->> Word:b"),
        ("||&&|&", "Operator:|| Operator:&& Operator:| Operator:&"),
        ("!=!", "Operator:!= Operator:!"),
        ("--1", "Minus:- Minus:- Number:1"),
        ("-- 1", "Comment:-- 1"),
        ("--", "Comment:--"),
        ("--\u{1}1\n2", "Comment:--\u{1}1 Number:2"),
        ("4/2", "Number:4 Operator:/ Number:2"),
        ("*/", "Star:* Operator:/"),
    ] {
        assert_eq!(plain(text), tokens, "{text}");
    }
}

#[test]
fn strings_end_where_sql_mode_says() {
    let no_escapes = Flags {
        no_backslash_escapes: true,
        ..Flags::default()
    };
    let ansi = Flags {
        ansi_quotes: true,
        ..Flags::default()
    };
    assert_eq!(plain(r"'a\'b' c"), r"String:'a\'b' Word:c");
    assert_eq!(cut(r"'a\' b '", no_escapes), r"String:'a\' Word:b String:'");
    assert_eq!(plain(r#""a\"b" c"#), r#"String:"a\"b" Word:c"#);
    assert_eq!(cut(r#""a\" b"#, ansi), r#"Quoted:"a\" Word:b"#);
    assert_eq!(cut(r#""a""b" c"#, ansi), r#"Quoted:"a""b" Word:c"#);
    assert_eq!(plain(r"`a\` b"), r"Quoted:`a\` Word:b");
    assert_eq!(plain(r"'a\\' b"), r"String:'a\\' Word:b");
    assert_eq!(plain("''''"), "String:''''");
    assert_eq!(plain(r"'\"), r"String:'\");
}

#[test]
fn a_backslash_may_be_half_a_character() {
    for (charset, lead) in [
        (Charset::GBK, 0xbf),
        (Charset::of_name(b"sjis"), 0x83),
        (Charset::of_name(b"big5"), 0xb3),
    ] {
        let flags = Flags {
            charset,
            ..Flags::default()
        };
        let text = [b"'", &[lead, b'\\'][..], b"' OR 1"].concat();
        let kinds = |flags| {
            Lexer::new(&text, flags)
                .map(|token| token.kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            kinds(flags),
            [TokenKind::String, TokenKind::Word, TokenKind::Number]
        );
        // If the lexer read single bytes, the backslash would hide the quote.
        assert_eq!(kinds(Flags::default()), [TokenKind::String]);
        // A backtick as the second byte does not end a name.
        let text = [b"`", &[lead, b'`'][..], b"` x"].concat();
        let mut lexer = Lexer::new(&text, flags);
        assert_eq!(lexer.token().span.end as usize, text.len() - 2);
        assert!(!lexer.is_lost());
    }
}

#[test]
fn a_lone_lead_byte_hides_no_quote() {
    let flags = Flags {
        charset: Charset::GBK,
        ..Flags::default()
    };
    let text = b"'\xbf' OR '\xbf\\' b";
    let tokens: Vec<_> = Lexer::new(text, flags)
        .map(|t| t.span.of(text).to_vec())
        .collect();
    assert_eq!(tokens, [&b"'\xbf'"[..], b"OR", b"'\xbf\\'", b"b"]);
}

#[test]
fn variables_are_one_token_with_their_quotes() {
    for (text, tokens) in [
        ("@a.b$c", "UserVariable:@a.b$c"),
        ("@'a;b'", "UserVariable:@'a;b'"),
        ("@`a``b`:=1", "UserVariable:@`a``b` Assign::= Number:1"),
        ("@@a.b", "SystemVariable:@@a Dot:. Word:b"),
        ("@@`a`", "SystemVariable:@@`a`"),
        ("u@localhost", "Word:u UserVariable:@localhost"),
        ("'u'@'%'", "String:'u' UserVariable:@'%'"),
        ("@ x", "UserVariable:@ Word:x"),
    ] {
        assert_eq!(plain(text), tokens, "{text}");
    }
}

#[test]
fn executable_comments_are_code_for_their_server() {
    let text = "a /*!80000 b */ c /*M! d */ e";
    let of = |server| {
        cut(
            text,
            Flags {
                server,
                ..Flags::default()
            },
        )
    };
    let all = "Word:a Word:b Word:c Word:d Word:e";
    assert_eq!(of(Server::Unknown), all);
    assert_eq!(
        of(Server::MySql(80_000)),
        "Word:a Word:b Word:c Comment:/*M! d */ Word:e"
    );
    assert_eq!(
        of(Server::MySql(50_744)),
        "Word:a Comment:/*!80000 b */ Word:c Comment:/*M! d */ Word:e"
    );
    assert_eq!(
        of(Server::MariaDb(101_100)),
        "Word:a Comment:/*!80000 b */ Word:c Word:d Word:e"
    );
}

#[test]
fn a_sixth_digit_is_code_for_mysql_unless_a_space_follows() {
    let of = |text, server| {
        cut(
            text,
            Flags {
                server,
                ..Flags::default()
            },
        )
    };
    let (mysql, mariadb) = (Server::MySql(90_704), Server::MariaDb(101_119));
    assert_eq!(of("/*!090704 a */", mysql), "Word:a");
    assert_eq!(of("/*!090705 a */", mysql), "Comment:/*!090705 a */");
    assert_eq!(of("/*!400001+a */", mysql), "Number:1 Plus:+ Word:a");
    assert_eq!(of("/*!400001+a */", mariadb), "Comment:/*!400001+a */");
    assert_eq!(of("/*!100000+a */", mariadb), "Plus:+ Word:a");
}

fn flags_in(charset: &[u8], server: Server) -> Flags {
    Flags {
        charset: Charset::of_name(charset),
        server,
        ..Flags::default()
    }
}

fn is_lost(text: &[u8], flags: Flags) -> bool {
    let mut lexer = Lexer::new(text, flags);
    lexer.by_ref().for_each(drop);
    lexer.is_lost()
}

#[test]
fn the_charset_decides_whether_byte_a0_separates_words() {
    let text = b"for\xa0update";
    for (charset, tokens) in [
        (&b"latin1"[..], 2),
        (b"cp1251", 3),
        (b"binary", 3),
        (b"koi8r", 3),
        (b"macce", 3),
        (b"utf8mb4", 1),
    ] {
        let flags = flags_in(charset, Server::Unknown);
        assert_eq!(Lexer::new(text, flags).count(), tokens, "{charset:?}");
        assert!(!is_lost(text, flags));
    }
    assert_eq!(cut("voilà à", Flags::default()), "Word:voilà Word:à");
    assert!(is_lost(text, flags_in(b"", Server::Unknown)));
    assert!(!is_lost(b"for update", flags_in(b"", Server::Unknown)));
}

#[test]
fn the_charset_decides_whether_two_dashes_begin_a_comment() {
    let kinds = |text: &[u8], charset: &[u8]| {
        let of = |token: Token| token.kind;
        let lexer = Lexer::new(text, flags_in(charset, Server::Unknown));
        lexer.map(of).collect::<Vec<_>>()
    };
    use TokenKind::{Comment, Minus, Number, Stray};
    assert_eq!(kinds(b"1--\xa02", b"latin1"), [Number, Comment]);
    assert_eq!(kinds(b"1--\x812", b"cp1250"), [Number, Comment]);
    assert_eq!(kinds(b"1--\x7f2", b"latin1"), [Number, Comment]);
    assert_eq!(
        kinds(b"1--\x7f2", b"cp1251"),
        [Number, Minus, Minus, Stray, Number]
    );
}

#[test]
fn variables_are_read_byte_by_byte() {
    // A backtick that is half of a character in a word begins a name here.
    for (charset, text) in [
        (&b"gbk"[..], &b"@a\xb3`x`"[..]),
        (b"big5", b"@a\xb3`x`"),
        (b"ujis", b"@a\xa4\xa2"),
        (b"sjis", b"@a\x83\\"),
    ] {
        let tokens: Vec<_> = Lexer::new(text, flags_in(charset, Server::Unknown)).collect();
        let kinds: Vec<_> = tokens.iter().map(|token| token.kind).collect();
        let second = if text.contains(&b'`') {
            TokenKind::Quoted
        } else {
            TokenKind::Word
        };
        assert_eq!(kinds, [TokenKind::UserVariable, second], "{charset:?}");
    }
    assert_eq!(cut("@é.b x", Flags::default()), "UserVariable:@é.b Word:x");
}

#[test]
fn swe7_has_letters_among_the_signs() {
    let of = |text: &str, server| cut(text, flags_in(b"swe7", server));
    let (mysql, mariadb) = (Server::MySql(90_704), Server::MariaDb(101_119));
    for server in [mysql, mariadb, Server::Unknown] {
        assert_eq!(
            of("a[b]~ ^|{x}", server),
            "Word:a[b]~ Word:^ Operator:| Word:{x}"
        );
        assert_eq!(of("@a`b|", server), "UserVariable:@a`b|");
    }
    assert_eq!(of("\\N", mysql), "Word:\\N");
    assert_eq!(of("\\N", mariadb), "BackslashNull:\\N");
    assert!(is_lost(b"\\N", flags_in(b"swe7", Server::Unknown)));
    assert!(is_lost(b"a\\N", flags_in(b"swe7", Server::Unknown)));
    assert!(!is_lost(b"'\\N'", flags_in(b"swe7", Server::Unknown)));
}

#[test]
fn skipped_comments_nest_once() {
    let flags = Flags {
        server: Server::MySql(50_700),
        ..Flags::default()
    };
    let skipped = "/*!99999 a /* b */ c */";
    assert_eq!(
        cut(format!("{skipped} d"), flags),
        format!("Comment:{skipped} Word:d")
    );
    let flags = Flags::default();
    assert_eq!(cut("/* a /* b */ c", flags), "Comment:/* a /* b */ Word:c");
}

#[test]
fn comments_for_mariadb_do_not_nest_for_mysql() {
    let text = "1 /*M! /* */ , 2 /* */";
    let tokens = cut(text, flags_in(b"latin1", Server::MySql(90_704)));
    assert_eq!(
        tokens,
        "Number:1 Comment:/*M! /* */ Comma:, Number:2 Comment:/* */"
    );
    assert!(is_lost(text.as_bytes(), Flags::default()));
}

#[test]
fn dollar_quotes_hold_routines_of_other_languages() {
    let mysql = Flags {
        server: Server::MySql(90_000),
        ..Flags::default()
    };
    let mariadb = Flags {
        server: Server::MariaDb(110_000),
        ..Flags::default()
    };
    assert_eq!(cut("$$a;b$$ c", mysql), "Dollar:$$a;b$$ Word:c");
    assert_eq!(cut("$x$a;$$b$x$ c", mysql), "Dollar:$x$a;$$b$x$ Word:c");
    assert_eq!(cut("$a", mysql), "Word:$a");
    assert_eq!(cut("$a$b", mysql), "Word:$a$b");
    assert_eq!(cut("$$a;b$$", mariadb), "Word:$$a Semicolon:; Word:b$$");
}

#[test]
fn the_lexer_reports_unterminated_tokens() {
    let lost = |text: &str| {
        let mut lexer = Lexer::new(text.as_bytes(), Flags::default());
        while lexer.token().kind != TokenKind::End {}
        lexer.is_lost()
    };
    for text in [
        "'a", "\"a", "`a", "/*", "/*/", "/*! a", "x'4", "@'a", "@`a", "'a\\'",
    ] {
        assert!(lost(text), "{text}");
    }
    for text in [
        "", "'a'", "/**/", "/*! a */", "#", "--", "a */ b", "\\", "\0",
    ] {
        assert!(!lost(text), "{text}");
    }
}
