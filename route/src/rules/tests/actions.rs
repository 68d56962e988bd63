//! The effect of each action, and the rule that it is attributed to.

use std::time::Duration;

use config::{Cell, Consistency, LimitBy, OnLimit, PinRule, ReplicaUse, SessionMode};

use super::*;

const FIRST: RuleIndex = RuleIndex(0);

/// The judgement of a rule with these lines about a statement.
fn says<T>(lines: &str, statement: &str, see: impl FnOnce(&Judgement<'_>) -> T) -> T {
    let compiled = compile(&format!("[[rule]]\nname = \"r\"\n{lines}\n"));
    Case::of(statement).judged(&compiled.rules, see)
}

#[test]
fn a_statement_goes_where_the_rule_says() {
    says(
        "routing.cluster = \"archive\"\nrouting.replicas = \"replica\"",
        "SELECT 1",
        |it| {
            assert_eq!(it.route.cluster.unwrap().value, "archive");
            assert_eq!(it.route.role.unwrap().value, ReplicaUse::Replica);
            assert_eq!(
                (it.route.backend, it.route.role.unwrap().rule),
                (None, FIRST)
            );
        },
    );
    says("backend = \"db2\"", "SELECT 1", |it| {
        assert_eq!(it.route.backend.unwrap().value, "db2");
    });
}

#[test]
fn a_statement_is_rewritten_and_read_again() {
    let lines = "regex = \"from old_(\\\\w+)\"\nrewrite = \"FROM new_$1\"";
    says(lines, "SELECT * FROM old_t", |it| {
        let rewritten = &it.rewritten.as_ref().unwrap().value;
        assert_eq!(rewritten.text, b"SELECT * FROM new_t");
        let table = rewritten.analysis.facts.tables().next().unwrap();
        assert_eq!(table.name.of(&rewritten.text), b"new_t");
        assert_eq!(rewritten.analysis.digest.text(), b"SELECT * FROM new_t");
    });
    let lines = "digest = \"SELECT COUNT(*) FROM t\"\nrewrite = \"SELECT n FROM counts\"";
    says(lines, "select count(*)  from t", |it| {
        assert_eq!(
            it.rewritten.as_ref().unwrap().value.text,
            b"SELECT n FROM counts"
        );
    });
}

#[test]
fn a_failed_rewrite_is_refused_and_counted() {
    let rules =
        compile("[[rule]]\nname = \"r\"\nregex = \"1\"\nrewrite = \"1; DROP TABLE t\"\n").rules;
    let counters = Counters::new(&rules);
    let case = Case::of("SELECT 1");
    case.ask(&rules, &counters, &mut (), |it| {
        let expected = Reply::Error {
            code: 1105,
            sqlstate: *b"HY000",
            message: "Rule 'r' does not rewrite this statement to a single statement, so it was not executed".into(),
        };
        assert_eq!(it.reply.as_ref().unwrap().value, expected);
        assert!(it.rewritten.is_none());
    });
    let tally = &counters.tallies()[0];
    assert_eq!((tally.matched, tally.unfit), (1, 1));
}

#[test]
fn answers_come_from_the_rule() {
    says("answer = \"ok\"", "SET x = 1", |it| {
        assert_eq!(it.reply.as_ref().unwrap().value, Reply::Ok);
    });
    let lines = "answer = \"rows\"\nanswer_columns = [\"a\", \"b\"]\nanswer_rows = [[1, '\\N']]";
    says(lines, "SELECT 1", |it| {
        let expected = Reply::Rows {
            columns: vec!["a".to_owned(), "b".to_owned()].into(),
            rows: vec![vec![Cell::Text("1".to_owned()), Cell::Null]].into(),
        };
        assert_eq!(it.reply.as_ref().unwrap().value, expected);
    });
    let error = |code, sqlstate: &[u8; 5], message: &'static str| Reply::Error {
        code,
        sqlstate: *sqlstate,
        message: message.into(),
    };
    for (lines, expected) in [
        (
            "answer = \"error\"\nanswer_message = \"no\"",
            error(1105, b"HY000", "no"),
        ),
        (
            "answer = \"error\"\nanswer_message = \"no\"\nanswer_error = 1290\nanswer_sqlstate = \"42S02\"",
            error(1290, b"42S02", "no"),
        ),
        ("refuse = \"Not here\"", error(1227, b"42000", "Not here")),
    ] {
        says(lines, "SELECT 1", |it| {
            assert_eq!(it.reply.as_ref().unwrap().value, expected);
        });
    }
}

