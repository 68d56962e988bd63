//! The statements that a command executes, and the parts of a command that the analysis does not understand.

use pilotfish_sql::{Charset, Doubts, Flags, Inside, PreparedTexts, StatementKind, facts};

/// The prepared statements of the session in these tests.
#[derive(Debug)]
struct Prepared;

impl PreparedTexts for Prepared {
    fn text(&self, name: &[u8]) -> Option<&[u8]> {
        (name == b"known").then_some(b"DELETE FROM t")
    }
}

fn inside(text: &str, flags: Flags) -> (Inside, Doubts) {
    let own = facts(text.as_bytes(), flags);
    let inside = Inside::of(text.as_bytes(), flags, &own, &Prepared);
    let doubts = inside.doubts | own.doubts;
    (inside, doubts)
}

/// Each statement inside a command: its schema if the command has named one, and its text.
fn described(text: &str) -> Vec<String> {
    let (inside, doubts) = inside(text, Flags::default());
    assert_eq!(doubts, Doubts::NONE, "{text}");
    let string = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let statements = inside.statements.iter();
    let statements = statements.map(|it| match &it.schema {
        Some(schema) => format!("{}: {}", string(schema), string(&it.text)),
        None => string(&it.text),
    });
    statements.collect()
}

#[test]
fn a_plain_statement_contains_no_other_statement() {
    for text in [
        "SELECT 1",
        "SELECT * FROM a, b;",
        "BEGIN",
        "BEGIN WORK",
        "SET sql_mode = ''",
        "CALL p()",
        "",
    ] {
        let own = facts(text.as_bytes(), Flags::default());
        assert!(own.is_plain(), "{text}: {:?}", own.doubts);
        assert!(described(text).is_empty(), "{text}");
    }
}

#[test]
fn statements_are_found_with_the_schema_that_a_use_has_named() {
    assert_eq!(
        described("SELECT 1; DELETE FROM t"),
        ["SELECT 1", "DELETE FROM t"]
    );
    assert_eq!(
        described("SELECT 1; USE `a``b`; /* tag: x */ SELECT 2; SELECT 3"),
        [
            "SELECT 1",
            "USE `a``b`",
            "a`b: /* tag: x */ SELECT 2",
            "a`b: SELECT 3"
        ]
    );
}

#[test]
fn statements_in_literals_of_prepare_and_execute_are_analyzed() {
    for (text, inside) in [
        ("PREPARE p FROM 'SELECT 1'", vec!["SELECT 1"]),
        ("PREPARE p FROM \"SELECT 'a'\"", vec!["SELECT 'a'"]),
        ("PREPARE p FROM 'SELECT ''a'''", vec!["SELECT 'a'"]),
        ("PREPARE p FROM N'SELECT 1'", vec!["SELECT 1"]),
        (
            "EXECUTE IMMEDIATE 'DELETE FROM t' USING @a",
            vec!["DELETE FROM t"],
        ),
        (
            "EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''DO 1'''",
            vec!["DO 1", "EXECUTE IMMEDIATE 'DO 1'"],
        ),
        ("EXECUTE known", vec!["DELETE FROM t"]),
        (
            "SET STATEMENT max_statement_time=1 FOR EXECUTE IMMEDIATE 'DO 1'",
            vec!["DO 1"],
        ),
        (
            "SELECT 1; PREPARE p FROM 'DO 1'",
            vec!["SELECT 1", "DO 1", "PREPARE p FROM 'DO 1'"],
        ),
    ] {
        let expected: Vec<_> = inside.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(described(text), expected, "{text}");
    }
}

