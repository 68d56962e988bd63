//! Properties of the analysis for any bytes, and for any statement in the tables.

use pilotfish_sql::{
    Access, Analysis, Charset, Facts, FactsCache, Flags, Lexer, Marks, Schema, Server, Span,
    StatementKind, TokenKind, digest, facts, mask_secrets,
};
use proptest::prelude::*;

fn any_flags() -> impl Strategy<Value = Flags> {
    let charset = prop::sample::select(vec![
        Charset::UTF8MB4,
        Charset::GBK,
        Charset::LATIN1,
        Charset::of_name(b"swe7"),
    ]);
    let server = prop::sample::select(vec![
        Server::Unknown,
        Server::MySql(50_744),
        Server::MySql(90_704),
        Server::MariaDb(101_119),
    ]);
    (any::<[bool; 3]>(), charset, server).prop_map(
        |([no_backslash_escapes, ansi_quotes, ignore_space], charset, server)| Flags {
            no_backslash_escapes,
            ansi_quotes,
            ignore_space,
            charset,
            server,
            schema: Schema::Plain,
        },
    )
}

/// Fragments of SQL, valid and broken.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "SELECT ", "FROM ", "t ", "`a``b` ", "'x;y' ", "'it''s' ", "\"z\" ", "'open", "1 ", "-1.5e3 ",
    "NULL ", "( ", ") ", "(", ")", ", ", "; ", ". ", "@x ", "@@session.y ", ":= ", "= ", "SET ",
    "NAMES ", "GLOBAL ", "TRANSACTION ", "READ ", "ONLY ", "BEGIN ", "END ", "IF ", "CASE ",
    "CREATE ", "PROCEDURE ", "TEMPORARY ", "TABLE ", "TRIGGER ", "ROW ", "WITH ", "AS ", "EXPLAIN ",
    "ANALYZE ", "FOR ", "UPDATE ", "INTO ", "VALUES ", "IN ", "JOIN ", "ON ", "/* c */ ", "/*! ",
    "/*!50000 ", "/*!80000 ", "/*M! ", "*/ ", "/*+ h */ ", "-- c\n", "# c\n", "/* open", "f(", "NOW() ",
    "STATEMENT ", "SHOW ", "LOCK ", "KILL ", "CALL ", "PREPARE ", "HANDLER ", "DROP ", "RENAME ",
    "LIKE ", "USING ", "DEFAULT ", "$$", "\u{e9}", "\\", "?", "{", "_utf8", "x'41' ", "IS ", "AS BEGIN ",
];

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..60)
        .prop_map(|pieces| pieces.concat().into_bytes());
    prop_oneof![bytes, pieces]
}

/// Fragments of DML statements, each with a second version that has other values.
const PIECES_WITH_VALUES: &[(&str, &str)] = &[
    ("1 ", "4711 "),
    ("22,", "3,"),
    ("(5)", "(66)"),
    ("=7 ", "=88888 "),
    ("'x;y' ", "'' "),
    ("'a'", "'*/ $$ -- '"),
    ("('b',", "('\"`#',"),
    ("n'5' ", "n'66' "),
    ("'it''s' ", "'it''s' "),
    ("1.5 ", "1.5 "),
    ("t1 ", "t1 "),
    ("FROM s.u ", "FROM s.u "),
    ("GET_LOCK(", "GET_LOCK("),
];

/// Two DML statements that differ only in their values, if at all.
fn alike() -> impl Strategy<Value = [String; 2]> {
    let any = prop::sample::select(PIECES).prop_map(|piece| (piece, piece));
    let pieces = prop_oneof![prop::sample::select(PIECES_WITH_VALUES), any];
    let beginning = prop::sample::select(vec!["SELECT ", "INSERT INTO ", "update t SET a="]);
    (beginning, prop::collection::vec(pieces, 0..12)).prop_map(|(beginning, pieces)| {
        let (one, other): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        [one, other].map(|pieces| format!("{beginning}{}", pieces.concat()))
    })
}

fn is_inside(span: Span, text: &[u8]) -> bool {
    span.start <= span.end && span.end as usize <= text.len()
}

