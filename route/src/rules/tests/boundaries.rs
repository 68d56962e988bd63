//! Rules as security boundaries: a statement that is not understood or stands inside a command cannot bypass a rule
//! that refuses, answers or rewrites.

use super::*;

const REFUSES: &str =
    "[[rule]]\nname = \"no secrets\"\ntables = \"secret\"\nrefuse = \"no secrets here\"\n";

/// The error that a statement gets: its number and text.
fn error(rules: &Rules, case: &Case<'_>) -> Option<(u16, String)> {
    case.judged(rules, |it| match it.reply.as_ref().map(|by| &by.value) {
        Some(Reply::Error { code, message, .. }) => Some((*code, message.to_string())),
        Some(other) => panic!("{other:?}"),
        None => None,
    })
}

fn refusal(rules: &str, text: &str) -> Option<String> {
    let compiled = compile(rules);
    let (code, message) = error(&compiled.rules, &Case::of(text))?;
    assert_eq!(code, 1227, "{text}");
    Some(message)
}

#[test]
fn a_statement_inside_a_command_gets_the_rules_own_error() {
    for text in [
        "SELECT * FROM secret",
        "SELECT 1; SELECT * FROM secret",
        "PREPARE p FROM 'SELECT * FROM secret'",
        "EXECUTE IMMEDIATE 'SELECT * FROM secret'",
        "SELECT 1; EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''TABLE secret'''",
        "SET sql_mode = 'ANSI_QUOTES'; SELECT * FROM \"secret\"",
        "SET STATEMENT max_statement_time = 1 FOR SELECT * FROM secret",
        "SELECT * FROM secret WHERE a = 'b",
        "CALL p(); SELECT \"\" FROM secret",
    ] {
        assert_eq!(
            refusal(REFUSES, text).as_deref(),
            Some("no secrets here"),
            "{text}"
        );
    }
}

#[test]
fn statements_that_are_not_understood_are_refused_with_the_rule_and_the_reason() {
    for (text, reason) in [
        (
            "EXECUTE IMMEDIATE CONCAT('SELECT * FROM sec', 'ret')",
            "not a literal",
        ),
        ("PREPARE p FROM @x", "not a literal"),
        ("EXECUTE p", "not a literal"),
        ("BEGIN NOT ATOMIC SELECT 1; END", "compound"),
        ("CALL p(); SELECT \"a\"", "sql_mode"),
        ("SELECT 'a", "does not end"),
        ("FROBNICATE", "begins like no statement"),
    ] {
        let message = refusal(REFUSES, text).unwrap_or_default();
        assert!(
            message.contains("no secrets") && message.contains(reason),
            "{text}: {message}"
        );
    }
    let names = format!("SELECT 1 FROM {}t", "t,".repeat(sql::MENTIONS_MAX));
    assert!(
        refusal(REFUSES, &names)
            .unwrap_or_default()
            .contains(&sql::MENTIONS_MAX.to_string())
    );
}