#[test]
fn all_other_actions_are_read_as_written() {
    let lines = "timeout = \"5s\"\ndelay = \"100ms\"\nmirror = \"archive\"\nretry = 2\nlog = true\n\
                 set_tag = \"t\"\nrouting.session = \"transaction\"\npin = [\"variables\"]\n\
                 routing.consistency = \"global\"";
    says(lines, "SELECT 1", |it| {
        assert_eq!(it.timeout.unwrap().value, Duration::from_secs(5));
        assert_eq!(it.delay.unwrap().value, Duration::from_millis(100));
        assert_eq!(it.mirror.unwrap().value, "archive");
        assert_eq!(it.retry.unwrap().value, 2);
        assert_eq!(it.log, Some(FIRST));
        assert_eq!(it.set_tag.unwrap().value, "t");
        assert_eq!(it.session.mode.unwrap().value, SessionMode::Transaction);
        assert_eq!(it.session.pin.unwrap().value, [PinRule::Variables]);
        assert_eq!(it.route.consistency.unwrap().value, Consistency::Global);
    });
    says("", "SELECT 1", |it| {
        assert!(
            it.timeout.is_none()
                && it.retry.is_none()
                && it.log.is_none()
                && it.session.pin.is_none()
        );
    });
}

#[test]
fn limits_count_by_rule_digest_or_account() {
    let key = |lines: &str, statement: &str, user: &str| {
        let compiled = compile(&format!("[[rule]]\nname = \"r\"\nrate = 10\n{lines}\n"));
        let case = Case {
            user,
            ..Case::of(statement)
        };
        case.judged(&compiled.rules, |it| it.limit.unwrap().value.key)
    };
    for (lines, digests_differ, users_differ) in [
        ("", false, false),
        ("rate_by = \"digest\"", true, false),
        ("rate_by = \"account\"", false, true),
    ] {
        let one = key(lines, "SELECT 1", "a");
        assert_eq!(one, key(lines, "SELECT 2", "a"), "{lines}");
        assert_eq!(
            one != key(lines, "SELECT b", "a"),
            digests_differ,
            "{lines}"
        );
        assert_eq!(one != key(lines, "SELECT 1", "b"), users_differ, "{lines}");
    }
    let other = compile("[[rule]]\nname = \"other\"\nrate = 10\n");
    let other = Case::of("SELECT 1").judged(&other.rules, |it| it.limit.unwrap().value.key);
    assert_ne!(other, key("", "SELECT 1", "a"));
}

#[test]
fn limits_are_as_they_were_written() {
    let limit = |lines: &str| says(lines, "SELECT 1", |it| it.limit.map(|by| *by.value.limit));
    let plain = Limit {
        rate: Some(2.5),
        burst: 3,
        concurrency: None,
        by: LimitBy::Rule,
        on_limit: OnLimit::Queue,
        timeout: Duration::from_secs(10),
    };
    assert_eq!(limit("rate = 2.5"), Some(plain));
    let full = Limit {
        rate: Some(0.1),
        burst: 7,
        concurrency: Some(4),
        by: LimitBy::Digest,
        on_limit: OnLimit::Refuse,
        timeout: Duration::from_secs(1),
    };
    let lines = "rate = 0.1\nburst = 7\nconcurrency = 4\nrate_by = \"digest\"\non_limit = \"refuse\"\n\
                 timeout_queue = \"1s\"";
    assert_eq!(limit(lines), Some(full));
    assert_eq!(limit("concurrency = 4").unwrap().rate, None);
    assert_eq!(limit(""), None);
}