/// Asserts that every range in the facts lies inside the text, and that the parts follow one another.
fn check(facts: &Facts, text: &[u8]) {
    let names = facts
        .mentions
        .iter()
        .flat_map(|mention| [mention.schema, mention.name]);
    let comments = facts.comments.iter().map(|comment| comment.span);
    let assignments = facts.assignments.iter().map(|assignment| assignment.span);
    assert!(
        names
            .chain(comments)
            .chain(assignments)
            .all(|span| is_inside(span, text))
    );
    let mut end = 0;
    for part in &facts.statements {
        assert!(is_inside(part.span, text) && part.span.start >= end && !part.span.is_empty());
        end = part.span.end;
        assert!(facts.access >= part.access);
    }
    assert_eq!(
        facts.kind == StatementKind::Multi,
        facts.statements.len() > 1
    );
    assert_eq!(
        facts.kind == StatementKind::Empty,
        facts.statements.is_empty()
    );
    assert!(!facts.marks.has(Marks::LOST) || facts.access >= Access::Unsure);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn tokens_and_facts_of_any_text_have_valid_spans(text in any_text(), flags in any_flags()) {
        let mut end = 0;
        for token in Lexer::new(&text, flags) {
            prop_assert!(is_inside(token.span, &text) && token.span.start >= end);
            prop_assert!(!token.span.is_empty());
            end = token.span.end;
        }
        let mut analysis = Analysis::default();
        analysis.read(&text, flags);
        check(&analysis.facts, &text);
        prop_assert_eq!(&facts(&text, flags), &analysis.facts);
    }

    #[test]
    fn facts_that_are_recalled_are_those_of_the_text(texts in alike(), flags in any_flags()) {
        let mut cache = FactsCache::default();
        let [first, _] = &texts;
        for text in [first, first].into_iter().chain(&texts) {
            let mut read = Analysis::default();
            read.read(text.as_bytes(), flags);
            let mut recalled = Facts::default();
            match cache.find_known(&mut recalled, text.as_bytes(), flags) {
                Some(known) => {
                    prop_assert_eq!(&recalled, &read.facts);
                    prop_assert_eq!(known.digest, Some(read.digest.hash()));
                }
                None => cache.keep(&read.facts, text.as_bytes(), flags, Some(read.digest.hash())),
            }
        }
    }

    #[test]
    fn the_analysis_does_not_depend_on_earlier_statements(
        first in any_text(), second in any_text(), flags in any_flags()
    ) {
        let mut used = Analysis::default();
        used.read(&first, flags);
        used.read(&second, flags);
        let mut fresh = Analysis::default();
        fresh.read(&second, flags);
        prop_assert_eq!(&used.facts, &fresh.facts);
        prop_assert_eq!(used.digest.text(), fresh.digest.text());
        prop_assert_eq!(used.digest.hash(), fresh.digest.hash());
    }

    #[test]
    fn statements_are_cut_at_their_semicolons_only(
        strings in prop::collection::vec("[a-z;'\"`# \\-/*\\\\]{0,12}", 1..6)
    ) {
        let quoted = |string: &String, quote: char| {
            let doubled: String = string.chars()
                .flat_map(|c| std::iter::repeat_n(c, if c == quote || c == '\\' { 2 } else { 1 }))
                .collect();
            format!("{quote}{doubled}{quote}")
        };
        let statements: Vec<_> = strings.iter().map(|string| format!(
            "SELECT {} AS `{}`, {} /* {} */ + 1",
            quoted(string, '\''), string.replace('`', "``"), quoted(string, '"'),
            string.replace("*/", "")
        )).filter(|statement| !statement.contains("/*/") && !statement.contains("**/")).collect();
        let text = statements.join(";");
        let facts = facts(text.as_bytes(), Flags::default());
        let parts: Vec<_> = facts.statements.iter().map(|part| part.span.of(text.as_bytes())).collect();
        let expected: Vec<_> = statements.iter().map(|statement| statement.as_bytes()).collect();
        prop_assert_eq!(parts, expected);
    }

    #[test]
    fn values_never_leak(
        before in prop::collection::vec(prop::sample::select(PIECES), 0..10),
        quote in prop::sample::select(vec!["'", "\"", "N'", "x'", "_utf8'", "@'"]),
        cut in 0usize..12
    ) {
        // The text before loses its quotes: after an open string the secret would not be a value.
        let text = format!("{}{quote}SECRET{quote}", before.concat().replace(['\'', '"', '`', '$'], ""));
        let value = "SECRET".len() + quote.len();
        let cut = text.len() - cut.min(value);
        let digest = digest(&text.as_bytes()[..cut], Flags::default());
        let shown = String::from_utf8_lossy(digest.text()).into_owned();
        let is_name = quote == "@'" && cut == text.len();
        prop_assert!(is_name || !shown.contains("SEC"), "{text} gives {shown}");
    }
}

