use super::*;
use crate::{Marks, dynamic_source, facts};

#[test]
fn targets_of_kill_are_read_from_the_text() {
    for (text, expected) in [
        ("KILL 5", Some(Killed::Id(5))),
        ("kill connection (5);", Some(Killed::Id(5))),
        ("KILL QUERY '5' -- this one", Some(Killed::Id(5))),
        (
            "KILL HARD QUERY ID 18446744073709551615",
            Some(Killed::Id(u64::MAX)),
        ),
        ("KILL 18446744073709551616", Some(Killed::Expression)),
        ("KILL 5.0", Some(Killed::Expression)),
        ("KILL -5", Some(Killed::Expression)),
        ("KILL '5x'", Some(Killed::Expression)),
        ("KILL ''", Some(Killed::Expression)),
        ("KILL 5 + 1", Some(Killed::Expression)),
        ("KILL 0x05", Some(Killed::Expression)),
        ("KILL @x", Some(Killed::Expression)),
        ("KILL CONNECTION_ID()", Some(Killed::Own)),
        ("KILL QUERY connection_id ( /* me */ )", Some(Killed::Own)),
        ("KILL CONNECTION_ID() + 1", Some(Killed::Expression)),
        ("KILL", Some(Killed::Expression)),
        ("KILL USER bob", Some(Killed::Account)),
        ("KILL SOFT QUERY USER 'a'@'%'", Some(Killed::Account)),
        ("KILL 5; KILL 6", None),
        ("SELECT 5", None),
    ] {
        let told = facts(text.as_bytes(), Flags::default());
        assert_eq!(
            told.killed(text.as_bytes(), Flags::default()),
            expected,
            "{text}"
        );
    }
}

fn parts(text: &str) -> Option<[String; 3]> {
    let flags = Flags::default();
    let kill = facts(text.as_bytes(), flags).kill_text(text.as_bytes(), flags)?;
    let string = |bytes: Vec<u8>| String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
    Some([kill.front, kill.words, kill.target].map(string))
}

#[test]
fn a_kill_statement_is_split_into_prefix_keyword_and_target() {
    for (text, expected) in [
        ("KILL 5", ["", "KILL", "5"]),
        ("kill query @id + 0;", ["", "kill query", "@id + 0"]),
        ("/*! KILL /* it */ @x */", ["", "KILL", "@x"]),
        ("KILL /*!50000 HARD */ 5", ["", "KILL          HARD", "5"]),
        (
            "SET STATEMENT max_statement_time=5 FOR KILL 5",
            ["SET STATEMENT max_statement_time=5 FOR", "KILL", "5"],
        ),
    ] {
        assert_eq!(parts(text).unwrap(), expected, "{text}");
    }
    assert_eq!(parts("SELECT 5"), None);
}

#[test]
fn values_are_put_in_place_of_placeholders() {
    let flags = Flags::default();
    let with = |text: &str, execute: &str| {
        let source = dynamic_source(execute.as_bytes(), flags);
        let kill = facts(text.as_bytes(), flags).kill_text(text.as_bytes(), flags);
        let kill = kill.unwrap().with_arguments(&source, flags)?;
        Some(String::from_utf8(kill.target).unwrap())
    };
    let given = with("KILL ? + ?", "EXECUTE s USING @a, 5");
    assert_eq!(given.as_deref(), Some("(@a) + (5)"));
    assert_eq!(with("KILL 5", "EXECUTE s").as_deref(), Some("5"));
    assert_eq!(with("KILL ?", "EXECUTE s"), None);
    assert_eq!(with("KILL 5", "EXECUTE s USING @a"), None);
}

#[test]
fn a_compound_statement_that_executes_kill_is_marked() {
    for (text, expected) in [
        ("BEGIN NOT ATOMIC KILL 5; END", true),
        ("IF 1 THEN KILL (@x); END IF", true),
        ("SELECT 1; KILL 5", true),
        ("BEGIN NOT ATOMIC SELECT t.kill FROM t; END", false),
        ("CREATE PROCEDURE p() KILL 5", false),
        ("SELECT `kill` FROM t", false),
    ] {
        let marks = facts(text.as_bytes(), Flags::default()).marks;
        assert_eq!(marks.has(Marks::KILLS), expected, "{text}");
    }
}