#[test]
fn tables_that_a_statement_does_not_name_are_refused_by_their_rule() {
    let in_schema = REFUSES.replace("\"secret\"", "\"hr.secret\"");
    let all_but = REFUSES.replace("\"secret\"", "\"!open\"");
    for (rules, text) in [
        (REFUSES, "DROP SCHEMA hr"),
        (REFUSES, "SELECT 1; DROP DATABASE IF EXISTS `hr`"),
        (REFUSES, "DROP TRIGGER on_secret"),
        (REFUSES, "IMPORT TABLE FROM 'secret.sdi'"),
        (REFUSES, "BINLOG 'AAAA'"),
        (REFUSES, "CLONE LOCAL DATA DIRECTORY = '/tmp/c'"),
        (&in_schema, "DROP SCHEMA IF EXISTS HR"),
        (&in_schema, "EXECUTE IMMEDIATE 'DROP SCHEMA hr'"),
        (&in_schema, "DROP TRIGGER other.t"),
        (&all_but, "DROP DATABASE hr"),
    ] {
        let message = refusal(rules, text).unwrap_or_default();
        assert!(message.contains("no secrets"), "{text}: {message}");
    }
    assert_eq!(refusal(&in_schema, "DROP SCHEMA other"), None);
    assert_eq!(refusal(&in_schema, "DROP SCHEMA a; DROP SCHEMA b"), None);
    let answers = REFUSES.replace("refuse = \"no secrets here\"", "answer = \"ok\"");
    let rewrites = "[[rule]]\nname = \"r\"\ntables = \"secret\"\nregex = \"a\"\nrewrite = \"b\"\n";
    let by_text = "[[rule]]\nname = \"r\"\nregex = \"secret\"\nrefuse = \"no\"\n";
    for rules in [&answers, rewrites, by_text] {
        assert_eq!(refusal(rules, "DROP SCHEMA hr"), None);
    }
}

#[test]
fn statements_that_cannot_match_pass() {
    for (rules, text) in [
        (REFUSES, "SELECT * FROM t"),
        (REFUSES, "SELECT 1; SELECT 2"),
        (REFUSES, "PREPARE p FROM 'SELECT * FROM t'"),
        (REFUSES, "CALL p(); SELECT 1 FROM t"),
        (REFUSES, "SELECT 'secret', secret FROM t"),
    ] {
        assert_eq!(refusal(rules, text), None, "{text}");
    }
    let of_others = format!("{REFUSES}user = \"!app\"\n");
    let of_kinds = format!("{REFUSES}kind = \"DROP TABLE\"\n");
    for text in [
        "EXECUTE IMMEDIATE @x",
        "SELECT 'a",
        "BEGIN NOT ATOMIC DO 1; END",
    ] {
        assert_eq!(refusal(&of_others, text), None, "{text}");
        assert!(refusal(&of_kinds, text).is_some(), "{text}");
    }
    let names = format!("SELECT 1 FROM {}secret", "t,".repeat(sql::MENTIONS_MAX));
    assert_eq!(refusal(&of_kinds, &names), None);
}

#[test]
fn each_statement_is_judged_by_itself() {
    let rules = "[[rule]]\nname = \"r\"\nkind = \"!SELECT\"\ntables = \"!log_*\"\nrefuse = \"reads only\"\n";
    assert!(refusal(rules, "DELETE FROM t").is_some());
    assert!(refusal(rules, "SELECT * FROM log_1; DELETE FROM t").is_some());
    assert!(refusal(rules, "DELETE FROM log_1").is_none());
    let digest = "[[rule]]\nname = \"r\"\ndigest = \"SELECT a FROM t\"\nrefuse = \"no\"\n";
    assert!(refusal(digest, "SELECT 1; SELECT a FROM t").is_some());
    let regex = "[[rule]]\nname = \"r\"\nregex = \"^delete\"\nrefuse = \"no\"\n";
    assert!(refusal(regex, "SELECT 1;DELETE FROM t").is_some());
    let schema = "[[rule]]\nname = \"r\"\ntables = \"archive.t\"\nrefuse = \"no\"\n";
    assert!(refusal(schema, "USE archive; DELETE FROM t").is_some());
    assert!(refusal(schema, "USE other; DELETE FROM t").is_none());
    assert!(refusal(schema, "CALL p(); DELETE FROM t").is_some());
}

#[test]
fn a_statement_prepared_by_name_is_checked_at_its_execution() {
    #[derive(Debug)]
    struct One;
    impl sql::PreparedTexts for One {
        fn text(&self, name: &[u8]) -> Option<&[u8]> {
            match name {
                b"bad" => Some(b"SELECT * FROM secret"),
                b"good" => Some(b"SELECT 1"),
                _ => None,
            }
        }
    }
    let compiled = compile(REFUSES);
    for (text, is_refused) in [
        ("EXECUTE bad", true),
        ("EXECUTE good", false),
        ("EXECUTE other", true),
    ] {
        let case = Case {
            prepared: &One,
            ..Case::of(text)
        };
        assert_eq!(
            error(&compiled.rules, &case).is_some(),
            is_refused,
            "{text}"
        );
    }
}