/// The statements of the tables, unchanged.
fn statements() -> impl Iterator<Item = String> {
    let tables = [
        include_str!("statements.tsv"),
        include_str!("set.tsv"),
        include_str!("digests.tsv"),
    ];
    let lines = tables
        .into_iter()
        .flat_map(str::lines)
        .filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        line.rsplit('\t')
            .next()
            .unwrap()
            .replace('⏎', "\n")
            .replace('⇥', "\t")
    })
}

#[test]
fn every_beginning_of_every_statement_is_read() {
    let flags = [Charset::UTF8MB4, Charset::GBK].map(|charset| Flags {
        charset,
        ..Flags::default()
    });
    for statement in statements() {
        for end in 0..=statement.len() {
            let text = &statement.as_bytes()[..end];
            flags
                .iter()
                .for_each(|flags| check(&facts(text, *flags), text));
        }
    }
}

#[test]
fn space_comments_and_case_change_nothing() {
    for statement in statements().filter(|statement| !statement.contains("/*")) {
        let text = statement.as_bytes();
        let mut spaced = Vec::new();
        let mut end = 0;
        for token in Lexer::new(text, Flags::default()) {
            if token.span.start > end {
                spaced.extend_from_slice(b" /* c */\n-- d\n");
            }
            end = token.span.end;
            let bytes = token.span.of(text);
            match token.kind {
                TokenKind::Comment | TokenKind::Hint => {}
                TokenKind::Word if token.word != pilotfish_sql::Word::None => {
                    spaced.extend(bytes.to_ascii_lowercase());
                }
                _ => spaced.extend_from_slice(bytes),
            }
        }
        let (plain, other) = (
            facts(text, Flags::default()),
            facts(&spaced, Flags::default()),
        );
        let shown = String::from_utf8_lossy(&spaced).into_owned();
        assert_eq!(plain.kind, other.kind, "{shown}");
        assert_eq!(plain.access, other.access, "{shown}");
        assert_eq!(plain.uses, other.uses, "{shown}");
        assert_eq!(plain.effects, other.effects, "{shown}");
        assert_eq!(plain.mentions.len(), other.mentions.len(), "{shown}");
        assert_eq!(plain.assignments.len(), other.assignments.len(), "{shown}");
    }
}

/// Parsers that call themselves for each level would overflow the stack. A statement that writes must
/// be seen to write, or be unsure, however deep it stands: otherwise it could be sent to a replica.
#[test]
fn a_write_is_never_missed_in_deep_nesting() {
    for depth in [1, 31, 32, 33, 100_000] {
        for (before, statement, after) in [
            ("(", "SELECT a FROM t FOR UPDATE", ")"),
            ("SELECT (", "SELECT a FROM t FOR UPDATE", ")"),
            ("SELECT (", "SELECT GET_LOCK('a', 1)", ")"),
            ("SELECT CASE WHEN ", "(SELECT 1 FOR UPDATE)", " THEN 1 END"),
            ("WITH a AS (", "SELECT 1 FOR UPDATE", ") SELECT 1"),
            ("SET STATEMENT a=1 FOR ", "DELETE FROM t", ""),
            ("BEGIN NOT ATOMIC ", "DELETE FROM t;", "END; "),
        ] {
            let text = [
                before.repeat(depth),
                statement.to_owned(),
                after.repeat(depth),
            ]
            .concat();
            let facts = facts(text.as_bytes(), Flags::default());
            check(&facts, text.as_bytes());
            let access = facts.access;
            assert!(access >= Access::Unsure, "{depth} × {before}: {access:?}");
        }
    }
}