#[test]
fn statements_that_are_not_understood_are_reported() {
    for (text, doubt) in [
        ("SELECT 'a", Doubts::LOST),
        ("SELECT /*M! a, */ 1", Doubts::CONDITIONAL),
        ("FROBNICATE t", Doubts::UNKNOWN),
        ("SELECT 1; FROBNICATE t", Doubts::UNKNOWN),
        ("SET a = 1, b", Doubts::UNKNOWN),
        ("PREPARE p FROM @x", Doubts::TEXT),
        ("PREPARE p FROM 'SEL' 'ECT 1'", Doubts::TEXT),
        ("PREPARE p FROM _latin1'SELECT 1'", Doubts::TEXT),
        ("PREPARE p FROM x'53454C4543542031'", Doubts::TEXT),
        ("EXECUTE IMMEDIATE CONCAT('DO ', 1)", Doubts::TEXT),
        ("EXECUTE IMMEDIATE ('DO 1')", Doubts::TEXT),
        ("EXECUTE unknown", Doubts::TEXT),
        (
            "SET STATEMENT sql_mode = '' FOR EXECUTE IMMEDIATE 'DO 1'",
            Doubts::TEXT,
        ),
        ("EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE @x'", Doubts::TEXT),
        ("BEGIN NOT ATOMIC SELECT 1; END", Doubts::BLOCK),
        ("IF 1 THEN SELECT 1; END IF", Doubts::BLOCK),
        ("WHILE 1 DO SELECT 1; END WHILE", Doubts::BLOCK),
        ("l: LOOP SELECT 1; END LOOP", Doubts::BLOCK),
        ("FOR i IN 1..2 DO SELECT 1; END FOR", Doubts::BLOCK),
        ("BEGIN DELETE FROM t; END", Doubts::BLOCK),
        ("DECLARE x INT; BEGIN DELETE FROM t; END", Doubts::UNKNOWN),
        ("CALL p(); SELECT * FROM t", Doubts::SCHEMA),
        ("EXECUTE known; SELECT * FROM t", Doubts::SCHEMA),
        ("CALL p(); SELECT \"a\"", Doubts::READING),
        ("SET sql_mode = @x; SELECT \"a\"", Doubts::READING),
        ("SET sql_mode = DEFAULT; SELECT 'a\\''", Doubts::READING),
        (
            "SET sql_mode = CONCAT('ANSI', '_QUOTES'); SELECT \"a\"",
            Doubts::READING,
        ),
        ("SET NAMES DEFAULT; SELECT 'é'", Doubts::READING),
        ("SET character_set_client = 28; SELECT 'é'", Doubts::READING),
        ("EXPLAIN FOR SCHEMA s SELECT * FROM t", Doubts::SCHEMA),
    ] {
        let (_, doubts) = inside(text, Flags::default());
        assert!(doubts.has(doubt), "{text}: {doubts:?}");
        assert!(!doubts.reason().is_empty(), "{text}");
    }
    let many = |piece: &str, count: usize| inside(&piece.repeat(count), Flags::default()).1;
    assert!(many("DO 1;", 257).has(Doubts::MANY_STATEMENTS));
    assert!(many("/**/DO 1;", 17).has(Doubts::MANY_COMMENTS));
    let names = format!("SELECT 1 FROM {}t", "t,".repeat(1024));
    assert!(inside(&names, Flags::default()).1.has(Doubts::MANY_NAMES));
    // The analysis of these statements does not depend on earlier statements.
    assert_eq!(
        inside("SET sql_mode = @x; SELECT 'a'", Flags::default()).1,
        Doubts::NONE
    );
    assert_eq!(
        inside("SET NAMES DEFAULT; SELECT 'a'", Flags::default()).1,
        Doubts::NONE
    );
}

#[test]
fn earlier_set_statements_affect_how_later_statements_are_read() {
    let tables = |text: &[u8]| {
        let own = facts(text, Flags::default());
        let names = own.tables().map(|it| it.name.name(text).into_owned());
        let names: Vec<_> = names
            .map(|it| String::from_utf8_lossy(&it).into_owned())
            .collect();
        (own.statements.len(), own.doubts, names)
    };
    for text in [
        &b"SET sql_mode = 'ANSI_QUOTES'; SELECT 1 FROM \"secret\""[..],
        b"SET sql_mode = ANSI; SELECT 1 FROM \"secret\"",
        b"SET @@session.sql_mode = 'ORACLE'; SELECT 1 FROM \"secret\"",
        b"SET @a = 1, SESSION sql_mode := 'ANSI_QUOTES,STRICT_ALL_TABLES'; SELECT 1 FROM \"secret\"",
        b"SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\\', 1 FROM secret -- '",
        b"SET NAMES gbk; SELECT '\xbf\\', 1 FROM secret -- '",
        b"SET CHARACTER SET 'gbk'; SELECT '\xbf\\', 1 FROM secret -- '",
        b"SET character_set_client = `gbk`; SELECT '\xbf\\', 1 FROM secret -- '",
        b"SET NAMES gbk; SET NAMES utf8mb4; SELECT '\xbf\\', 1 FROM other -- ', 1 FROM secret",
    ] {
        let (parts, doubts, names) = tables(text);
        let text = String::from_utf8_lossy(text);
        assert_eq!(parts, text.matches("; ").count() + 1, "{text}");
        assert_eq!((doubts, names), (Doubts::NONE, vec!["secret".to_owned()]), "{text}");
    }
}

#[test]
fn the_sql_mode_of_each_statement_is_reported() {
    let text = "SET sql_mode = 'ANSI_QUOTES'; SET NAMES big5; SET sql_mode = ''; DO 1";
    let (inside, doubts) = inside(text, Flags::default());
    let modes: Vec<_> = inside
        .statements
        .iter()
        .map(|it| (it.flags.ansi_quotes, it.flags.charset))
        .collect();
    let plain = Charset::default();
    assert_eq!(
        modes,
        [
            (false, plain),
            (true, plain),
            (true, Charset::of_name(b"big5")),
            (false, Charset::of_name(b"big5"))
        ]
    );
    assert_eq!(doubts, Doubts::NONE);
}

#[test]
fn set_statement_for_has_the_effects_of_its_statement() {
    let own = facts(
        b"SET STATEMENT max_statement_time = 1 FOR DELETE FROM t",
        Flags::default(),
    );
    assert_eq!(own.kind, StatementKind::Delete);
    assert_eq!(own.tables().count(), 1);
}