#[test]
fn a_rule_that_matches_uncertainly_does_not_stop_later_refusals() {
    let rules =
        format!("[[rule]]\nname = \"reads\"\nkind = [\"SELECT\", \"PREPARE\"]\n\n{REFUSES}");
    assert_eq!(refusal(&rules, "SELECT * FROM secret"), None);
    for text in [
        "SELECT * FROM secret WHERE a = 'b",
        "PREPARE p FROM @x",
        "SELECT 1; DELETE FROM secret",
    ] {
        assert!(refusal(&rules, text).is_some(), "{text}");
    }
    // A rule without conditions on the text matches with certainty, so it stops.
    let rules = format!("[[rule]]\nname = \"admin\"\nuser = \"app\"\n\n{REFUSES}");
    assert_eq!(refusal(&rules, "SELECT * FROM secret WHERE a = 'b"), None);
}

#[test]
fn statements_that_are_not_understood_are_neither_answered_nor_rewritten() {
    let answers = "[[rule]]\nname = \"r\"\nuser = \"app\"\nanswer = \"ok\"\n";
    assert!(refusal(answers, "EXECUTE IMMEDIATE @x").is_some());
    let of_kind = "[[rule]]\nname = \"r\"\nkind = \"INSERT\"\nanswer = \"ok\"\n";
    let message = refusal(of_kind, "SELECT 1; INSERT INTO t VALUES (1)");
    assert!(message.is_some_and(|it| it.contains("inside this command")));
    let rewrites = "[[rule]]\nname = \"r\"\nregex = \"t1\"\nrewrite = \"t2\"\n";
    assert!(refusal(rewrites, "EXECUTE IMMEDIATE 'SELECT * FROM t1'").is_some());
    assert!(refusal(rewrites, "EXECUTE IMMEDIATE 'SELECT * FROM t3'").is_none());
    assert!(refusal(rewrites, "EXECUTE IMMEDIATE CONCAT('SELECT * FROM t', 1)").is_some());
}

#[test]
fn unsure_statements_pass_where_a_rule_says_so_or_does_not_end_them() {
    let passes = format!("{REFUSES}when_unsure = \"pass\"\n");
    assert_eq!(refusal(&passes, "EXECUTE IMMEDIATE @x"), None);
    assert_eq!(
        refusal(&passes, "SELECT 1 FROM secret WHERE a = 'b").as_deref(),
        Some("no secrets here")
    );
    let routes = "[[rule]]\nname = \"r\"\ntables = \"secret\"\nrole = \"replica\"\n";
    assert_eq!(refusal(routes, "EXECUTE IMMEDIATE @x"), None);
    let dry_run = format!("{REFUSES}dry_run = true\n");
    assert_eq!(refusal(&dry_run, "EXECUTE IMMEDIATE @x"), None);
    let routes_surely = format!("{routes}when_unsure = \"refuse\"\n");
    assert!(refusal(&routes_surely, "EXECUTE IMMEDIATE @x").is_some());
}

#[test]
fn refusals_are_counted_and_explained() {
    let compiled = compile(REFUSES);
    let counters = Counters::new(&compiled.rules);
    let mut record = Record::default();
    let case = Case::of("EXECUTE IMMEDIATE @x");
    case.ask(&compiled.rules, &counters, &mut record, |it| {
        assert!(it.reply.is_some())
    });
    let tally = counters.tallies().remove(0);
    assert_eq!((tally.matched, tally.not_understood), (1, 1));
    assert!(
        record.rules[0].why.contains("not a literal"),
        "{:?}",
        record.rules
    );
}