/// Statements with passwords and hashes, of both families. `?` stands for a secret.
const WITH_SECRETS: &[&str] = &[
    "CREATE USER a@'%' IDENTIFIED BY ?, 'b'@'h' IDENTIFIED BY ? REQUIRE SSL",
    "CREATE USER a IDENTIFIED BY PASSWORD ?",
    "CREATE USER a IDENTIFIED WITH 'caching_sha2_password' BY ? AND IDENTIFIED WITH p AS ?",
    "CREATE USER a IDENTIFIED WITH p INITIAL AUTHENTICATION IDENTIFIED BY ?",
    "CREATE OR REPLACE USER a IDENTIFIED VIA ed25519 USING PASSWORD(?) OR mysql_native_password USING ?",
    "CREATE USER a IDENTIFIED VIA pam USING ? OR ed25519 AS ?, b IDENTIFIED VIA unix_socket, c IDENTIFIED BY ?",
    "ALTER USER IF EXISTS a IDENTIFIED BY ? REPLACE ? RETAIN CURRENT PASSWORD, b IDENTIFIED BY ?",
    "ALTER USER USER() IDENTIFIED WITH p BY ? REPLACE ? RETAIN CURRENT PASSWORD PASSWORD EXPIRE",
    "ALTER USER a ADD 2 FACTOR IDENTIFIED WITH p BY ? ADD 3 FACTOR IDENTIFIED WITH q AS ?",
    "ALTER USER a IDENTIFIED WITH p AS ? RETAIN CURRENT PASSWORD",
    "GRANT ALL ON *.* TO a@b IDENTIFIED BY ?, c IDENTIFIED VIA p USING ? WITH GRANT OPTION",
    "GRANT USAGE ON *.* TO a IDENTIFIED BY PASSWORD ? REQUIRE NONE",
    "SET PASSWORD = ?",
    "SET PASSWORD = ? REPLACE ? RETAIN CURRENT PASSWORD",
    "SET PASSWORD FOR a@'h' = ? REPLACE ?",
    "SET PASSWORD FOR a = PASSWORD(?)",
    "SET PASSWORD FOR 'a'@'h' = OLD_PASSWORD(?)",
    "SET PASSWORD TO RANDOM REPLACE ?",
    "SET PASSWORD FOR a TO RANDOM REPLACE ? RETAIN CURRENT PASSWORD",
    "CHANGE MASTER TO MASTER_PASSWORD = ?, MASTER_PORT = 1",
];

/// The text that each secret contains.
const MARKER: &str = "Zq7";

/// A secret as a literal of each form that the servers take.
fn literal(secret: &str, form: u8, flags: Flags) -> String {
    let escaped = match flags.no_backslash_escapes {
        true => secret.to_owned(),
        false => secret.replace('\\', "\\\\"),
    };
    let hex = || {
        secret
            .bytes()
            .map(|it| format!("{it:02x}"))
            .collect::<String>()
    };
    match form % 6 {
        0 => format!("'{}'", escaped.replace('\'', "''")),
        1 if !flags.no_backslash_escapes => format!("'{}'", escaped.replace('\'', "\\'")),
        2 if !flags.ansi_quotes => format!("\"{}\"", escaped.replace('"', "\"\"")),
        3 => format!("x'{}'", hex()),
        4 => format!("0x{}", hex()),
        _ => format!("/* it's */ N'{}'", escaped.replace('\'', "''")),
    }
}

proptest! {
    #[test]
    fn no_secret_of_a_statement_about_accounts_is_left(
        template in prop::sample::select(WITH_SECRETS),
        parts in prop::collection::vec("[a\\\\'\"` ;,=)(/*#-]{0,4}", 8),
        forms in prop::collection::vec(any::<u8>(), 8),
        (no_backslash_escapes, is_lower) in any::<(bool, bool)>(),
    ) {
        let flags = Flags { no_backslash_escapes, ..Flags::default() };
        let template = match is_lower {
            true => template.to_ascii_lowercase(),
            false => (*template).to_owned(),
        };
        let mut text = String::new();
        for (index, piece) in template.split('?').enumerate() {
            if index > 0 {
                let secret = format!("{}{MARKER}{}", parts[index], parts[index - 1]);
                text.push_str(&literal(&secret, forms[index], flags));
            }
            text.push_str(piece);
        }
        let masked = mask_secrets(text.as_bytes(), flags);
        let masked = std::str::from_utf8(&masked).unwrap();
        prop_assert!(!masked.contains(MARKER), "{text}\n{masked}");
        prop_assert!(!masked.contains("5a7137"), "{text}\n{masked}");
        prop_assert_eq!(masked.matches("'<secret>'").count(), template.matches('?').count());
        // Masking a masked text changes nothing.
        prop_assert_eq!(&*mask_secrets(masked.as_bytes(), flags), masked.as_bytes());
    }
}
